/**
 * Retention removes only jobs that have ended. A job is kept:
 * - for the retention period after its publish; then
 * - until it ends (a pause can last longer, and retention can be configured shorter than delay and lifetime); and
 * - if it ended after its retention, for one delivery lifetime after its end.
 *
 * The first condition is a range of ids, and holds for nearly all rows. The others apply to the few rows below that
 * range.
 */

/** SQL expressions that the surrounding statement provides. */
export interface KeptTerms {
  /** The database time. */
  now: string;
  /** An interval, as `lifetime` is. */
  retention: string;
  lifetime: string;
}

/** @returns SQL: the first id of the jobs that are kept in any state */
export function firstYoungId({ now, retention }: Pick<KeptTerms, 'now' | 'retention'>): string {
  return `jobferry_first_id(${now} - ${retention})`;
}

/** @returns SQL: whether a job `j` past its retention is kept */
export function outlastsRetention({ now, retention, lifetime }: KeptTerms): string {
  return `(j.status in ('pending', 'processing', 'awaiting_ack')
    or coalesce(j.completed_at, j.dead_at) >= greatest(j.created_at + ${retention}, ${now} - ${lifetime}))`;
}

/** @returns SQL: whether the job `j` is kept */
export function isKeptJob(terms: KeptTerms): string {
  return `(j.created_at > ${terms.now} - ${terms.retention} or ${outlastsRetention(terms)})`;
}

/**
 * @returns SQL: whether the dead letter `d` is kept. It is kept as long as its job, which ended when the dead letter
 *   was written. The condition reads only columns in the indexes of a queue's dead letters, so a count is an
 *   index-only scan.
 */
export function isKeptLetter({ now, retention, lifetime }: KeptTerms): string {
  return `(d.job_id >= (select jobferry_first_id(${now} - ${retention}))
    or d.dead_at >= greatest(jobferry_created_at(d.job_id) + ${retention}, ${now} - ${lifetime}))`;
}
