import type { DeadReason, JobStatus } from './job.ts';
import type { WaitReason } from './waiting.ts';

/**
 * The states by which dashboards count and filter jobs: the spec's `pending`, split into four, and the other statuses.
 */
export const JOB_STATES = [
  /** Pending, and its `scheduledFor` has come. */
  'due',
  /** Pending, and waiting for its first delivery. */
  'scheduled',
  /** Pending, and waiting for the end of a backoff. */
  'retrying',
  /** Pending, and waiting for the end of a hold of its own. */
  'held',
  'processing',
  'awaiting_ack',
  'completed',
  'dead',
] as const;
export type JobStateName = (typeof JOB_STATES)[number];

/** Returns the state of a job; the database decides in the same way (`db/search/job-conditions`). */
export function stateOf(
  job: { status: JobStatus; scheduledFor: Date; waitReason: 'backoff' | 'hold' | null },
  now: Date,
): JobStateName {
  if (job.status !== 'pending') return job.status;
  if (job.scheduledFor <= now) return 'due';
  return job.waitReason === null ? 'scheduled' : job.waitReason === 'backoff' ? 'retrying' : 'held';
}

/** Bounds are inclusive. */
export interface TimeRange {
  from?: Date | undefined;
  to?: Date | undefined;
}

/** Bounds are inclusive. */
export interface IntRange {
  min?: number | undefined;
  max?: number | undefined;
}

export const PAYLOAD_OPERATORS = ['EQ', 'NEQ', 'CONTAINS', 'EXISTS', 'GT', 'LT'] as const;
export type PayloadOperator = (typeof PAYLOAD_OPERATORS)[number];

/** A value that a payload may be compared with. */
export type JsonScalar = string | number | boolean | null;

/**
 * A condition on payloads. `path` names object members separated by dots, with array indexes as numbers
 * (`items.0.sku`), and `*` for any element of an array (`items.*.sku`); a backslash escapes a dot, a backslash or a `*`
 * within a name. If a payload does not have the path, `EQ`, `GT`, `LT`, `CONTAINS` and `EXISTS` are false. `NEQ` is the
 * negation of `EQ`, so it is true. With `*`, a condition holds if it holds for at least one element.
 *
 * - `EQ`: the same text, number, true, false or null; `1` and `1.0` are the same.
 * - `GT`, `LT`: numbers with numbers, texts with texts (by code points, so dates in ISO form compare).
 * - `CONTAINS`: a text contains this literal text, ignoring case; an array has this element.
 * - `EXISTS`: true also if the value is null.
 *
 * `anywhere` is true if a name, a text, or the JSON of a number, true, false or null in the payload contains the text,
 * ignoring case.
 *
 * A payload that cannot be searched (docs/queries.md) matches no condition, negated or not.
 */
export type PayloadCondition =
  | { kind: 'test'; path: string; op: PayloadOperator; value: JsonScalar }
  | { kind: 'anywhere'; text: string }
  | { kind: 'and' | 'or'; of: readonly PayloadCondition[] }
  | { kind: 'not'; of: PayloadCondition };

/** All given members must hold; an empty filter matches everything. */
export interface JobFilter {
  ids?: readonly string[] | undefined;
  queueIds?: readonly string[] | undefined;
  queueNames?: readonly string[] | undefined;
  /** Hosts that the queues deliver to (`domain/receiver-host`). */
  receivers?: readonly string[] | undefined;
  states?: readonly JobStateName[] | undefined;
  statuses?: readonly JobStatus[] | undefined;
  created?: TimeRange | undefined;
  scheduled?: TimeRange | undefined;
  completed?: TimeRange | undefined;
  attempts?: IntRange | undefined;
  /** Number of holds that the job has used. */
  deferCount?: IntRange | undefined;
  deadReasons?: readonly DeadReason[] | undefined;
  /** Why pending jobs are not being delivered now (`domain/waiting`). */
  waitReasons?: readonly WaitReason[] | undefined;
  /** Whether the job is dead and has a dead letter that was not replayed. */
  replayable?: boolean | undefined;
  /** Whether the job is dead and its dead letter was replayed. */
  replayed?: boolean | undefined;
  /** Jobs that this bulk action created or changed. */
  actionId?: string | undefined;
  idempotencyKey?: string | undefined;
  /** Literal, case-insensitive substring. */
  idempotencyKeyContains?: string | undefined;
  /** Literal, case-insensitive substring of `lastError`. */
  errorContains?: string | undefined;
  /**
   * Status codes of the answer to the last attempt. With `webhookStatusClasses` as well, a job matches if either does.
   */
  webhookStatusCodes?: readonly number[] | undefined;
  /** First digits: 2 for 2xx and so on; 0 for no answer. A job that was never attempted has no class. */
  webhookStatusClasses?: readonly number[] | undefined;
  /** Codes of the answers to all attempts: at least one must match. */
  anyWebhookStatusCodes?: readonly number[] | undefined;
  anyWebhookStatusClasses?: readonly number[] | undefined;
  payload?: PayloadCondition | undefined;
}

/** Bounds on one filter, so that the query for every filter ends. */
export const FILTER_LIMITS = {
  listLength: 100,
  textLength: 1000,
  payloadConditions: 20,
  payloadNesting: 5,
  payloadPathLength: 256,
} as const;

/** An id that no queue has, for a filter whose conditions on queues exclude all of them. */
export const NO_QUEUE = '0'.repeat(24);

export const JOB_ORDER_FIELDS = ['created_at', 'scheduled_for', 'completed_at', 'attempts'] as const;
export type JobOrderField = (typeof JOB_ORDER_FIELDS)[number];
export interface JobOrder {
  field: JobOrderField;
  descending: boolean;
}

/** Dimensions by which jobs can be counted. `payload`: the value at a path. */
export const JOB_DIMENSIONS = ['queue', 'status', 'state', 'dead_reason', 'payload'] as const;
export type JobDimension = (typeof JOB_DIMENSIONS)[number];

export interface DeadLetterFilter {
  ids?: readonly string[] | undefined;
  queueIds?: readonly string[] | undefined;
  receivers?: readonly string[] | undefined;
  dead?: TimeRange | undefined;
  reasons?: readonly string[] | undefined;
  /** Fingerprints of error groups. */
  fingerprints?: readonly string[] | undefined;
  replayed?: boolean | undefined;
  /** Whether a person has dismissed the cause, and the job died before the end of the dismissal. */
  dismissed?: boolean | undefined;
  errorContains?: string | undefined;
  webhookStatusCodes?: readonly number[] | undefined;
  /** First lines of the webhook's last answer as error groups have them; empty text: no such line. */
  answers?: readonly string[] | undefined;
  /** A condition on the payload of the job. */
  payload?: PayloadCondition | undefined;
}
