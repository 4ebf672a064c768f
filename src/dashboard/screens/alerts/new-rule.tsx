import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import { request } from '../../graphql/client.ts';
import { NewAlertRule, QueuesToWatch } from '../../graphql/operations/alerts.ts';
import { outcomeOf } from '../../graphql/outcome.ts';
import { query } from '../../graphql/query.ts';
import { ALERT_KINDS, type AlertKind, inputOfRule, type RuleDraft } from '../../model/alerts.ts';
import { CopyButton } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Icon } from '../../parts/icon.tsx';

/** The secret of a new rule. It is nowhere but in the state of one component, and gone when that is closed. */
export interface MadeRule {
  secret: string;
  isSlack: boolean;
}

const KIND_NAMES = Object.keys(ALERT_KINDS) as AlertKind[];
const FIRST: RuleDraft = { kind: 'OLDEST_DUE', queueId: '', threshold: '300', webhookUrl: '', isSlack: false };

export function NewRuleDialog({ onMade, onClose }: { onMade: (made: MadeRule) => void; onClose: () => void }) {
  const [draft, setDraft] = useState(FIRST);
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map());
  const queues = useQuery(query(QueuesToWatch, {})).data?.queues.nodes ?? [];
  const { ofQueues, threshold } = ALERT_KINDS[draft.kind];
  const edit = (change: Partial<RuleDraft>) => setDraft({ ...draft, ...change });
  const make = async () => {
    const outcome = outcomeOf((await request(NewAlertRule, { input: inputOfRule(draft) })).createAlertRule);
    if (!outcome.ok) {
      setProblems(outcome.fieldErrors);
      return outcome.fieldErrors.size === 0 ? `Not made: ${outcome.message}` : null;
    }
    onMade({ secret: outcome.value.signingSecret, isSlack: draft.isSlack });
    onClose();
    return null;
  };
  return (
    <Dialog
      title="Make an alert rule?"
      lead="It fires when its condition has held for a minute, and is over when it has not held for a minute."
      deed={{ label: 'Make the rule', run: make }}
      onClose={onClose}
    >
      <Field label="Tell when">
        {(id) => (
          <select
            id={id}
            className="input"
            value={draft.kind}
            onChange={({ target }) => {
              const kind = target.value as AlertKind;
              edit({ kind, threshold: ALERT_KINDS[kind].threshold?.byDefault ?? '' });
            }}
          >
            {KIND_NAMES.map((kind) => (
              <option key={kind} value={kind}>
                {ALERT_KINDS[kind].label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {ofQueues && (
        <Field label="In">
          {(id) => (
            <select
              id={id}
              className="input"
              value={draft.queueId}
              onChange={({ target }) => edit({ queueId: target.value })}
            >
              <option value="">any queue</option>
              {queues.map((queue) => (
                <option key={queue.id} value={queue.id}>
                  {queue.name}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      {threshold !== null && (
        <Field label={threshold.label} problem={problems.get('threshold')}>
          {(id) => (
            <input
              id={id}
              className="input"
              inputMode="decimal"
              autoComplete="off"
              value={draft.threshold}
              onChange={({ target }) => edit({ threshold: target.value })}
            />
          )}
        </Field>
      )}
      <Field label="Webhook" problem={problems.get('webhookUrl')}>
        {(id) => (
          <input
            id={id}
            className="input mono"
            type="url"
            autoComplete="off"
            placeholder="https://hooks.example.com/…"
            value={draft.webhookUrl}
            onChange={({ target }) => edit({ webhookUrl: target.value })}
          />
        )}
      </Field>
      <label className="small">
        <input type="checkbox" checked={draft.isSlack} onChange={({ target }) => edit({ isSlack: target.checked })} />{' '}
        It is Slack, or takes the same JSON
      </label>
    </Dialog>
  );
}

function Field({
  label,
  problem,
  children,
}: {
  label: string;
  problem?: string | undefined;
  children: (id: string) => ReactNode;
}) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children(id)}
      {problem !== undefined && (
        <small className="bad" role="alert">
          {problem}
        </small>
      )}
    </div>
  );
}

export function SecretOnce({ made: { secret, isSlack }, onClose }: { made: MadeRule; onClose: () => void }) {
  const title = useId();
  return (
    <section className="panel" aria-labelledby={title}>
      <header>
        <Icon name="done" className="ok toned" />
        <h2 id={title}>The rule is made. Its signing secret is shown only this once.</h2>
        <span className="end">
          <button type="button" className="btn quiet icon tiny" aria-label="I have copied it: close" onClick={onClose}>
            <Icon name="x" />
          </button>
        </span>
      </header>
      <div className="in">
        <div className="term">
          {secret}
          <CopyButton text={secret} what="Signing secret" />
        </div>
        <p className="small q">
          {isSlack
            ? 'Slack does not check it, so you need not keep it.'
            : 'With it the receiver verifies that a request is from Jobferry.'}
        </p>
      </div>
    </section>
  );
}
