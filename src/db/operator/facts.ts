import type {
  IndexFacts,
  LagFacts,
  SequenceFacts,
  SettingFacts,
  TableFacts,
  VacuumFacts,
} from '../../domain/doctor.ts';
import type { SeenProcess } from '../../domain/release.ts';
import type { ReplicationFacts } from '../../domain/replication.ts';
import { type Database, sqlStateOf } from '../connection/database.ts';
import { DISK_FULL } from '../connection/full-disk.ts';
import { SERVER_SETTINGS } from '../connection/preflight.ts';
import { replicationFacts } from '../connection/replication.ts';
import { RUNNING } from '../insight/instances.ts';
import { serviceLags } from '../insight/lags.ts';
import { operatorsAccountId } from '../operator-account.ts';
import { ownIndexes } from '../schema/migrations.ts';

/**
 * The reads of `doctor`. Each function is one or two statements that read catalogues, statistics, or a few rows by an
 * index, so they take no longer on a large database.
 */

export async function settingFacts(db: Database): Promise<SettingFacts> {
  const row = await db.one<SettingFacts & Record<string, unknown>>(`
    select ${SERVER_SETTINGS}, current_setting('autovacuum') as autovacuum,
           current_setting('transaction_read_only') = 'on' as read_only,
           (select coalesce(json_object_agg(name, setting::integer), '{}') from pg_settings
             where name in ('idle_session_timeout', 'lock_timeout') and setting::integer > 0) as timeouts`);
  return only(row);
}

export function standbyFacts(db: Database): Promise<ReplicationFacts> {
  return replicationFacts((text) => db.query<ReplicationFacts & Record<string, unknown>>(text));
}

export async function indexFacts(db: Database): Promise<IndexFacts> {
  const present = await db.query<{ name: string; valid: boolean }>(`
    select c.relname as name, i.indisvalid and i.indisready as valid
      from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = current_schema()::regnamespace`);
  const names = new Set(present.map(({ name }) => name));
  return {
    missing: ownIndexes().filter((name) => !names.has(name)),
    invalid: present.filter(({ valid }) => !valid).map(({ name }) => name),
  };
}

export async function vacuumFacts(db: Database): Promise<VacuumFacts> {
  const tables = await db.query<TableFacts & Record<string, unknown>>(`
    select s.relname as table, s.n_live_tup as live, s.n_dead_tup as dead, pg_total_relation_size(s.relid) as bytes,
           exists (select from unnest(c.reloptions) o where o ~* '^autovacuum_enabled=(off|false|no|0)$') as unattended
      from pg_stat_user_tables s join pg_class c on c.oid = s.relid order by pg_total_relation_size(s.relid) desc`);
  const slots = await db.query<{ name: string }>(
    'select slot_name::text as name from pg_replication_slots where not active order by 1 limit 10',
  );
  const age = await db.one<{ age: number }>(
    'select age(datfrozenxid)::integer as age from pg_database where datname = current_database()',
  );
  return { tables, idleSlots: slots.map(({ name }) => name), xidAge: only(age).age };
}

export async function sequenceFacts(db: Database): Promise<SequenceFacts> {
  const row = await db.one<SequenceFacts & Record<string, unknown>>(`
    select (select last_value from pg_sequences
             where schemaname = current_schema() and sequencename = 'jobferry_claim_token_seq') as last,
           greatest((select max(claim_token) from job where status in ('processing', 'awaiting_ack')),
                    (select max(number) from queue_bookmark)) as used`);
  return only(row);
}

/** Queues whose oldest due job is read. */
const QUEUES = 2000;

export async function lagFacts(db: Database, retentionMs: number): Promise<LagFacts> {
  const account = await operatorsAccountId(db);
  const lags = account === null ? null : await serviceLags(db, account, retentionMs);
  const sweep = await db.one<{ seconds: number }>(
    `select extract(epoch from clock_timestamp() - updated_at)::float8 as seconds from follower where name = 'sweep'`,
  );
  const oldestDue = await db.one<NonNullable<LagFacts['oldestDue']>>(`
    with clock as materialized (select jobferry_now() as now)
    select q.id as "queueId", q.name, extract(epoch from clock.now - due.oldest)::float8 as seconds
      from clock cross join (select * from queue where deleted_at is null and paused_at is null and hold_until is null
                              order by id limit ${QUEUES}) q
      cross join lateral (
        select min(j.scheduled_for) as oldest from job j
         where j.queue_id = q.id and j.status = 'pending' and j.scheduled_for <= clock.now) due
     where due.oldest is not null order by due.oldest limit 1`);
  return {
    searchSeconds: lags?.searchSeconds ?? null,
    statisticsSeconds: lags?.statisticsSeconds ?? 0,
    wakeUpSeconds: lags?.wakeUpSeconds ?? null,
    sweepSeconds: sweep?.seconds ?? null,
    oldestDue,
  };
}

export async function databaseBytes(db: Database): Promise<number> {
  return only(await db.one<{ bytes: number }>('select pg_database_size(current_database()) as bytes')).bytes;
}

/** Rows of a temporary file of about 5 MiB: with less room, a server with any load is full. */
const PROBE = `begin; set local work_mem = '64kB'; select count(*) from generate_series(1, 250000); rollback`;

/** Whether the server's disk is full. A temporary file changes nothing, and a standby has them, too. */
export async function isDiskFull(db: Database): Promise<boolean> {
  const client = await db.sessionPool.connect();
  try {
    await client.query(PROBE);
    client.release();
    return false;
  } catch (error) {
    // In a transaction that has failed.
    client.release(true);
    if (sqlStateOf(error) === DISK_FULL) return true;
    throw error;
  }
}

/** @returns the processes that sent a heartbeat in the last half minute */
export function processFacts(db: Database): Promise<SeenProcess[]> {
  return db.query<SeenProcess & Record<string, unknown>>(RUNNING);
}

function only<Row>(row: Row | null): Row {
  if (row === null) throw new Error('the statement returned no row');
  return row;
}
