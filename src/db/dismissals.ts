import type { Author } from '../domain/audit.ts';
import { MAX_DISMISSALS } from '../domain/dismissal.ts';
import { actorJson } from './audit.ts';
import type { Database, Statement } from './connection/database.ts';
import type { Dismissal } from './generated/client.ts';

/** Rows of `dismissal`: causes of dead letters that people know about. */

// Processes that dismiss at the same moment may exceed the limit by one each, which harms nothing. The order makes the
// planner read the index of causes: it does not know how rare a cause is, and read all dead letters until it came to
// one.
const DISMISS: Statement = {
  name: 'dismiss-cause',
  text: `
    with known as materialized (
      select exists (
        select from queue q cross join lateral (
          select from dead_letter d
           where (d.queue_id, d.fingerprint, d.id) >= (q.id, $3, '') and (d.queue_id, d.fingerprint) <= (q.id, $3)
           order by d.queue_id, d.fingerprint, d.id limit 1) d
         where q.account_id = $1 and q.deleted_at is null) as known
    ), present as materialized (
      select until from dismissal where account_id = $1 and fingerprint = $3
    ), dismissed as (
      insert into dismissal (account_id, fingerprint, until, dismissed_by)
      select $1, $3, coalesce($4::timestamptz, jobferry_now()), $2::json ->> 'label' from known
       where known and (exists (select from present)
                        or (select count(*) from dismissal where account_id = $1) < ${MAX_DISMISSALS})
      on conflict (account_id, fingerprint) do update
        set until = excluded.until, dismissed_at = jobferry_now(), dismissed_by = excluded.dismissed_by
      returning until, dismissed_at, dismissed_by
    )
    select known.known, d.until, d.dismissed_at as "dismissedAt", d.dismissed_by as "dismissedBy",
           case when d.until is not null then
             jobferry_audit($1, $2::json, 'error_group.dismiss', 'error_group', $3, null,
                            (select jsonb_build_object('until', jobferry_iso(until)) from present),
                            jsonb_build_object('until', jobferry_iso(d.until))) end
      from known left join dismissed d on true`,
};

interface Row extends Record<string, unknown> {
  known: boolean;
  until: Date | null;
  dismissedAt: Date | null;
  dismissedBy: string | null;
}

/**
 * Dismisses a cause, or changes the end of its dismissal.
 * @param until null: now
 * @returns the dismissal. `unknown`: no dead letter of a live queue has the fingerprint; `too_many`: the account has
 * the maximum
 */
export async function dismissCause(
  db: Database,
  by: Author,
  fingerprint: string,
  until: Date | null,
): Promise<Dismissal | 'unknown' | 'too_many'> {
  const values = [by.accountId, actorJson(by.actor), fingerprint, until];
  const row = await db.one<Row>(DISMISS, values);
  if (row?.known !== true) return 'unknown';
  const { until: end, dismissedAt, dismissedBy } = row;
  if (end === null || dismissedAt === null || dismissedBy === null) return 'too_many';
  return { accountId: by.accountId, fingerprint, until: end, dismissedAt, dismissedBy };
}

const RESTORE: Statement = {
  name: 'restore-cause',
  text: `
    with restored as (delete from dismissal where account_id = $1 and fingerprint = $3 returning until)
    select jobferry_audit($1, $2::json, 'error_group.restore', 'error_group', $3, null,
                          jsonb_build_object('until', jobferry_iso(until)), null)
      from restored`,
};

/** Ends a dismissal. @returns false when there is none */
export async function restoreCause(db: Database, by: Author, fingerprint: string): Promise<boolean> {
  return (await db.query(RESTORE, [by.accountId, actorJson(by.actor), fingerprint])).length > 0;
}
