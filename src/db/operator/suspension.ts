import type { Actor } from '../../domain/audit.ts';
import { actorJson } from '../audit.ts';
import type { Database, Statement } from '../connection/database.ts';

/**
 * The suspension of an account: publishes are refused, and its queues are paused. So claims, statistics and waiting
 * reasons need to know nothing of it, and processes of the last release follow it, too.
 */

/** The actor of the pauses. A queue that was paused before keeps its pause, and stays paused afterwards. */
export const PAUSED_BY = 'operator (account suspended)';
/** Queues of one statement, because claims wait for none that is locked. */
const BATCH = 500;

const SUSPEND: Statement = {
  name: 'suspend-account',
  text: `
    with present as materialized (
      select id, name, suspended_at from account where id = $1 for no key update
    ), suspended as (
      update account set suspended_at = jobferry_now(), suspended_by = $2::json ->> 'label'
        from present where account.id = present.id and present.suspended_at is null
      returning account.id, account.suspended_at
    )
    select present.suspended_at is null as changed,
           (select jobferry_audit(s.id, $2::json, 'account.suspend', 'account', s.id, present.name,
                                  jsonb_build_object('suspendedAt', null),
                                  jsonb_build_object('suspendedAt', jobferry_iso(s.suspended_at))) from suspended s)
      from present`,
};

const UNSUSPEND: Statement = {
  name: 'unsuspend-account',
  text: `
    with present as materialized (
      select id, name, suspended_at from account where id = $1 for no key update
    ), resumed as (
      update account set suspended_at = null, suspended_by = null
        from present where account.id = present.id and present.suspended_at is not null
      returning account.id
    )
    select present.suspended_at is not null as changed,
           (select jobferry_audit(r.id, $2::json, 'account.resume', 'account', r.id, present.name,
                                  jsonb_build_object('suspendedAt', jobferry_iso(present.suspended_at)),
                                  jsonb_build_object('suspendedAt', null)) from resumed r)
      from present`,
};

const PAUSE: Statement = {
  name: 'pause-queues-of-account',
  text: `
    with chosen as materialized (
      select id from queue where account_id = $1 and deleted_at is null and paused_at is null
       order by id limit $3 for no key update
    ), paused as (
      update queue set paused_at = jobferry_now(), paused_by = $2 from chosen where queue.id = chosen.id returning queue.id
    )
    select count(*) as queues from paused`,
};

// The wake-ups are counted, because PostgreSQL does not run a CTE that nothing reads.
const RESUME: Statement = {
  name: 'resume-queues-of-account',
  text: `
    with chosen as materialized (
      select id from queue where account_id = $1 and deleted_at is null and paused_by = $2
       order by id limit $3 for no key update
    ), resumed as (
      update queue set paused_at = null, paused_by = null, lifetime_floor = jobferry_now() + $4 * interval '1 ms'
        from chosen where queue.id = chosen.id
      returning queue.id
    ), woken as (
      select jobferry_wake('deliver', id, jobferry_now()) from (select id from resumed order by id) r
    )
    select count(*) as queues from woken`,
};

export interface SuspensionChange {
  /** False if the account was suspended, or not suspended, before. */
  changed: boolean;
  /** Queues that were paused or resumed. */
  queues: number;
}

/**
 * Suspends an account, and pauses its live queues in batches.
 * Called again, it continues where an interrupted call ended.
 * @returns null if there is no such account
 */
export async function suspendAccount(db: Database, actor: Actor, accountId: string): Promise<SuspensionChange | null> {
  const row = await db.one<{ changed: boolean }>(SUSPEND, [accountId, actorJson(actor)]);
  if (row === null) return null;
  return { changed: row.changed, queues: await inBatches(db, PAUSE, [accountId, PAUSED_BY, BATCH]) };
}

/**
 * Ends the suspension, and the pauses that it made. Each waiting job gets its full delivery lifetime again. Called
 * again, it continues where an interrupted call ended.
 * @returns null if there is no such account
 */
export async function resumeAccount(
  db: Database,
  actor: Actor,
  accountId: string,
  lifetimeMs: number,
): Promise<SuspensionChange | null> {
  const row = await db.one<{ changed: boolean }>(UNSUSPEND, [accountId, actorJson(actor)]);
  if (row === null) return null;
  return { changed: row.changed, queues: await inBatches(db, RESUME, [accountId, PAUSED_BY, BATCH, lifetimeMs]) };
}

async function inBatches(db: Database, statement: Statement, values: unknown[]): Promise<number> {
  let total = 0;
  for (;;) {
    const queues = (await db.one<{ queues: number }>(statement, values))?.queues ?? 0;
    total += queues;
    if (queues < BATCH) return total;
  }
}
