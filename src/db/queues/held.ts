/**
 * SQL: whether a queue is held now, as `holdOf` in `domain/breaker` decides. `hold_until` alone outlasts a hold that
 * a receiver asked for: it is removed when the next job has probed the receiver.
 * @param queue prefix of its columns, such as `q.`
 */
export function isHeld(now: string, queue = ''): string {
  const column = (name: string) => `${queue}${name}`;
  return `(${column('hold_until')} is not null and (${column('hold_until')} > ${now} or ${column('probe_job_id')} is not null
            or ${column('breaker_opened_at')} is not null))`;
}

/**
 * SQL: whether `endHolds` would change a queue. The probe of an open breaker that is due already needs nothing but a
 * job, which may still wait.
 * @param queue name of the table of its columns
 */
export function hasHold(queue: string): string {
  return `(${queue}.hold_until is not null and (${queue}.breaker_opened_at is null or ${queue}.hold_until > jobferry_now()
            or ${queue}.probe_job_id is null and exists (
                 select from job where job.queue_id = ${queue}.id and job.status = 'pending' and job.wait_reason = 'hold'
                                   and job.scheduled_for > jobferry_now())))`;
}
