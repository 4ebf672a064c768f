import pg from 'pg';
import { afterAll } from 'vitest';
import { Database } from '../../src/db/connection/database.ts';
import { FairTurns } from '../../src/db/connection/fair-turns.ts';
import type { Claim, ClaimedJob } from '../../src/db/delivery/claim.ts';
import { publish } from '../../src/db/delivery/publish.ts';
import type { PublishAnswer, PublishItem } from '../../src/db/delivery/publish-items.ts';
import { type Settlement, settle } from '../../src/db/delivery/settle.ts';
import { type JobEvent, transition } from '../../src/domain/transition.ts';
import { claimOf } from './claim.ts';
import { createTestDatabase } from './database.ts';

export const LIFETIME_MS = 86_400_000;
export const RETENTION_MS = 3 * LIFETIME_MS;
export const PERIODS = { retentionMs: RETENTION_MS, lifetimeMs: LIFETIME_MS };
export const LEASE_MS = 20_000;
/** Ends only what hangs. */
export const PATIENCE_MS = 60_000;

/** Columns of `queue` that a test may choose. */
export type QueueColumns = Partial<{
  max_attempts: number;
  max_defers: number;
  concurrency: number;
  dlq_enabled: boolean;
  mode: 'standard' | 'ack';
  rate_limit_max: number | null;
  rate_limit_window: number;
  ack_timeout: number;
  ack_timeout_action: 'retry' | 'dead';
  backoff_type: 'fixed' | 'exponential';
  backoff_delay: number;
}>;

const DEFAULTS = {
  webhook_url: 'http://127.0.0.1:9/',
  signing_secret: 'secret',
  max_attempts: 3,
  max_defers: 50,
  concurrency: 500,
  dlq_enabled: true,
  mode: 'standard',
  rate_limit_max: null,
  rate_limit_window: 60,
  ack_timeout: 300,
  ack_timeout_action: 'retry',
  backoff_type: 'fixed',
  backoff_delay: 0,
};

export interface TestQueue {
  id: string;
  name: string;
}

/**
 * Lengthens the time limits of connections to come, of changes and of turns: on a busy machine each step takes seconds.
 */
export function patient(db: Database): Database {
  const limits = { connectionTimeoutMillis: PATIENCE_MS, query_timeout: PATIENCE_MS };
  Object.assign(db.readingPool.options, limits);
  Object.assign(db.pool.options, limits, { statement_timeout: PATIENCE_MS });
  const ofMore = ({ bounds }: FairTurns) => new FairTurns({ ...bounds, maxWaitMs: PATIENCE_MS });
  return Object.assign(db, { changingTurns: ofMore(db.changingTurns), readingTurns: ofMore(db.readingTurns) });
}

export type Fixture = Awaited<ReturnType<typeof openFixture>>;

/**
 * The SQL functions on a database of their own, without any process around them.
 * @param given address of another one; it is a test's own
 */
export async function openFixture(given?: string) {
  const url = given ?? (await createTestDatabase()).url;
  const db = patient(new Database(url, { warn: () => undefined }));
  afterAll(() => db.close());
  const account = await db.one<{ id: string }>(`insert into account (name, plan) values ('test', 'pro') returning id`);
  const accountId = account?.id ?? '';
  let queues = 0;

  async function createQueue(columns: QueueColumns = {}): Promise<TestQueue> {
    queues += 1;
    const row = { account_id: accountId, name: `queue-${queues}`, ...DEFAULTS, ...columns };
    const names = Object.keys(row);
    const text = `insert into queue (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')}) returning id`;
    const created = await db.one<{ id: string }>(text, Object.values(row));
    return { id: created?.id ?? '', name: row.name };
  }

  function publishAll(queue: TestQueue, items: Partial<PublishItem>[]): Promise<PublishAnswer[]> {
    const complete = items.map((item) => ({
      accountId,
      queue: queue.name,
      payload: '{}',
      key: null,
      delayMs: 0,
      limit: null,
      ...item,
    }));
    return publish(db, complete, { retentionMs: RETENTION_MS, lifetimeMs: LIFETIME_MS });
  }

  return {
    url,
    db,
    accountId,
    createQueue,
    publishAll,

    /** Publishes so many jobs and returns their ids, oldest first. */
    async publishJobs(queue: TestQueue, count: number, item: Partial<PublishItem> = {}): Promise<string[]> {
      const answers = await publishAll(
        queue,
        Array.from({ length: count }, () => item),
      );
      return answers.map((answer) => ('id' in answer ? answer.id : ''));
    },

    claim(queue: TestQueue, capacity = 1000, workerId = 1): Promise<Claim> {
      return claimOf(db, queue.id, capacity, workerId);
    },

    /** Fills tables, for which a busy machine may take longer than a statement of the service. */
    async seed(text: string, values: unknown[] = []): Promise<void> {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query(text, values).finally(() => client.end());
    },

    /** Pending jobs that were published so many hours ago, a millisecond apart. */
    async insertJobs(queue: TestQueue, count: number, agoHours: number): Promise<void> {
      // No job of the service is due before the bookmark of its queue, which one of 256 claimed jobs moves.
      await db.query('delete from queue_bookmark where queue_id = $1', [queue.id]);
      await db.query(
        `insert into job (id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, payload, scheduled_for,
                          deliver_by, created_at)
         select jobferry_id(at), $1, $2, 3, 'fixed', 0, '{}', at, at + interval '1 day', at
           from (select jobferry_now() - $4::float8 * interval '1 hour' + n * interval '1 ms' as at
                   from generate_series(1, $3::integer) n) s`,
        [accountId, queue.id, count, agoHours],
      );
    },

    /** Number of rows of `job` that a function read. Each connection counts for itself, so there must be one only. */
    async rowsRead(work: () => Promise<unknown>): Promise<number> {
      const read = async () => {
        await db.query('select pg_stat_force_next_flush()');
        const text = `select idx_tup_fetch + seq_tup_read as rows from pg_stat_user_tables where relname = 'job'`;
        return Number((await db.one<{ rows: string }>(text))?.rows);
      };
      const before = await read();
      await work();
      return (await read()) - before;
    },

    /** Makes every connection report its reads to the server, which it otherwise does at times of its own. */
    async flushCounters(): Promise<void> {
      const clients = await Promise.all(Array.from({ length: db.pool.totalCount }, () => db.pool.connect()));
      for (const client of clients) await client.query('select pg_stat_force_next_flush()');
      await Promise.all(clients.map((client) => client.query('select 1')));
      for (const client of clients) client.release();
    },

    /** Opens every connection of the pool, so that what races does so from the first moment. */
    async openConnections(): Promise<void> {
      await Promise.all(Array.from({ length: 16 }, () => db.query('select pg_sleep(0.1)')));
    },

    /** Settles a claim by an event; false when another result was first. */
    async settle(job: ClaimedJob, event: JobEvent, now = Date.now()): Promise<boolean> {
      return (await settle(db, [settlementOf(job, event, now)])).has(job.id);
    },
  };
}

