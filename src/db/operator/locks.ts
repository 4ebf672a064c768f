import type { LockHolder } from '../../domain/doctor-locks.ts';
import type { Database, Statement } from '../connection/database.ts';

// Locks of rows are seen only where a session waits for them, and a claim does not wait: it passes over. So every
// session counts that has had locks on a table for a while, whether or not another one waits. Reads lock a table, too,
// but only a change of the schema waits for them; then all others wait behind it.
const HOLDERS: Statement = {
  name: 'lock-holders',
  text: `
    with waiting as materialized (
      select pid, pg_blocking_pids(pid) as blockers from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' limit 1000
    ), blocking as (
      select b.pid, count(distinct w.pid)::integer as waiting from waiting w, unnest(w.blockers) b(pid) group by 1
    ), transaction as (
      select a.pid, null as prepared, null as virtual, coalesce(a.usename, '') as user,
             coalesce(a.application_name, '') as program, a.state = 'active' as is_active,
             coalesce(a.wait_event_type = 'Lock', false) as is_waiting, a.xact_start as began
        from pg_stat_activity a
       where a.datname = current_database() and a.pid <> pg_backend_pid() and a.backend_type = 'client backend'
      union all
      -- It has no session. Its locks have the virtual id of the one on its transaction; waiters are blocked by pid 0.
      select 0, gid, own.virtualtransaction, owner, '', false, false, prepared
        from pg_prepared_xacts p
        join pg_locks own on own.locktype = 'transactionid' and own.pid is null and own.transactionid = p.transaction
       where p.database = current_database()
    )
    select t.pid, t.prepared, t.user, t.program, t.is_active as "isActive", t.is_waiting as "isWaiting",
           extract(epoch from clock_timestamp() - t.began)::float8 as seconds,
           coalesce(blocking.waiting, 0) as waiting, held.tables
      from transaction t
      left join blocking on blocking.pid = t.pid
      cross join lateral (
        select array_agg(distinct c.relname::text) as tables, bool_or(l.granted and l.mode <> 'AccessShareLock') as locks
          from pg_locks l join pg_class c on c.oid = l.relation
         where (l.pid = t.pid or l.pid is null and l.virtualtransaction = t.virtual)
           and l.locktype = 'relation' and c.relkind = 'r'
           and c.relnamespace = current_schema()::regnamespace) held
     where t.began <= clock_timestamp() - $1 * interval '1 ms' and held.tables is not null
       and (held.locks or blocking.waiting > 0)
     order by blocking.waiting desc nulls last, t.began limit 10`,
};

/**
 * Returns the transactions that have had locks on tables of Jobferry for some time, those of sessions and prepared
 * ones: those that others wait for first. Sessions of other users are seen only by a role that may read
 * `pg_stat_activity` whole (`pg_read_all_stats`).
 */
export function lockHolders(db: Database, olderThanMs = 10_000): Promise<LockHolder[]> {
  return db.query<LockHolder & Record<string, unknown>>(HOLDERS, [olderThanMs]);
}
