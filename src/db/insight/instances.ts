import type { Database, Statement } from '../connection/database.ts';

/** What a process says of itself. */
export interface InstanceReport {
  role: 'all' | 'api' | 'worker';
  version: string;
  inFlight: number;
  capacity: number;
}

// A process that was frozen for long finds its row gone, and writes it again as it was.
const REPORT: Statement = {
  name: 'report-instance',
  text: `
    with gone as (
      delete from instance
       where id is distinct from $1 and last_seen_at < (select jobferry_now()) - interval '5 minutes'
    )
    insert into instance as i (id, role, version, started_at, in_flight, capacity)
    values (coalesce($1, jobferry_id()), $3, $4, coalesce($2::timestamptz, jobferry_now()), $5, $6)
    on conflict (id) do update set last_seen_at = jobferry_now(), in_flight = excluded.in_flight,
                                   capacity = excluded.capacity
    returning i.id, i.started_at`,
};

export interface InstanceIdentity {
  id: string;
  startedAt: Date;
}

/**
 * Writes that this process is alive, and removes the rows of processes that have been silent for long.
 * @param identity what the first report answered; null for the first
 */
export async function reportInstance(
  db: Database,
  identity: InstanceIdentity | null,
  report: InstanceReport,
): Promise<InstanceIdentity> {
  const { role, version, inFlight, capacity } = report;
  const values = [identity?.id ?? null, identity?.startedAt ?? null, role, version, inFlight, capacity];
  const row = await db.one<{ id: string; started_at: Date }>(REPORT, values);
  if (row === null) throw new Error('the report of this process answered no row');
  return { id: row.id, startedAt: row.started_at };
}

const REMOVE: Statement = { name: 'remove-instance', text: 'delete from instance where id = $1' };

export async function removeInstance(db: Database, id: string): Promise<void> {
  await db.query(REMOVE, [id]);
}
