/**
 * Parts of a queue that can be read. `attempts`: statistics of the attempts in a range;
 * `published`: published jobs by span.
 */
export const QUEUE_PARTS = ['row', 'depth', 'use', 'attempts', 'published'] as const;
export type QueuePart = (typeof QUEUE_PARTS)[number];

/**
 * Values of the statement. `from`, `to`: range of `attempts`.
 * `firstIds`, `lastIds`: bounds of the spans of `published`.
 */
export type ValueName =
  | 'ids'
  | 'names'
  | 'accountId'
  | 'retentionMs'
  | 'lifetimeMs'
  | 'from'
  | 'to'
  | 'firstIds'
  | 'lastIds';

/** SQL of one part. `value` returns the placeholder of a value; `own` are the queues, and `clock.now` is the time. */
export interface PartOfStatement {
  /** Common table expressions. */
  with?(value: (name: ValueName) => string): string[];
  /** Joins to `own`. */
  join(value: (name: ValueName) => string): string;
  columns: string;
}
