import type { JobStatus } from '../../domain/job.ts';
import type { JobFilter, JobStateName, TimeRange } from '../../domain/job-filter.ts';
import { keyContains } from '../jobs/key-contains.ts';
import type { Values } from './payload-conditions.ts';

/** `now` returns a placeholder. Statuses are literals, so that the partial indexes can be used. */
const STATE_CONDITIONS: Record<JobStateName, (now: () => string) => string> = {
  due: (now) => `j.status = 'pending' and j.scheduled_for <= ${now()}`,
  scheduled: (now) => `j.status = 'pending' and j.scheduled_for > ${now()} and j.wait_reason is null`,
  retrying: (now) => `j.status = 'pending' and j.scheduled_for > ${now()} and j.wait_reason = 'backoff'`,
  held: (now) => `j.status = 'pending' and j.scheduled_for > ${now()} and j.wait_reason = 'hold'`,
  processing: () => `j.status = 'processing'`,
  awaiting_ack: () => `j.status = 'awaiting_ack'`,
  completed: () => `j.status = 'completed'`,
  dead: () => `j.status = 'dead'`,
};

const STATUSES: Record<JobStatus, string> = {
  pending: `j.status = 'pending'`,
  processing: `j.status = 'processing'`,
  awaiting_ack: `j.status = 'awaiting_ack'`,
  completed: `j.status = 'completed'`,
  dead: `j.status = 'dead'`,
};

/**
 * @returns conditions on states and statuses of the job `j`; an index serves each of them unless it contains
 * `completed`
 */
export function stateConditions({ states, statuses }: JobFilter, now: () => string): string[] {
  return [
    ...(states === undefined ? [] : [anyOf(states.map((state) => STATE_CONDITIONS[state](now)))]),
    ...(statuses === undefined ? [] : [anyOf(statuses.map((status) => STATUSES[status]))]),
  ];
}

/** @returns SQL: the state of the row `r` at `now`; its columns are `STATE_COLUMNS` */
export function stateOfRow(now: number, values: Values): string {
  const at = `to_timestamp(${values.add(now)}::float8 / 1000)::timestamptz(3)`;
  return `case when r.status <> 'pending' then r.status when r.scheduled_for <= ${at} then 'due'
               when r.wait_reason is null then 'scheduled' when r.wait_reason = 'backoff' then 'retrying' else 'held' end`;
}

export const STATE_COLUMNS = ['status', 'scheduled_for', 'wait_reason'] as const;

/**
 * Returns the filter with the statuses that its other members imply, so that the indexes of these statuses are used.
 */
export function withImpliedStatuses(filter: JobFilter): JobFilter {
  const { deadReasons, replayable, replayed, waitReasons } = filter;
  let { statuses } = filter;
  const only = (status: JobStatus) => {
    statuses = (statuses ?? [status]).filter((one) => one === status);
  };
  if (deadReasons !== undefined || replayable === true || replayed === true) only('dead');
  if (waitReasons !== undefined) only('pending');
  return statuses === filter.statuses ? filter : { ...filter, statuses };
}

/** Whether only dead jobs can match. Their index has the order of ids. */
export function isOfDeadJobs({ states, statuses }: JobFilter): boolean {
  return [states, statuses].some((list) => list?.every((state) => state === 'dead') === true);
}

/** Whether the states exclude `completed`. Nearly all jobs of a normal account are completed, so few can match. */
export function isSelective({ states, statuses }: JobFilter): boolean {
  return [states, statuses].some((list) => list !== undefined && !(list as readonly string[]).includes('completed'));
}

/** Filters that the range of ids and the list of queues already cover. */
const OF_THE_RANGE: ReadonlySet<string> = new Set<keyof JobFilter>(['queueIds', 'queueNames', 'receivers', 'created']);

/** Whether the filter has conditions besides queue and creation time. */
export function hasConditions(filter: JobFilter): boolean {
  return Object.entries(filter).some(([name, value]) => value !== undefined && !OF_THE_RANGE.has(name));
}

