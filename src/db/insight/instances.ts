import type { Database, Statement } from '../connection/database.ts';

/** The heartbeat of a process. */
export interface InstanceReport {
  role: 'all' | 'api' | 'worker';
  version: string;
  inFlight: number;
  capacity: number;
  /** How far the clock of the database is ahead of that of the process; null if it does not know. */
  clockOffsetSeconds: number | null;
}

// If the row of a process was removed while the process was frozen, this inserts it again with the same identity.
const REPORT: Statement = {
  name: 'report-instance',
  text: `
    with gone as (
      delete from instance
       where id is distinct from $1 and last_seen_at < (select jobferry_now()) - interval '5 minutes'
    )
    insert into instance as i (id, role, version, started_at, in_flight, capacity, clock_offset_seconds)
    values (coalesce($1, jobferry_id()), $3, $4, coalesce($2::timestamptz, jobferry_now()), $5, $6, $7)
    on conflict (id) do update set last_seen_at = jobferry_now(), in_flight = excluded.in_flight,
                                   capacity = excluded.capacity,
                                   clock_offset_seconds = excluded.clock_offset_seconds
    returning i.id, i.started_at`,
};

export interface InstanceIdentity {
  id: string;
  startedAt: Date;
}

/**
 * Writes the heartbeat of this process, and removes the rows of processes without a heartbeat for 5 minutes.
 * @param identity the result of the first report; null for the first report
 */
export async function reportInstance(
  db: Database,
  identity: InstanceIdentity | null,
  report: InstanceReport,
): Promise<InstanceIdentity> {
  const { role, version, inFlight, capacity, clockOffsetSeconds } = report;
  const values = [
    identity?.id ?? null,
    identity?.startedAt ?? null,
    role,
    version,
    inFlight,
    capacity,
    clockOffsetSeconds,
  ];
  const row = await db.one<{ id: string; started_at: Date }>(REPORT, values);
  if (row === null) throw new Error('the heartbeat of this process returned no row');
  return { id: row.id, startedAt: row.started_at };
}

const REMOVE: Statement = { name: 'remove-instance', text: 'delete from instance where id = $1' };

/** Processes with a heartbeat in the last half minute. A release before has no column for the clock, and a migration reads this. */
export const RUNNING = `
  select role, version, started_at as "startedAt",
         (to_jsonb(instance) ->> 'clock_offset_seconds')::float8 as "clockOffsetSeconds"
    from instance where last_seen_at > jobferry_now() - interval '30 s' order by id`;

export async function removeInstance(db: Database, id: string): Promise<void> {
  await db.query(REMOVE, [id]);
}
