import type { Author } from '../../domain/audit.ts';
import { actorJson } from '../audit.ts';
import type { Database, Statement } from '../connection/database.ts';
import { hasHold } from './held.ts';

/**
 * Pause, resume and the end of holds, of one queue or of many. Each is one statement with the changes, an audit entry
 * for each changed queue, and their wake-ups. `jobferry_pick` reads the columns under the lock of the queue's row, so
 * every claim that starts after the commit follows the change, in all processes. Queues are locked by id, so two
 * statements cannot deadlock.
 */

/** A live queue that a statement found. */
export interface FoundQueue {
  id: string;
  name: string;
  changed: boolean;
  /** Start of the present pause, or of the one that was ended; null without one. */
  pausedAt: Date | null;
}

/** SQL: the live queues of $1 that belong to the account $2, locked. */
const PRESENT = `present as materialized (
      select id, name, paused_at, paused_by from queue
       where id = any ($1::text[]) and account_id = $2 and deleted_at is null order by id for no key update
    )`;

const AUDITED: Statement = {
  name: 'audited-today',
  text: `
    select from audit_entry where account_id = $1 and id >= jobferry_first_id(jobferry_now() - interval '1 day')
     order by id offset $2 limit 1`,
};

/**
 * Whether the audit log of an account got more than so many entries in the last 24 hours. It reads as many entries of
 * an index, and of those that no vacuum has seen the rows, too.
 */
export async function isAuditFull(db: Database, accountId: string, most: number): Promise<boolean> {
  return (await db.query(AUDITED, [accountId, most])).length > 0;
}

const PAUSE: Statement = {
  name: 'pause-queues',
  text: `
    with ${PRESENT}, moment as materialized (
      -- The time is read when the queues are locked, so no delivery is claimed later than the pause.
      select jobferry_now() as now from (select count(*) from present) locked
    ), paused as (
      update queue set paused_at = moment.now, paused_by = $3::json ->> 'label'
        from present cross join moment
       where queue.id = present.id and present.paused_at is null
      returning queue.id, queue.paused_at, queue.paused_by
    )
    select present.id, present.name, paused.id is not null as changed,
           coalesce(paused.paused_at, present.paused_at)::timestamptz as "pausedAt",
           case when paused.id is not null then
             jobferry_audit($2, $3::json, 'queue.pause', 'queue', present.id, name,
               jsonb_build_object('pausedAt', null, 'pausedBy', null),
               jsonb_build_object('pausedAt', jobferry_iso(paused.paused_at), 'pausedBy', paused.paused_by)) end
      from present left join paused on paused.id = present.id order by present.id`,
};

/** Pauses queues. @returns those that are live */
export async function pauseQueues(db: Database, by: Author, queueIds: readonly string[]): Promise<FoundQueue[]> {
  return found(await db.query(PAUSE, [queueIds, by.accountId, actorJson(by.actor)]));
}

const RESUME: Statement = {
  name: 'resume-queues',
  text: `
    with ${PRESENT}, resumed as (
      update queue set paused_at = null, paused_by = null, lifetime_floor = jobferry_now() + $4 * interval '1 ms'
        from present
       where queue.id = present.id and present.paused_at is not null
         and ($5::timestamptz is null or present.paused_at = $5)
         and not exists (select from account where account.id = $2 and suspended_at is not null)
      returning queue.id
    )
    select present.id, present.name, resumed.id is not null as changed, present.paused_at as "pausedAt",
           case when resumed.id is not null then jobferry_wake('deliver', present.id, jobferry_now()) end,
           case when resumed.id is not null then
             jobferry_audit($2, $3::json, 'queue.resume', 'queue', present.id, name,
               jsonb_build_object('pausedAt', jobferry_iso(paused_at), 'pausedBy', paused_by),
               jsonb_build_object('pausedAt', null, 'pausedBy', null)) end
      from present left join resumed on resumed.id = present.id order by present.id`,
};

/**
 * Resumes deliveries. The lifetime of a waiting job ends at the earliest `lifetimeMs` from now.
 * @param pausedAt only queues whose pause began then; null for all
 * @returns the queues that are live
 */
