/**
 * SQL: whether a queue is held now, as `isHeldAt` in `domain/breaker` decides. `hold_until` alone outlasts a hold that a receiver
 * asked for: it is removed when the next job has probed the receiver.
 * @param queue prefix of its columns, such as `q.`
 */
export function isHeld(now: string, queue = ''): string {
  const column = (name: string) => `${queue}${name}`;
  return `(${column('hold_until')} is not null and (${column('hold_until')} > ${now} or ${column('probe_job_id')} is not null
            or ${column('breaker_opened_at')} is not null))`;
}

/** SQL: whether `endHolds` would change a queue. The probe of an open breaker that is due already needs nothing. */
export const HAS_HOLD = '(hold_until is not null and (breaker_opened_at is null or hold_until > jobferry_now()))';
