import type { ConnectionFacts } from '../../domain/doctor-connections.ts';
import type { Database, Statement } from '../connection/database.ts';
import { connectionFacts } from './server-connections.ts';

/** Facts about the server of the database that announce trouble hours or days before it comes. */
export interface ServerMeasures {
  /** Size of the database in bytes. */
  databaseBytes: number;
  /** Size of the table `job` with its indexes in bytes, as of its last vacuum. */
  jobBytes: number;
  /**
   * Age in seconds of the oldest transaction whose session has done nothing for a minute, or that is prepared; 0
   * without one. Null if the role of Jobferry cannot see sessions of other roles (`pg_read_all_stats`).
   */
  idleTransactionSeconds: number | null;
  /**
   * Age in seconds of the oldest other transaction, whether or not a statement of it runs; 0 without one.
   * Null as above.
   */
  activeTransactionSeconds: number | null;
  /**
   * Number of transactions since the oldest row that a standby (`hot_standby_feedback`) or a replication slot needs; 0
   * without one. Null if the role may not see sessions of other roles, as those of standbys are.
   */
  snapshotTransactions: number | null;
  /** Age of the oldest transaction id, or of the oldest multixact id if that is more. */
  idsAge: number;
  /** Bytes of WAL that the replication slot keeps that is furthest behind; 0 without a slot. */
  slotWalBytes: number;
  /** The limit of connections with the least room. */
  connections: Pick<ConnectionFacts, 'used' | 'max'>;
}

const IDLE_MS = 60_000;

/**
 * Whether the transaction of a row of `pg_stat_activity` counts: of a client, or of a background worker such as that of
 * an extension. A parallel worker belongs to a client, and autovacuum keeps no row. Standbys are measured apart.
 */
export const HAS_TRANSACTIONS = `backend_type not in ('autovacuum worker', 'parallel worker', 'walsender')`;

// Reads catalogues and statistics only, and takes no lock on a table of Jobferry: pg_total_relation_size would wait for
// one. A transaction whose session works now and then counts between its statements, too: a measure rarely meets one of
// them.
const OF_SERVER: Statement = {
  name: 'measures-of-server',
  text: `
    with session as materialized (
      select state like 'idle in transaction%' and state_change < clock_timestamp() - $1 * interval '1 ms' as is_idle,
             extract(epoch from clock_timestamp() - xact_start)::float8 as seconds
        from pg_stat_activity
       where datname = current_database() and ${HAS_TRANSACTIONS} and pid <> pg_backend_pid()
    )
    select pg_database_size(current_database())::float8 as "databaseBytes",
           (select coalesce(sum(c.relpages), 0) * current_setting('block_size')::integer from pg_class c
             where c.oid = job.oid or c.oid = job.reltoastrelid
                or c.oid in (select i.indexrelid from pg_index i where i.indrelid = job.oid))::float8 as "jobBytes",
           case when pg_has_role('pg_read_all_stats', 'usage') then greatest(
             (select max(seconds) from session where is_idle),
             (select max(extract(epoch from clock_timestamp() - prepared)) from pg_prepared_xacts
               where database = current_database()),
             0)::float8 end as "idleTransactionSeconds",
           case when pg_has_role('pg_read_all_stats', 'usage')
                then coalesce((select max(seconds) from session where not is_idle), 0) end as "activeTransactionSeconds",
           case when pg_has_role('pg_read_all_stats', 'usage') then greatest(
             (select max(age(backend_xmin)) from pg_stat_activity where backend_type = 'walsender'),
             (select max(age(xmin)) from pg_replication_slots),
             0) end as "snapshotTransactions",
           greatest(age(own.datfrozenxid), mxid_age(own.datminmxid))::float8 as "idsAge",
           (select coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)), 0)
              from pg_replication_slots where not pg_is_in_recovery())::float8 as "slotWalBytes"
      from pg_class job, pg_database own
     where job.oid = 'job'::regclass and own.datname = current_database()`,
};

/** @param idleMs a transaction is idle if its session has done nothing for this long */
export async function measuresOfServer(db: Database, idleMs = IDLE_MS): Promise<ServerMeasures> {
  const row = await db.one<Omit<ServerMeasures, 'connections'> & Record<string, unknown>>(OF_SERVER, [idleMs]);
  if (row === null) throw new Error('the measures of the server returned no row');
  return { ...row, connections: await connectionFacts(db) };
}
