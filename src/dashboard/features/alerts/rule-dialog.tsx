import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import { request } from '../../api/client.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { query } from '../../api/query.ts';
import { May } from '../../api/rights.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { seconds } from '../../words/format.ts';
import {
  ALERT_KINDS,
  type AlertKind,
  draftOfRule,
  FIRST_RULE,
  inputOfChange,
  inputOfRule,
  type RuleDraft,
  sentenceOfRule,
  WINDOWS,
} from './model/alerts.ts';
import { type AlertRuleRow, ChangeAlertRule, NewAlertRule, QueuesToWatch, RotateAlertSecret } from './operations.ts';
import type { MadeSecret } from './secret-once.tsx';

const KIND_NAMES = Object.keys(ALERT_KINDS) as AlertKind[];

/** @param rule the one to change; null for a new one */
export default function RuleDialog({
  rule,
  onDone,
  onClose,
}: {
  rule: AlertRuleRow | null;
  onDone: (made: MadeSecret | null) => void;
  onClose: () => void;
}) {
  const [draft, setDraft] = useState(() => (rule === null ? FIRST_RULE : draftOfRule(rule)));
  const [isRotated, setRotated] = useState(false);
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map());
  const { threshold, hasWindow } = ALERT_KINDS[draft.kind];
  const { isSlack } = draft;
  const edit = (change: Partial<RuleDraft>) => setDraft({ ...draft, ...change });
  const save = async () => {
    const outcome =
      rule === null
        ? outcomeOf((await request(NewAlertRule, { input: inputOfRule(draft) })).createAlertRule)
        : outcomeOf((await request(ChangeAlertRule, { id: rule.id, input: inputOfChange(draft) })).updateAlertRule);
    if (!outcome.ok) {
      setProblems(outcome.fieldErrors);
      return outcome.fieldErrors.size === 0 ? `Not saved: ${outcome.message}` : null;
    }
    let made =
      'signingSecret' in outcome.value ? { secret: outcome.value.signingSecret, isSlack, isNext: false } : null;
    if (rule !== null && isRotated) {
      const rotated = outcomeOf((await request(RotateAlertSecret, { id: rule.id })).rotateAlertRuleSecret);
      if (!rotated.ok) return `The secret is as before: ${rotated.message}`;
      made = { secret: rotated.value.signingSecret, isSlack, isNext: true };
    }
    onDone(made);
    onClose();
    return null;
  };
  return (
    <Dialog
      title={rule === null ? 'Make an alert rule?' : 'Change this rule?'}
      lead={rule === null ? undefined : sentenceOfRule(rule)}
      deed={{ label: rule === null ? 'Make the rule' : 'Save', run: save }}
      onClose={onClose}
    >
      {rule === null && <Watched draft={draft} edit={edit} />}
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
      {hasWindow && (
        <Field label="Within" problem={problems.get('windowSeconds')}>
          {(id) => (
            <select
              id={id}
              className="input"
              value={draft.windowSeconds}
              onChange={({ target }) => edit({ windowSeconds: Number(target.value) })}
            >
              {WINDOWS.map((window) => (
                <option key={window} value={window}>
                  {seconds(window)}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      <Field label="Seconds until it fires" problem={problems.get('forSeconds')}>
        {(id) => (
          <>
            <input
              id={id}
              className="input"
              inputMode="numeric"
              autoComplete="off"
              value={draft.forSeconds}
              onChange={({ target }) => edit({ forSeconds: target.value })}
            />
            <small>Its condition must hold for so long, and be over for as long, a minute at least.</small>
          </>
        )}
      </Field>
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
      <label className="choice">
        <input type="checkbox" checked={draft.isSlack} onChange={({ target }) => edit({ isSlack: target.checked })} />
        <span>It is Slack, or takes the same JSON</span>
      </label>
      {rule !== null && (
        <May deed="rotateAlertRuleSecret">
          <label className="choice">
            <input type="checkbox" checked={isRotated} onChange={({ target }) => setRotated(target.checked)} />
            <span>
              Make a new signing secret
              <small>The present one ends at once.</small>
            </span>
          </label>
        </May>
      )}
    </Dialog>
  );
}

/** The choice of what a new rule watches. It cannot be changed later. */
function Watched({ draft, edit }: { draft: RuleDraft; edit: (change: Partial<RuleDraft>) => void }) {
  const queues = useQuery(query(QueuesToWatch, {})).data?.queues.nodes ?? [];
  return (
    <>
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
      {ALERT_KINDS[draft.kind].ofQueues && (
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
    </>
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
