import type { Author } from '../../domain/audit.ts';
import type { BreakerSettings } from '../../domain/breaker.ts';
import { actorJson } from '../audit.ts';
import type { Database, Statement } from '../connection/database.ts';

/**
 * SQL: whether an open breaker alone holds a queue, and not a longer hold that its receiver asked for and that is not
 * over.
 */
const isHeldByBreaker = (now: string) =>
  `breaker_opened_at is not null and (hold_until = breaker_until or hold_until <= ${now})`;

/**
 * SQL: columns of a queue that make the next probe of an open breaker due. A probe in flight is not awaited: it says
 * nothing about the present receiver.
 * @param now SQL of a time that is read once
 */
export const probeDue = (now: string) => `
        hold_until = case when ${isHeldByBreaker(now)} then least(hold_until, ${now}) else hold_until end,
        breaker_until = case when ${isHeldByBreaker(now)} then least(breaker_until, ${now}) else breaker_until end,
        probe_job_id = case when ${isHeldByBreaker(now)} then null else probe_job_id end`;

/**
 * SQL: columns of a queue whose receiver is another one, or gets requests with another signature. A closed breaker
 * counts from 0, and the pauses of an open one grow from the beginning. It stays open, so that one job tests the
 * receiver before the others follow.
 */
export const renewedBreaker = (now: string) => `${probeDue(now)},
        breaker_failed = case when breaker_opened_at is null then 0 else breaker_failed end,
        breaker_failed_since = case when breaker_opened_at is not null then breaker_failed_since end,
        breaker_probes = 0, breaker_closed_at = null`;

/** For a queue whose webhook was changed. */
export const RENEW_BREAKER = {
  name: 'renew-breaker',
  text: `
    with clock as materialized (select jobferry_now() as now)
    update queue set ${renewedBreaker('clock.now')} from clock where id = $1 returning id`,
} as const satisfies Statement;

// Jobs that the breaker holds go on when it is switched off; when it is changed, the next probe is due.
// `jobferry_settle_holds` writes the rest of its state.
const SET_BREAKER: Statement = {
  name: 'set-breaker',
  text: `
    with clock as materialized (select jobferry_now() as now), present as materialized (
      select id, name, breaker_failures, breaker_seconds, $4::integer is null and $5::integer is null as goes,
             coalesce(${isHeldByBreaker('clock.now')}, false) as holds
        from queue cross join clock
       where id = $1 and account_id = $2 and deleted_at is null
         and (breaker_failures, breaker_seconds) is distinct from ($4::integer, $5::integer) for no key update of queue
    ), changed as (
      update queue set
        breaker_failures = $4, breaker_seconds = $5,
        breaker_failed = case when goes then 0 else breaker_failed end,
        breaker_failed_since = case when goes then null else breaker_failed_since end,
        breaker_opened_at = case when goes then null else breaker_opened_at end,
        breaker_until = case when goes then null when holds then least(breaker_until, clock.now) else breaker_until end,
        breaker_closed_at = case when goes then null else breaker_closed_at end,
        hold_until = case when not holds then hold_until when not goes then least(hold_until, clock.now) end,
        probe_job_id = case when goes and holds then null else probe_job_id end
        from present cross join clock where queue.id = present.id
      returning queue.id, queue.name, holds as released,
                jobferry_breaker_json(present.breaker_failures, present.breaker_seconds) as before
    )
    select case when released then jobferry_wake('deliver', id, jobferry_now()) end,
           jobferry_audit($2, $3::json, 'queue.set_breaker', 'queue', id, name,
             jsonb_build_object('breaker', before), jsonb_build_object('breaker', jobferry_breaker_json($4, $5)))
      from changed`,
};

/**
 * Sets when the breaker of a queue opens, or removes it with null.
 * @returns false when nothing was changed: it is the same, or there is no such live queue
 */
export async function setBreaker(
  db: Database,
  by: Author,
  queueId: string,
  breaker: BreakerSettings | null,
): Promise<boolean> {
  const values = [breaker?.failures ?? null, breaker?.seconds ?? null];
  return (await db.query(SET_BREAKER, [queueId, by.accountId, actorJson(by.actor), ...values])).length > 0;
}
