import { NONE } from '../../../../query/words/format.ts';
import { shortId } from '../../../../query/words/job-id.ts';

/** The selection of a bulk action as labels and values: the members of the stored filter that narrow it. */
export function pairsOfSelection(selection: unknown): readonly (readonly [label: string, value: string])[] {
  if (typeof selection !== 'object' || selection === null) return [];
  // A replay of jobs has the filter of the jobs within it.
  const { jobs, ...own } = selection as Record<string, unknown>;
  return Object.entries({ ...own, ...(jobs as Record<string, unknown> | undefined) }).flatMap(([name, value]) => {
    const text = textOfCondition(value);
    return text === '' ? [] : [[LABELS[name] ?? name, text] as const];
  });
}

const LABELS: Readonly<Record<string, string>> = {
  queueIds: 'Queues',
  receivers: 'Receivers',
  reasons: 'Reason',
  fingerprints: 'Cause',
  webhookStatusCodes: 'Code',
  replayed: 'Replayed before',
  errorContains: 'Error contains',
  dead: 'Died',
  statuses: 'Status',
  states: 'State',
  queueNames: 'Queues',
  created: 'Published',
  completed: 'Completed',
  scheduled: 'Scheduled',
  idempotencyKeyContains: 'Key contains',
  webhookStatusClasses: 'Answers',
  attempts: 'Attempts',
  payload: 'Payload',
  ids: 'Jobs',
  answers: 'Answer',
  dismissed: 'Dismissed',
  replayable: 'Replayable',
  idempotencyKey: 'Key',
  actionId: 'Action',
  deferCount: 'Holds used',
  deadReasons: 'Reason',
  waitReasons: 'Waits for',
  anyWebhookStatusCodes: 'Any code',
  anyWebhookStatusClasses: 'Any answer',
};

function textOfCondition(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return value.map((one) => (isId(one) ? shortId(one) : textOfCondition(one))).join(', ');
  const { from, to, min, max } = value as Record<string, unknown>;
  if (from != null || to != null) return `${from ?? NONE} to ${to ?? 'now'}`;
  if (min != null || max != null) return min === max ? String(min) : `${min ?? 0} to ${max ?? 'any'}`;
  return Object.keys(value).length === 0 ? '' : JSON.stringify(value);
}

const isId = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{24}$/.test(value);