export async function resumeQueues(
  db: Database,
  by: Author,
  queueIds: readonly string[],
  { lifetimeMs, pausedAt = null }: { lifetimeMs: number; pausedAt?: Date | null },
): Promise<FoundQueue[]> {
  return found(await db.query(RESUME, [queueIds, by.accountId, actorJson(by.actor), lifetimeMs, pausedAt]));
}

// Locks the jobs before the queues, in the order of settles. The counts make PostgreSQL run the parts one after the
// other. An open breaker stays open, and its next probe is due: a receiver that still fails would cost every job in a
// slot an attempt.
const END_HOLD: Statement = {
  name: 'end-holds',
  text: `
    with present as materialized (
      select id, name, ${hasHold('queue')} as has_hold from queue
       where id = any ($1::text[]) and account_id = $2 and deleted_at is null
    ), held as materialized (
      select id from job
       where id in (select next.id from present cross join lateral (
               select job.id from job
                where job.queue_id = present.id and job.status = 'pending' and job.wait_reason = 'hold'
                  and job.scheduled_for > jobferry_now()
                order by job.scheduled_for limit $4) next where has_hold)
         and status = 'pending' and wait_reason = 'hold' order by id for no key update
    ), moved as (
      update job set scheduled_for = jobferry_now(), wait_reason = null, short_holds = 0 from held where job.id = held.id
      returning job.id, job.queue_id
    ), locked as materialized (
      select id, name, hold_until, breaker_opened_at is not null as probes, jobferry_now() as now from queue
       where id = any (array(select id from present)) and ${hasHold('queue')} and (select count(*) from moved) >= 0
       order by id for no key update
    ), ended as (
      update queue set hold_until = case when probes then least(queue.hold_until, now) end,
                       breaker_until = case when probes then least(queue.hold_until, now) end,
                       hold_job_id = case when probes then hold_job_id end, hold_reason = case when probes then hold_reason end,
                       probe_job_id = case when probes then probe_job_id end,
                       breaker_failed = case when probes then breaker_failed else 0 end,
                       breaker_failed_since = case when probes then breaker_failed_since end
        from locked where queue.id = locked.id
      returning queue.id, locked.name, locked.hold_until, queue.hold_until as probes_at
    )
    select present.id, present.name, ended.id is not null as changed, null::timestamptz as "pausedAt",
           case when ended.id is not null then jobferry_wake('deliver', ended.id, jobferry_now()) end,
           case when ended.id is not null then
             jobferry_audit($2, $3::json, 'queue.end_hold', 'queue', ended.id, ended.name,
               jsonb_build_object('heldUntil', jobferry_iso(ended.hold_until)),
               jsonb_build_object(case when probes_at is null then 'heldUntil' else 'nextProbeAt' end, jobferry_iso(probes_at),
                                  'jobs', (select count(*) from moved where moved.queue_id = ended.id))) end
      from present left join ended on ended.id = present.id order by present.id`,
};

/** Jobs of a queue that become due at once. The others keep their waiting time. */
const MAX_RELEASED = 1000;
/** Queues of one statement, which so moves at most this many times `MAX_RELEASED` jobs. */
const HOLDS_AT_ONCE = 20;

/**
 * Ends the holds of queues, in portions with a commit each, and makes jobs due that wait for the end of a hold. Of a
 * queue whose breaker is open, one of them is the next probe.
 * @returns those that are live
 */
export async function endHolds(db: Database, by: Author, queueIds: readonly string[]): Promise<FoundQueue[]> {
  const ended: FoundQueue[] = [];
  for (let from = 0; from < queueIds.length; from += HOLDS_AT_ONCE) {
    const ids = queueIds.slice(from, from + HOLDS_AT_ONCE);
    ended.push(...found(await db.query(END_HOLD, [ids, by.accountId, actorJson(by.actor), MAX_RELEASED])));
  }
  return ended;
}

function found(rows: readonly Record<string, unknown>[]): FoundQueue[] {
  return (rows as unknown as FoundQueue[]).map(({ id, name, changed, pausedAt }) => ({ id, name, changed, pausedAt }));
}
