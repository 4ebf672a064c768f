import type { JobStatus } from './job.ts';

/** What dashboards count and filter jobs by: the spec's `pending` in its five shades, and the other statuses. */
export const JOB_STATES = [
  /** Pending, and its time has come. */
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
 * (`items.0.sku`); a backslash escapes a dot or a backslash within a name. Nothing is equal, greater or
 * contained where the path does not exist; `NEQ` is the negation of `EQ`, so it holds there.
 *
 * - `EQ`: the same text, number, true, false or null; `1` and `1.0` are the same.
 * - `GT`, `LT`: numbers with numbers, texts with texts (by code points, so dates in ISO form compare).
 * - `CONTAINS`: a text has this literal part, upper and lower case alike; an array has this element.
 * - `EXISTS`: also null is there.
 *
 * A payload that cannot be searched (docs/queries.md) meets no condition, negated or not.
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
  /** The webhook's answer to the last attempt is one of these, or of one of the classes when both are given. */
  webhookStatusCodes?: readonly number[] | undefined;
  /** 2 for 2xx and so on; 0 for no answer. A job that was never attempted is of no class. */
  webhookStatusClasses?: readonly number[] | undefined;
  payload?: PayloadCondition | undefined;
}

/** Bounds on what one filter may ask for, so that every filter is a query that ends. */
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
  /** Of an error group. */
  fingerprints?: readonly string[] | undefined;
  replayed?: boolean | undefined;
  errorContains?: string | undefined;
  webhookStatusCodes?: readonly number[] | undefined;
}
