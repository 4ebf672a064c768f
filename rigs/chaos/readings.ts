import pg from 'pg';
import { stateOf } from './checker/delivering.ts';
import type {
  ChangeRow,
  DeadLetterRow,
  HistoryRow,
  JobRow,
  LockSnapshot,
  RemovalRecord,
  Snapshot,
  TerminalRead,
} from './records.ts';

/** Moments as milliseconds, as the database keeps them. */
const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;

const JOBS = `select id, queue_id as "queueId", status, attempts, max_attempts as "maxAttempts",
    defer_count as "deferCount", idempotency_key as key, payload, ${ms('created_at')} as "createdAt",
    ${ms('scheduled_for')} as "scheduledFor", ${ms('deliver_by')} as "deliverBy", ${ms('completed_at')} as "completedAt", dead_reason as "deadReason",
    replay_of as "replayOf", history_count as "historyCount"
  from job`;

/** Reads the database from outside, on connections of its own that no fault cuts on purpose. */
export interface Readings {
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Installs a trigger that records every change of a job. Only tests do so. */
  installTrigger(): Promise<void>;
  claimsOf(workerId: number): Promise<string[]>;
  /** @param dueWithinMs leaves out jobs that are due later, or whose lifetime is over by the database's clock */
  unfinished(dueWithinMs?: number): Promise<number>;
  /** How far from the machine's clock the next pending job is due whose lifetime is not over; null without one. */
  nextDueMs(): Promise<number | null>;
  snapshot(): Promise<Snapshot[]>;
  finished(): Promise<TerminalRead[]>;
  jobs(): Promise<JobRow[]>;
  history(): Promise<HistoryRow[]>;
  deadLetters(): Promise<DeadLetterRow[]>;
  changes(): Promise<ChangeRow[]>;
  usage(): Promise<number>;
  removals(): Promise<RemovalRecord[]>;
  /** The lease locks that the server has at this moment. */
  locks(): Promise<LockSnapshot>;
  /** Client ports of the sessions that hold the worker's lease lock, old sessions included. */
  lockHolders(workerId: number): Promise<number[]>;
  /** Client ports of the service's sessions. */
  sessionPorts(): Promise<number[]>;
  /** Ends sessions by their client ports. */
  terminate(ports: readonly number[]): Promise<void>;
  /** Moves the clock of the database by `ms` against the real one. */
  shiftClock(ms: number): Promise<void>;
  /** Opens all connections that the server still accepts; returns a function that closes them. */
  takeConnections(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export function openReadings(url: string): Readings {
  const pool = new pg.Pool({ connectionString: url, max: 3, application_name: 'chaos', query_timeout: 20_000 });
  pool.on('error', () => undefined);
  async function query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await pool.query<Row>(text, values)).rows;
  }
  return {
    query,
    installTrigger: async () => void (await query(TRIGGER)),
    claimsOf: async (workerId) => {
      const claimed = `select id from job where worker_id = $1 and status = 'processing'`;
      return (await query<{ id: string }>(claimed, [workerId])).map(({ id }) => id);
    },
    unfinished: async (dueWithinMs) => {
      const rows = await query<{ n: number }>(
        `select count(*)::int as n from job j join queue q on q.id = j.queue_id
          where j.status in ('processing', 'awaiting_ack') or (j.status = 'pending' and ($1::float8 is null
            or greatest(j.scheduled_for, q.hold_until) < jobferry_now() + $1 * interval '1 ms'
               and j.deliver_by > jobferry_now()))`,
        [dueWithinMs ?? null],
      );
      return rows[0]?.n ?? 0;
    },
    nextDueMs: async () => {
      const rows = await query<{ ms: number | null }>(
        `select ${ms('min(greatest(j.scheduled_for, q.hold_until))')} - ${ms('clock_timestamp()')} as ms
           from job j join queue q on q.id = j.queue_id
          where j.status = 'pending' and j.deliver_by > jobferry_now()`,
      );
      return rows[0]?.ms ?? null;
    },
    snapshot: async () => {
      const rows = await query<{ queueId: string; inFlight: number }>(
        `select queue_id as "queueId", count(*)::int as "inFlight" from job
          where status in ('processing', 'awaiting_ack') group by queue_id`,
      );
      return rows.map((row) => ({ ...row, at: Date.now() }));
    },
    finished: async () => {
      const rows = await query<JobRow>(`${JOBS} where status in ('completed', 'dead') order by id desc limit 40`);
      return rows.map((row) => ({ id: row.id, state: stateOf(row) }));
    },
    jobs: () => query(`${JOBS} order by id`),
    history: () =>
      query(`select job_id as "jobId", ordinal, attempt, status, error, webhook_status_code as code,
          ${ms('"timestamp"')} as at from attempt order by job_id, ordinal`),
    deadLetters: () => query('select id, job_id as "jobId", replayed_job_id as "replayedJobId" from dead_letter'),
    changes: () =>
      query(`select job_id as "jobId", queue_id as "queueId", was as "from", became as "to", attempts,
          defer_count as "deferCount", token::float8 as token, worker_id::float8 as "workerId",
          ${ms('claimed_at')} as "claimedAt", is_take_back as "isTakeBack", ${ms('at')} as at
        from chaos_change order by seq`),
    usage: async () => {
      const rows = await query<{ n: number }>('select coalesce(sum(attempts), 0)::float8 as n from usage');
      return rows[0]?.n ?? 0;
    },
    removals: () => query(`select job_id as "jobId", status, ${ms('at')} as at from chaos_removed order by at`),
    locks: async () => {
      const askedAt = Date.now();
      const [rows, ages] = await Promise.all([
        query<{ id: number }>(LOCKS),
        query<{ workerId: number; ms: number }>(CONFIRMATION_AGES),
      ]);
      return {
        askedAt,
        at: Date.now(),
        workerIds: [...new Set(rows.map(({ id }) => id))],
        confirmed: ages.map(({ workerId, ms }) => ({ workerId, at: askedAt - ms })),
      };
    },
    lockHolders: async (workerId) => {
      const holder = `select a.client_port as port from pg_stat_activity a join (${LOCKS}) l on l.pid = a.pid where l.id = $1`;
      return (await query<{ port: number }>(holder, [workerId])).map(({ port }) => port);
    },
    sessionPorts: async () => {
      const rows = await query<{ port: number }>(
        `select client_port as port from pg_stat_activity where application_name like 'jobferry%' and client_port > 0`,
      );
      return rows.map(({ port }) => port);
    },
    terminate: async (ports) => {
      await query('select pg_terminate_backend(pid) from pg_stat_activity where client_port = any ($1)', [ports]);
    },
    shiftClock: async (shiftMs) => {
      await query(`create or replace function jobferry_now() returns timestamptz language sql volatile parallel safe
        as $$ select date_trunc('milliseconds', clock_timestamp() + interval '${shiftMs} ms') $$`);
    },
    takeConnections: () => takeConnections(url),
    close: () => pool.end(),
  };
}

