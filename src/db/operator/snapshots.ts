import type { SnapshotHolder } from '../../domain/doctor-snapshots.ts';
import type { Database, Statement } from '../connection/database.ts';
import { HAS_TRANSACTIONS } from '../insight/server-measures.ts';

const BLIND: Statement = {
  name: 'blind-role',
  text: `select quote_ident(current_user) as role where not pg_has_role('pg_read_all_stats', 'usage')`,
};

/** @returns the database role if it cannot see what sessions of other roles do; null if it can */
export async function blindRole(db: Database): Promise<string | null> {
  return (await db.one<{ role: string }>(BLIND))?.role ?? null;
}

// A standby and a slot have no time, only the transaction id from which on they keep rows. A session without a snapshot
// and an id, such as one that is idle in a read-committed transaction and has written nothing, keeps no rows. Nor does
// the `catalog_xmin` of a logical slot, except rows of catalogues.
const HOLDERS: Statement = {
  name: 'snapshot-holders',
  text: `
    select * from (
      select 'session' as kind, a.pid::text as name, coalesce(a.usename, '') as user, coalesce(a.application_name, '') as program,
             concat_ws(', ', nullif(a.backend_type, 'client backend'), nullif(a.state, '')) as state,
             extract(epoch from clock_timestamp() - a.xact_start)::float8 as seconds,
             greatest(age(a.backend_xmin), age(a.backend_xid)) as ids
        from pg_stat_activity a
       where a.datname = current_database() and a.pid <> pg_backend_pid() and a.${HAS_TRANSACTIONS}
         and a.xact_start <= clock_timestamp() - $1 * interval '1 s'
      union all
      select 'prepared', gid, owner, '', '', extract(epoch from clock_timestamp() - prepared)::float8, age(transaction)
        from pg_prepared_xacts
       where database = current_database() and prepared <= clock_timestamp() - $1 * interval '1 s'
      union all
      select 'standby', coalesce(a.pid::text, ''), coalesce(a.usename, ''), coalesce(a.application_name, ''), '', null, age(a.backend_xmin)
        from pg_stat_activity a where a.backend_type = 'walsender' and age(a.backend_xmin) >= $2
      union all
      select 'slot', slot_name::text, '', '', '', null, age(xmin) from pg_replication_slots where age(xmin) >= $2
    ) holder
     order by ids is null, seconds desc nulls last, ids desc limit 10`,
};

/**
 * Returns what keeps rows that are dead: old transactions, prepared ones, standbys with `hot_standby_feedback`, and
 * replication slots; and old transactions that keep none. Sessions of other roles are seen only by a role that is not
 * blind (`blindRole`).
 * @param seconds age from which a transaction counts
 * @param ids number of transactions for which a standby or a slot must have kept rows to count
 */
export function snapshotHolders(
  db: Database,
  { seconds, ids }: { seconds: number; ids: number },
): Promise<SnapshotHolder[]> {
  return db.query<SnapshotHolder & Record<string, unknown>>(HOLDERS, [seconds, ids]);
}
