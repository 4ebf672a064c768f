import type { JobStatus } from './job.ts';

/** The states by which dashboards count and filter jobs: the spec's `pending`, split into four, and the other statuses. */
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

/** Bounds are inclusive. */
export interface TimeRange {
  from?: Date | undefined;
  to?: Date | undefined;
}

export const PAYLOAD_OPERATORS = ['EQ', 'NEQ', 'CONTAINS', 'EXISTS', 'GT', 'LT'] as const;
export type PayloadOperator = (typeof PAYLOAD_OPERATORS)[number];

/** A value that a payload may be compared with. */
export type JsonScalar = string | number | boolean | null;

/**
 * A condition on payloads. `path` names object members separated by dots, with array indexes as numbers
 * (`items.0.sku`); a backslash escapes a dot or a backslash within a name. If a payload does not have the path,
 * `EQ`, `GT`, `LT`, `CONTAINS` and `EXISTS` are false. `NEQ` is the negation of `EQ`, so it is true.
 *
 * - `EQ`: the same text, number, true, false or null; `1` and `1.0` are the same.
 * - `GT`, `LT`: numbers with numbers, texts with texts (by code points, so dates in ISO form compare).
 * - `CONTAINS`: a text contains this literal text, ignoring case; an array has this element.
 * - `EXISTS`: true also if the value is null.
 *
 * A payload that cannot be searched (docs/queries.md) matches no condition, negated or not.
 */
export type PayloadCondition =
  | { kind: 'test'; path: string; op: PayloadOperator; value: JsonScalar }
  | { kind: 'and' | 'or'; of: readonly PayloadCondition[] }
  | { kind: 'not'; of: PayloadCondition };

/** All given members must hold; an empty filter matches everything. */
export interface JobFilter {
  queueIds?: readonly string[] | undefined;
  queueNames?: readonly string[] | undefined;
  states?: readonly JobStateName[] | undefined;
  statuses?: readonly JobStatus[] | undefined;
  created?: TimeRange | undefined;
  scheduled?: TimeRange | undefined;
  completed?: TimeRange | undefined;
  attempts?: { min?: number | undefined; max?: number | undefined } | undefined;
  /** Literal, case-insensitive substring. */
  idempotencyKeyContains?: string | undefined;
  /** Literal, case-insensitive substring of `lastError`. */
  errorContains?: string | undefined;
  /** Status codes of the answer to the last attempt. With `webhookStatusClasses` as well, a job matches if either does. */
  webhookStatusCodes?: readonly number[] | undefined;
  /** First digits: 2 for 2xx and so on; 0 for no answer. A job that was never attempted has no class. */
  webhookStatusClasses?: readonly number[] | undefined;
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

const JOB_ORDER_FIELDS = ['created_at', 'scheduled_for', 'completed_at'] as const;
type JobOrderField = (typeof JOB_ORDER_FIELDS)[number];
export interface JobOrder {
  field: JobOrderField;
  descending: boolean;
}

export interface DeadLetterFilter {
  queueIds?: readonly string[] | undefined;
  dead?: TimeRange | undefined;
  reasons?: readonly string[] | undefined;
  /** Fingerprints of error groups. */
  fingerprints?: readonly string[] | undefined;
  replayed?: boolean | undefined;
  errorContains?: string | undefined;
  webhookStatusCodes?: readonly number[] | undefined;
}
