import { type ProcessSettings, RELEASES_KEPT } from '../../domain/release.ts';
import type { IgnoredOfQueue } from '../../telemetry/counts/ignored-names.ts';
import type { Database, Statement } from '../connection/database.ts';
import { storedLink } from './links.ts';

/** The heartbeat of a process. */
export interface InstanceReport {
  role: 'all' | 'api' | 'worker';
  version: string;
  inFlight: number;
  capacity: number;
  /** How far the clock of the database is ahead of that of the process; null if it does not know. */
  clockOffsetSeconds: number | null;
  /** Where the process serves the dashboard, for people; null if it does not. */
  address: string | null;
  ignored: readonly IgnoredOfQueue[];
  settings: ProcessSettings;
  /** How API processes reach the worker of the process (`LinkAddress`); null or undefined if they cannot. */
  link?: object | null;
}

// If the row of a process was removed while the process was frozen, this inserts it again with the same identity.
// `begun` records that another release than the last one began to run: at the first heartbeat of a process if no other
// process of its version runs, and at a later one if no process of another version does (docs/decisions/0054). It is
// the last one also if the clock went back since the last one: otherwise each heartbeat would record it again.
const REPORT: Statement = {
  name: 'report-instance',
  text: `
    with gone as (
      delete from instance
       where id is distinct from $1 and last_seen_at < (select jobferry_now()) - interval '5 minutes'
    ), last as materialized (
      select version, began_at from release_run order by began_at desc, version desc limit 1
    ), begun as (
      insert into release_run (version, began_at)
      select $4, greatest(jobferry_now(), (select began_at + interval '1 ms' from last))
       where $4 is distinct from (select version from last)
         and not exists (select from instance other
                          where other.id is distinct from $1 and (other.version = $4) = ($1 is null)
                            and other.last_seen_at > (select jobferry_now()) - interval '30 s')
      on conflict do nothing
      returning began_at
    ), surplus as (
      delete from release_run
       where exists (select from begun)
         and began_at <= (select began_at from release_run order by began_at desc offset ${RELEASES_KEPT - 1} limit 1)
    )
    insert into instance as i (id, role, version, started_at, in_flight, capacity, clock_offset_seconds, address, ignored, settings, link)
    values (coalesce($1, jobferry_id()), $3, $4, coalesce($2::timestamptz, jobferry_now()), $5, $6, $7, $8, $9, $10, $11)
    on conflict (id) do update set last_seen_at = jobferry_now(), in_flight = excluded.in_flight,
                                   capacity = excluded.capacity,
                                   clock_offset_seconds = excluded.clock_offset_seconds,
                                   address = excluded.address, ignored = excluded.ignored,
                                   settings = excluded.settings, link = excluded.link
    returning i.id, i.started_at`,
};

export interface InstanceIdentity {
  id: string;
  startedAt: Date;
}

/**
 * Writes the heartbeat of this process, records its release if another one ran before, and removes the rows of
 * processes without a heartbeat for 5 minutes.
 * @param identity the result of the first report; null for the first report
 */
export async function reportInstance(
  db: Database,
  identity: InstanceIdentity | null,
  report: InstanceReport,
): Promise<InstanceIdentity> {
  const { role, version, inFlight, capacity, clockOffsetSeconds, address, ignored, settings, link = null } = report;
  const values = [
    identity?.id ?? null,
    identity?.startedAt ?? null,
    role,
    version,
    inFlight,
    capacity,
    clockOffsetSeconds,
    address,
    ignored.length === 0 ? null : JSON.stringify(ignored),
    JSON.stringify(settings),
    storedLink(db, link),
  ];
  const row = await db.one<{ id: string; started_at: Date }>(REPORT, values);
  if (row === null) throw new Error('the heartbeat of this process returned no row');
  return { id: row.id, startedAt: row.started_at };
}

const REMOVE: Statement = { name: 'remove-instance', text: 'delete from instance where id = $1' };

/**
 * Processes with a heartbeat in the last half minute. A migration reads this, too, before it has added any column,
 * so columns may be missing.
 */
export const RUNNING = `
  select role, version, started_at as "startedAt",
         (to_jsonb(i) ->> 'clock_offset_seconds')::float8 as "clockOffsetSeconds",
         nullif(to_jsonb(i) -> 'settings', 'null') as settings
    from instance i where last_seen_at > jobferry_now() - interval '30 s' order by id`;

/** Publishes to a queue with names that the API ignores. */
export interface IgnoredNames {
  /** The names of the last one, each with the known one that was probably meant. */
  names: string;
  count: number;
  since: Date;
  lastAt: Date;
}

const IGNORED: Statement = {
  name: 'ignored-names',
  text: `
    select one.queue, (array_agg(one.names order by one."lastMs"))[1] as names, sum(one.count)::integer as count,
           min(i.last_seen_at - one."firstMs" * interval '1 ms') as since,
           max(i.last_seen_at - one."lastMs" * interval '1 ms') as "lastAt"
      from instance i
      cross join lateral jsonb_to_recordset(i.ignored)
        as one("accountId" text, queue text, names text, count bigint, "firstMs" float8, "lastMs" float8)
     where one."accountId" = $1 and one.queue = any ($2::text[])
     group by one.queue`,
};

/** @returns publishes of the last hour to queues that get several of them, by the name of the queue */
export async function ignoredNames(
  db: Pick<Database, 'query'>,
  accountId: string,
  queues: readonly string[],
): Promise<Map<string, IgnoredNames>> {
  const rows = await db.query<IgnoredNames & { queue: string }>(IGNORED, [accountId, queues]);
  return new Map(rows.map(({ queue, ...ignored }) => [queue, ignored]));
}

const ADDRESS: Statement = {
  name: 'served-address',
  text: `
    select address from instance
     where address is not null and last_seen_at > jobferry_now() - interval '30 s' order by last_seen_at desc limit 1`,
};

/** @returns where a running process serves the dashboard; null if none does */
export async function servedAddress(db: Database): Promise<string | null> {
  return (await db.one<{ address: string }>(ADDRESS, []))?.address ?? null;
}

export async function removeInstance(db: Database, id: string): Promise<void> {
  await db.query(REMOVE, [id]);
}