/** Advisory locks of the class that the workers' lease locks have, by the numbers of the workers. */
const LOCKS = `select objid::integer as id, pid from pg_locks
   where locktype = 'advisory' and classid = ${0x6a66} and granted
     and database = (select oid from pg_database where datname = current_database())`;

const CONFIRMATION_AGES = `select worker_id as "workerId", ${ms('(jobferry_now() - confirmed_at)')} as ms
   from lease_confirmation where confirmed_at > jobferry_now() - interval '10 s'`;

async function takeConnections(url: string): Promise<() => Promise<void>> {
  const taken: pg.Client[] = [];
  for (let isFull = false; !isFull && taken.length < 200; ) {
    const client = new pg.Client({ connectionString: url, application_name: 'chaos', connectionTimeoutMillis: 3000 });
    client.on('error', () => undefined);
    await client.connect().then(
      () => taken.push(client),
      () => (isFull = true),
    );
  }
  return async () => void (await Promise.allSettled(taken.map((client) => client.end())));
}

/** Part of the statement that takes back claims of dead workers, and of no other statement. */
const TAKE_BACK = 'lost as materialized';

/**
 * Numbers are drawn while a claim holds its queue's lock, so their order is one in which no queue has more jobs in
 * flight than it really had.
 */
const TRIGGER = `
  create table chaos_change (
    seq bigserial primary key, at timestamptz not null default clock_timestamp(), job_id text not null,
    queue_id text not null, was text, became text not null, attempts integer not null,
    defer_count integer not null, token bigint not null, claimed_at timestamptz, worker_id bigint,
    is_take_back boolean not null default coalesce(current_query() like '%${TAKE_BACK}%', false));
  create function chaos_note() returns trigger language plpgsql as $$
  begin
    insert into chaos_change (job_id, queue_id, was, became, attempts, defer_count, token, claimed_at, worker_id)
    values (new.id, new.queue_id, case tg_op when 'UPDATE' then old.status end, new.status, new.attempts,
            new.defer_count, new.claim_token, new.claimed_at,
            coalesce(new.worker_id, case tg_op when 'UPDATE' then old.worker_id end));
    return null;
  end $$;
  create table chaos_removed (at timestamptz not null default clock_timestamp(), job_id text not null, status text not null);
  create function chaos_note_removal() returns trigger language plpgsql as $$
  begin
    insert into chaos_removed (job_id, status) values (old.id, old.status);
    return null;
  end $$;
  create trigger chaos_removed after delete on job for each row execute function chaos_note_removal();
  create trigger chaos_inserted after insert on job for each row execute function chaos_note();
  create trigger chaos_updated after update on job for each row
    when (old.status is distinct from new.status or old.claim_token <> new.claim_token
          or old.attempts <> new.attempts)
    execute function chaos_note();`;
