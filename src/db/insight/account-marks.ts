import type { Database, Statement } from '../connection/database.ts';
import { OPERATORS_ACCOUNT } from '../operator-account.ts';

/** The lists of an account that can be watched for new rows. */
export const WATCHED_LISTS = ['deadLetters', 'auditLog', 'instances'] as const;
export type WatchedList = (typeof WATCHED_LISTS)[number];

/** Texts that change when the list does; null if the list was not asked for. */
export interface AccountMarks {
  /** By queue. */
  deadLetters: Record<string, string> | null;
  auditLog: string | null;
  /** Null also for accounts that see no processes. */
  instances: string | null;
}

// The newest few rows of each list, and not the newest alone: a row may be committed after one with a later id. Queue
// and id are compared together, so that no plan reads the dead letters of other queues. 1000 queues are the bound on
// statistics, too.
const MARKS: Statement = {
  name: 'account-marks',
  text: `
    select case when $2::boolean then (
             select coalesce(json_object_agg(own.id, last.ids), '{}')
               from (select id from queue where account_id = $1 and deleted_at is null order by id limit 1000) own
              cross join lateral (
                select string_agg(n.id, ',') as ids from (
                  select d.id from dead_letter d where (d.queue_id, d.id) >= (own.id, '') and (d.queue_id, d.id) < (own.id, 'g')
                   order by d.queue_id desc, d.id desc limit 3) n) last
              where last.ids is not null) end as "deadLetters",
           case when $3::boolean then (
             select coalesce(md5(string_agg(n.id, ',')), '') from (
               select id from audit_entry where account_id = $1 order by account_id desc, id desc limit 20) n)
             end as "auditLog",
           case when $4::boolean and $1 = ${OPERATORS_ACCOUNT} then (
             select coalesce(md5(string_agg(concat_ws(' ', id, role, version, in_flight, capacity), ',' order by id)), '')
               from instance where last_seen_at > jobferry_now() - interval '30 s') end as instances`,
};

/** @returns marks of the lists that are asked for */
export async function accountMarks(
  db: Database,
  accountId: string,
  lists: ReadonlySet<WatchedList>,
): Promise<AccountMarks> {
  const wanted = WATCHED_LISTS.map((list) => lists.has(list));
  const row = await db.reading(accountId).one<AccountMarks & Record<string, unknown>>(MARKS, [accountId, ...wanted]);
  if (row === null) throw new Error('the marks of an account returned no row');
  return row;
}