/** @returns conditions on the job `j`, without those on its queue, id, state and payload */
export function jobConditions(filter: JobFilter, values: Values): string[] {
  const conditions: string[] = [];
  const add = (value: unknown, condition: (placeholder: string) => string) => {
    if (value !== undefined) conditions.push(condition(values.add(value)));
  };
  const within = (column: string, range: TimeRange | undefined) => {
    add(range?.from?.getTime(), (p) => `${column} >= to_timestamp(${p}::float8 / 1000)::timestamptz(3)`);
    add(range?.to?.getTime(), (p) => `${column} <= to_timestamp(${p}::float8 / 1000)::timestamptz(3)`);
  };
  within('j.scheduled_for', filter.scheduled);
  within('j.completed_at', filter.completed);
  add(filter.ids, (p) => `j.id = any (${p}::text[])`);
  add(filter.attempts?.min, (p) => `j.attempts >= ${p}::integer`);
  add(filter.attempts?.max, (p) => `j.attempts <= ${p}::integer`);
  add(filter.deferCount?.min, (p) => `j.defer_count >= ${p}::integer`);
  add(filter.deferCount?.max, (p) => `j.defer_count <= ${p}::integer`);
  add(filter.deadReasons, (p) => `j.dead_reason = any (${p}::text[])`);
  // Not `exists`, as below.
  const ofLetter = (is: boolean | undefined, condition: string) => {
    if (is === undefined) return;
    const holds = `coalesce((select ${condition} from dead_letter d where d.job_id = j.id), false)`;
    conditions.push(is ? holds : `not ${holds}`);
  };
  ofLetter(filter.replayable, 'd.replayed_at is null');
  ofLetter(filter.replayed, 'd.replayed_at is not null');
  add(
    filter.actionId,
    (p) => `coalesce((select true from bulk_action_job n where n.job_id = j.id and n.action_id = ${p}), false)`,
  );
  add(filter.idempotencyKey, (p) => `j.idempotency_key = ${p}::text`);
  // Coalesced, or the planner would see that such a job has a key,
  // and read the index of all keys of a queue for a few ids.
  add(filter.idempotencyKeyContains, (p) => `coalesce(${keyContains('j.idempotency_key', `${p}::text`)}, false)`);
  add(filter.errorContains, (p) => `position(lower(${p}::text) in lower(j.last_error)) > 0`);
  conditions.push(...answerConditions(filter, values));
  return conditions;
}

function answerConditions(filter: JobFilter, values: Values): string[] {
  const { webhookStatusCodes, webhookStatusClasses, anyWebhookStatusCodes, anyWebhookStatusClasses } = filter;
  return [
    ...answersMatch(webhookStatusCodes, webhookStatusClasses, 'last', values),
    ...answersMatch(anyWebhookStatusCodes, anyWebhookStatusClasses, 'any', values),
  ];
}

/** @param of whether the last attempt must have such an answer, or at least one attempt */
function answersMatch(
  codes: readonly number[] | undefined,
  classes: readonly number[] | undefined,
  of: 'last' | 'any',
  values: Values,
): string[] {
  if (codes === undefined && classes === undefined) return [];
  const matches = answerTest(codes ?? [], classes ?? [], values);
  // The webhook answered the last attempt of a completed job with 2xx, so for other codes it need not be read.
  const isCompletedPossible = classes?.includes(2) === true || codes?.some((code) => code >= 200 && code <= 299);
  const attempts = of === 'last' ? 1 : 2;
  return [
    ...(isCompletedPossible === true
      ? ['j.history_count > 0']
      : [`j.history_count >= case j.status when 'completed' then ${attempts} else 1 end`]),
    ...(isCompletedPossible !== true && of === 'last' ? [`j.status <> 'completed'`] : []),
    // Not `exists`, which the planner may turn into a join that reads all attempts.
    of === 'last'
      ? `coalesce((select ${matches} from attempt a where a.job_id = j.id and a.ordinal = j.history_count), false)`
      : `coalesce((select bool_or(${matches}) from attempt a where a.job_id = j.id), false)`,
  ];
}

/** @returns SQL: whether the answer to the attempt `a` has one of the codes or classes */
export function answerTest(codes: readonly number[], classes: readonly number[], values: Values): string {
  return [
    `coalesce(a.webhook_status_code = any (${values.add(codes)}::integer[]), false)`,
    `coalesce(a.webhook_status_code / 100, 0) = any (${values.add(classes)}::integer[])`,
  ].join(' or ');
}

function anyOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? 'false' : `(${conditions.join(' or ')})`;
}
