import { useState } from 'preact/compat';
import { seconds } from '../../../query/words/format.ts';
import { request } from '../../api/client.ts';
import { QueueOfName } from '../../api/operations/shell.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { May } from '../../api/rights.ts';
import { useUniqueId } from '../../base/use-unique-id.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { QueueOffers } from '../../parts/queue-offers.tsx';
import type { NewAlert } from '../../words/new-alert.ts';
import { Field } from './field.tsx';
import {
  ALERT_KINDS,
  type AlertKind,
  draftOfAlert,
  draftOfRule,
  FIRST_RULE,
  inputOfChange,
  inputOfRule,
  problemsOfRule,
  type RuleDraft,
  sentenceOfRule,
  textOfThreshold,
  WINDOWS,
} from './model/alerts.ts';
import { type AlertRuleRow, ChangeAlertRule, NewAlertRule, RotateAlertSecret } from './operations.ts';
import type { MadeSecret } from './secret-once.tsx';
import { TargetFields } from './target-fields.tsx';

const KIND_NAMES = Object.keys(ALERT_KINDS) as AlertKind[];

/** @param rule the one to change; null for a new one @param proposed the new one, if another page has it */
export default function RuleDialog({
  rule,
  proposed,
  onDone,
  onClose,
}: {
  rule: AlertRuleRow | null;
  proposed: NewAlert | null;
  onDone: (made: MadeSecret | null) => void;
  onClose: () => void;
}) {
  const [draft, setDraft] = useState(() => firstDraft(rule, proposed));
  const [queueName, setQueueName] = useState(proposed?.queue?.name ?? '');
  const [isRotated, setRotated] = useState(false);
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map());
  const { threshold, hasWindow } = ALERT_KINDS[draft.kind];
  const { isSlack } = draft;
  const keyEnd = rule?.target.__typename === 'AlertPagerDuty' ? rule.target.routingKey : null;
  const isWebhook = draft.target === 'webhook';
  // A rule that had no webhook gets a signing secret, which is shown only when it is made.
  const mustRotate = isWebhook && rule !== null && rule.target.__typename !== 'AlertWebhook';
  const edit = (change: Partial<RuleDraft>) => setDraft({ ...draft, ...change });
  const save = async () => {
    const wrong = problemsOfRule(draft);
    setProblems(wrong);
    if (wrong.size > 0) return null;
    const queueId = rule === null && ALERT_KINDS[draft.kind].ofQueues ? await idOfQueue(queueName.trim()) : '';
    if (queueId === null) {
      setProblems(new Map([['queueId', 'No queue has this name. Leave it empty for any queue.']]));
      return null;
    }
    const outcome =
      rule === null
        ? outcomeOf((await request(NewAlertRule, { input: inputOfRule({ ...draft, queueId }) })).createAlertRule)
        : outcomeOf((await request(ChangeAlertRule, { id: rule.id, input: inputOfChange(draft) })).updateAlertRule);
    if (!outcome.ok) {
      setProblems(outcome.fieldErrors);
      return outcome.fieldErrors.size === 0 ? `Not saved: ${outcome.message}` : null;
    }
    let made =
      'signingSecret' in outcome.value && isWebhook
        ? { secret: outcome.value.signingSecret, isSlack, isNext: false }
        : null;
    if (rule !== null && isWebhook && (isRotated || mustRotate)) {
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
      title={rule === null ? 'New alert rule' : 'Change this rule?'}
      lead={rule === null ? undefined : sentenceOfRule(rule)}
      action={{ label: rule === null ? 'Create rule' : 'Save', run: save }}
      onClose={onClose}
    >
      <div className="blanks">
        {rule === null && (
          <Watched draft={draft} problems={problems} edit={edit} queueName={queueName} setQueueName={setQueueName} />
        )}
        {threshold !== null && (
          <Field label={threshold.label} problem={problems.get('threshold')}>
            {(id) => <Blank id={id} value={draft.threshold} onText={(text) => edit({ threshold: text })} />}
          </Field>
        )}
        {hasWindow && (
          <Field label="within" problem={problems.get('windowSeconds')}>
            {(id) => (
              <select
                id={id}
                className="input"
                value={draft.windowSeconds}
                onChange={({ currentTarget }) => edit({ windowSeconds: Number(currentTarget.value) })}
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
        <Field label="for at least" problem={problems.get('forSeconds')}>
          {(id) => <Blank id={id} value={draft.forSeconds} onText={(text) => edit({ forSeconds: text })} />}
        </Field>
      </div>
      <p className="small q">
        The condition must last this long before the alert fires, and be over this long (at least 1 min) before it
        clears.
      </p>
      <TargetFields draft={draft} keyEnd={keyEnd} problems={problems} edit={edit} />
      {rule !== null && isWebhook && !mustRotate && (
        <May mutation="rotateAlertRuleSecret">
          <label className="choice">
            <input
              type="checkbox"
              checked={isRotated}
              onChange={({ currentTarget }) => setRotated(currentTarget.checked)}
            />
            <span>
              Create a new signing secret
              <small>The present one stops working immediately.</small>
            </span>
          </label>
        </May>
      )}
    </Dialog>
  );
}

/** Returns the id of a queue, which is empty for no name; null if there is none. */
const idOfQueue = async (name: string) =>
  name === '' ? '' : ((await request(QueueOfName, { name })).queue?.id ?? null);

function firstDraft(rule: AlertRuleRow | null, proposed: NewAlert | null): RuleDraft {
  if (rule !== null) return draftOfRule(rule);
  return proposed === null ? FIRST_RULE : draftOfAlert(proposed);
}

/** The choice of what a new rule watches. It cannot be changed later. */
function Watched({
  draft,
  problems,
  edit,
  queueName,
  setQueueName,
}: {
  draft: RuleDraft;
  problems: ReadonlyMap<string, string>;
  edit: (change: Partial<RuleDraft>) => void;
  queueName: string;
  setQueueName: (name: string) => void;
}) {
  const offers = useUniqueId();
  return (
    <>
      <Field label="Alert when">
        {(id) => (
          <select
            id={id}
            className="input"
            value={draft.kind}
            onChange={({ currentTarget }) => {
              const kind = currentTarget.value as AlertKind;
              edit({ kind, threshold: textOfThreshold(kind) });
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
        <Field label="in" problem={problems.get('queueId')}>
          {(id) => (
            <>
              <input
                id={id}
                list={offers}
                className="input"
                placeholder="any queue"
                autoComplete="off"
                spellcheck={false}
                value={queueName}
                onChange={({ currentTarget }) => setQueueName(currentTarget.value)}
              />
              <QueueOffers id={offers} text={queueName} />
            </>
          )}
        </Field>
      )}
    </>
  );
}

/** A number or a time, within the sentence. */
function Blank({ id, value, onText }: { id: string; value: string; onText: (text: string) => void }) {
  return (
    <input
      id={id}
      value={value}
      className="input"
      size={7}
      autoComplete="off"
      onChange={({ currentTarget }) => onText(currentTarget.value)}
    />
  );
}
