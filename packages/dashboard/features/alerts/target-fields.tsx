import { Field } from './field.tsx';
import { SEVERITIES, TARGETS, type TargetDraft } from './model/target.ts';

/** The choice of who is notified, and the fields of that target. */
export function TargetFields({
  draft,
  keyEnd,
  problems,
  edit,
}: {
  draft: TargetDraft;
  /** The end of the routing key that the rule has; null if it has none. */
  keyEnd: string | null;
  problems: ReadonlyMap<string, string>;
  edit: (change: Partial<TargetDraft>) => void;
}) {
  const { target } = draft;
  return (
    <>
      <fieldset className="field">
        <legend>Notify</legend>
        <div className="seg">
          {TARGETS.map(([value, label]) => (
            <label key={value}>
              <input type="radio" name="target" checked={value === target} onChange={() => edit({ target: value })} />
              {label}
            </label>
          ))}
        </div>
        {problems.has('target.email') && (
          <small className="bad" role="alert">
            {problems.get('target.email')}
          </small>
        )}
      </fieldset>
      {target === 'webhook' && <WebhookFields draft={draft} problems={problems} edit={edit} />}
      {target === 'email' && (
        <Field label="Mail addresses" problem={problems.get('target.email.to')}>
          {(id) => (
            <>
              <input
                id={id}
                className="input"
                autoComplete="off"
                placeholder="ops@example.com"
                value={draft.to}
                onChange={({ currentTarget: { value } }) => edit({ to: value })}
              />
              <small>Up to 5, with spaces or commas between them.</small>
            </>
          )}
        </Field>
      )}
      {target === 'pagerDuty' && <PagerDutyFields draft={draft} keyEnd={keyEnd} problems={problems} edit={edit} />}
    </>
  );
}

type FieldsProps = Omit<Parameters<typeof TargetFields>[0], 'keyEnd'>;

function WebhookFields({ draft, problems, edit }: FieldsProps) {
  return (
    <>
      <Field label="Webhook" problem={problems.get('target.webhook.url')}>
        {(id) => (
          <input
            id={id}
            className="input mono"
            type="url"
            autoComplete="off"
            placeholder="https://hooks.example.com/…"
            value={draft.webhookUrl}
            onChange={({ currentTarget: { value } }) => edit({ webhookUrl: value })}
          />
        )}
      </Field>
      <label className="choice">
        <input
          type="checkbox"
          checked={draft.isSlack}
          onChange={({ currentTarget }) => edit({ isSlack: currentTarget.checked })}
        />
        <span>Slack-compatible webhook</span>
      </label>
    </>
  );
}

function PagerDutyFields({ draft, keyEnd, problems, edit }: Parameters<typeof TargetFields>[0]) {
  return (
    <>
      <Field label="Integration key" problem={problems.get('target.pagerDuty.routingKey')}>
        {(id) => (
          <>
            <input
              id={id}
              className="input mono"
              autoComplete="off"
              spellcheck={false}
              placeholder={keyEnd ?? ''}
              value={draft.routingKey}
              onChange={({ currentTarget: { value } }) => edit({ routingKey: value })}
            />
            <small>{keyEnd === null ? 'For the Events API v2.' : `Leave it empty to keep ${keyEnd}.`}</small>
          </>
        )}
      </Field>
      <Field label="Severity">
        {(id) => (
          <select
            id={id}
            className="input"
            value={draft.severity}
            onChange={({ currentTarget: { value } }) => edit({ severity: value as TargetDraft['severity'] })}
          >
            {SEVERITIES.map((severity) => (
              <option key={severity} value={severity}>
                {severity.toLowerCase()}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  );
}
