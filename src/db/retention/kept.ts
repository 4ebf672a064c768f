/**
 * Retention removes only jobs that have ended. A job is kept:
 * - for the retention period after its publish; then
 * - until it ends (a pause can last, and retention can be configured shorter than delay and lifetime); and
 * - if it ended after its retention, for a delivery lifetime after its end.
 *
 * The first condition is a range of ids, and holds for nearly all rows. The others are for the few rows below
 * that range.
 */

/** Expressions of the surrounding statement. */
export interface KeptTerms {
  /** The database time. */
  now: string;
  /** Intervals. */
  retention: string;
  lifetime: string;
}

/** The first id of the jobs that are kept whatever their state. */
export function firstYoungId({ now, retention }: Pick<KeptTerms, 'now' | 'retention'>): string {
  return `jobferry_first_id(${now} - ${retention})`;
}

/** Whether a job `j` past its retention is kept. */
export function outlastsRetention({ now, retention, lifetime }: KeptTerms): string {
  return `(j.status in ('pending', 'processing', 'awaiting_ack')
    or coalesce(j.completed_at, j.dead_at) >= greatest(j.created_at + ${retention}, ${now} - ${lifetime}))`;
}

/** Whether the job `j` is kept. */
export function isKeptJob(terms: KeptTerms): string {
  return `(j.created_at > ${terms.now} - ${terms.retention} or ${outlastsRetention(terms)})`;
}

/**
 * Whether the dead letter `d` is kept: it goes with its job, which ended when the letter was written. Its columns are
 * in the indexes of a queue's letters, so counting them reads nothing else.
 */
export function isKeptLetter({ now, retention, lifetime }: KeptTerms): string {
  return `(d.job_id >= (select jobferry_first_id(${now} - ${retention}))
    or d.dead_at >= greatest(jobferry_created_at(d.job_id) + ${retention}, ${now} - ${lifetime}))`;
}
