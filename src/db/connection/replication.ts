import type { ReplicationFacts } from '../../domain/replication.ts';

/**
 * The details of other roles' sessions are hidden from a role that is not in pg_read_all_stats; their number and names
 * are not. Backups, archives of WAL and logical subscriptions are connected like standbys, and never become the
 * primary.
 */
const REPLICATION = `
  select current_setting('synchronous_commit') as synchronous_commit,
         current_setting('synchronous_standby_names') as synchronous_standby_names,
         count(*)::integer as standbys,
         case when pg_has_role('pg_read_all_stats', 'usage')
              then (count(*) filter (where r.sync_state in ('sync', 'quorum')))::integer end as synchronous
    from pg_stat_replication r
   where coalesce(r.application_name, '') not in ('pg_basebackup', 'pg_receivewal')
     and not exists (select from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical')`;

/** @param query sends a statement and returns its rows */
export async function replicationFacts(
  query: (text: string) => Promise<ReplicationFacts[]>,
): Promise<ReplicationFacts> {
  const [facts] = await query(REPLICATION);
  if (facts === undefined) throw new Error('no row was returned');
  return facts;
}