export const DELIVERED: JobEvent = { type: 'answered', outcome: { kind: 'accepted', statusCode: 200 } };
export const FAILED: JobEvent = { type: 'answered', outcome: { kind: 'failed', statusCode: 500, error: 'HTTP 500' } };
export const INTERRUPTED: JobEvent = { type: 'interrupted' };
export function backpressure(retryAfterMs: number): JobEvent {
  return { type: 'answered', outcome: { kind: 'backpressure', statusCode: 429, retryAfterMs } };
}

/** The settlement of an event for a job as it was read: a claim, or a row of `db/delivery/stored-job`. */
export function settlementOf(
  job: Pick<ClaimedJob, 'id' | 'token' | 'state' | 'rules'>,
  event: JobEvent,
  now: number,
): Settlement {
  const { id, token, state } = job;
  const decided = transition(state, job.rules, event, { now, random: 0 });
  if (decided === null) throw new Error(`${event.type} cannot happen to a job that is ${state.status}`);
  return { id, expected: state.status, token, transition: decided, answer: null };
}

/**
 * Stops the database's clock, and returns a function that sets it. In a table and not
 * in the function's text: replacing a function makes every session plan its statements again.
 */
export async function takeOverClock(db: Database, startAt: number): Promise<(ms: number) => Promise<void>> {
  await db.query('create table test_clock (now timestamptz not null)');
  await db.query('insert into test_clock values (to_timestamp($1::float8 / 1000))', [startAt]);
  await db.query(
    'create or replace function jobferry_now() returns timestamptz language sql volatile as $$ select now from test_clock $$',
  );
  return async (ms) => {
    await db.query('update test_clock set now = to_timestamp($1::float8 / 1000)', [ms]);
  };
}

/**
 * Every second claim moves the bookmark of its queue, which one of some 256 does otherwise, and to any token that is
 * right, not to the cheapest: nothing may depend on where it is. The same in each run.
 */
export async function moveBookmarks(db: Database): Promise<void> {
  await db.query('create sequence test_moves');
  await moveBookmarksIf(db, `nextval('test_moves') % 2 = 0`);
  await chooseBookmarks(db, 'hashtext(t::text)');
}

/**
 * Moves the bookmark of a queue with those of its claims for which the condition holds.
 * @param condition in SQL; `p_jobs` are claimed
 */
export async function moveBookmarksIf(db: Database, condition: string): Promise<void> {
  await db.query(
    `create or replace function jobferry_moves_bookmark(p_jobs integer) returns boolean language sql volatile as
      $$ select ${condition} $$`,
  );
}

/**
 * Moves bookmarks to the first token `t` by the order, and not to the cheapest.
 * @returns a function that takes it back
 */
export function chooseBookmarks(db: Database, order: string): Promise<() => Promise<void>> {
  const cheapest = 'order by 4 * n + v_share * (v_last - t), t';
  return changeFunction(db, 'jobferry_set_bookmark', cheapest, `order by ${order}`);
}

/** Changes a part of the text of an SQL function. @returns a function that takes it back */
export async function changeFunction(
  db: Database,
  name: string,
  from: string,
  to: string,
): Promise<() => Promise<void>> {
  const row = await db.one<{ text: string }>('select pg_get_functiondef($1::regproc) as text', [name]);
  const text = row?.text ?? '';
  if (!text.includes(from)) throw new Error(`${name} has no "${from}"`);
  await db.query(text.replace(from, () => to));
  return async () => void (await db.query(text));
}
