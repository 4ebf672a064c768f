import type { JobStatus } from '../../domain/job.ts';
import type { JobFilter, JobStateName, TimeRange } from '../../domain/job-filter.ts';
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

/** @returns conditions on states and statuses of the job `j`; an index serves each of them unless it contains `completed` */
export function stateConditions({ states, statuses }: JobFilter, now: () => string): string[] {
  return [
    ...(states === undefined ? [] : [anyOf(states.map((state) => STATE_CONDITIONS[state](now)))]),
    ...(statuses === undefined ? [] : [anyOf(statuses.map((status) => STATUSES[status]))]),
  ];
}

/** Whether the states exclude `completed`. Nearly all jobs of a normal account are completed, so few can match. */
export function isSelective({ states, statuses }: JobFilter): boolean {
  return [states, statuses].some((list) => list !== undefined && !(list as readonly string[]).includes('completed'));
}

/** Filters that the range of ids and the list of queues already cover. */
const OF_THE_RANGE: ReadonlySet<string> = new Set<keyof JobFilter>(['queueIds', 'queueNames', 'created']);

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
  add(filter.attempts?.min, (p) => `j.attempts >= ${p}::integer`);
  add(filter.attempts?.max, (p) => `j.attempts <= ${p}::integer`);
  add(filter.idempotencyKeyContains, (p) => `position(lower(${p}::text) in lower(j.idempotency_key)) > 0`);
  add(filter.errorContains, (p) => `position(lower(${p}::text) in lower(j.last_error)) > 0`);
  conditions.push(...answerConditions(filter, values));
  return conditions;
}

function answerConditions({ webhookStatusCodes, webhookStatusClasses }: JobFilter, values: Values): string[] {
  if (webhookStatusCodes === undefined && webhookStatusClasses === undefined) return [];
  const codes = webhookStatusCodes ?? [];
  const classes = webhookStatusClasses ?? [];
  const alternatives = [
    `coalesce(a.webhook_status_code = any (${values.add(codes)}::integer[]), false)`,
    `coalesce(a.webhook_status_code / 100, 0) = any (${values.add(classes)}::integer[])`,
  ];
  // The webhook answered a completed job with 2xx, so for other codes its attempts need not be read.
  const isCompletedPossible = classes.includes(2) || codes.some((code) => code >= 200 && code <= 299);
  return [
    ...(isCompletedPossible ? [] : [`j.status <> 'completed'`]),
    `j.history_count > 0`,
    // Not `exists`, which the planner may turn into a join that reads all attempts.
    `coalesce((select ${alternatives.join(' or ')} from attempt a
                where a.job_id = j.id and a.ordinal = j.history_count), false)`,
  ];
}

function anyOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? 'false' : `(${conditions.join(' or ')})`;
}
