import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createAccount } from '../support/account.ts';
import { type Api, type ApiQueue, createApi } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { startInProcess } from '../support/in-process.ts';
import { waitFor } from '../support/wait-for.ts';

/** Whether the refused request was stored, as the 503 states it (I-43), and what works meanwhile (F-35). */

let api: Api;
let admin: pg.Client;
let queue: ApiQueue;
let database: string;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  const { key } = await createAccount(url);
  database = new URL(url).pathname.slice(1);
  admin = new pg.Client({ connectionString: url });
  await admin.connect();
  const jobferry = await startInProcess({ databaseUrl: url, role: 'api' });
  api = createApi(jobferry.baseUrl, key);
  queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
});
afterAll(() => admin.end());

const publish = (idempotencyKey?: string) =>
  api.call<{ error: string }>('POST', `/v1/queues/${queue.name}/jobs`, { payload: {}, idempotencyKey });
const stored = async (): Promise<number> =>
  (await admin.query<{ n: number }>('select count(*)::int as n from job')).rows[0]?.n ?? 0;

async function setReadOnly(value: 'on' | 'off'): Promise<void> {
  await admin.query('set default_transaction_read_only = off');
  await admin.query(`alter database ${database} set default_transaction_read_only = ${value}`);
  await admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );
}

describe('a database that is read-only', () => {
  it('answers reads, and refuses writes with the statement that nothing was stored', async () => {
    await setReadOnly('on');
    try {
      const refused = await waitFor(async () => {
        const answer = await publish();
        return answer.status === 503 && answer.body.error.includes('read-only') ? answer : null;
      });
      expect(refused.body.error).toContain('nothing was stored');
      expect(refused.headers.get('retry-after')).toBe('1');
      const before = await stored();
      // Past the time for which a key is remembered.
      const endsAt = performance.now() + 1000;
      do {
        expect((await api.call('GET', '/v1/queues')).status).toBe(200);
        expect((await api.call('GET', `/v1/queues/${queue.id}/jobs`)).status).toBe(200);
      } while (performance.now() < endsAt);
      for (const [method, path, body] of [
        ['POST', '/v1/queues', { name: 'another', webhookUrl: 'http://127.0.0.1:9/' }],
        ['PUT', `/v1/queues/${queue.id}`, { maxAttempts: 2 }],
        ['DELETE', `/v1/queues/${queue.id}`, undefined],
        ['POST', `/v1/queues/${queue.id}/dlq/replay`, { all: true }],
      ] as const) {
        const { status, body: answer } = await api.call<{ error: string }>(method, path, body);
        expect([path, status, answer.error]).toEqual([path, 503, expect.stringContaining('nothing was stored')]);
      }
      expect(await stored()).toBe(before);
    } finally {
      await setReadOnly('off');
    }
    await waitFor(async () => (await publish()).status === 201);
  });
});

describe('a commit that does not end', () => {
  it('may have been stored, and the answer states how to find out', async () => {
    // As a synchronous standby that hangs: the statement is done, and its commit is not.
    onTestFinished(async () => {
      await admin.query('select pg_advisory_unlock_all(); drop function if exists wait_in_commit cascade');
    });
    await admin.query(`
      create function wait_in_commit() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock_shared(1); return null; end $$;
      create constraint trigger wait_in_commit after insert on job deferrable initially deferred
        for each row execute function wait_in_commit();
      select pg_advisory_lock(1)`);
    const first = publish('the-same');
    await waitFor(async () => {
      const waiting = `select from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`;
      return (await admin.query(waiting)).rowCount === 1;
    });
    // Behind it, and never begun.
    const second = publish();
    expect((await second).body.error).toContain('nothing was stored');
    const { status, body, headers } = await first;
    expect([status, body.error]).toEqual([503, expect.stringContaining('may have been stored')]);
    expect(body.error).toContain('idempotencyKey');
    expect(headers.get('retry-after')).toBe('1');
    await admin.query('select pg_advisory_unlock(1)');
    // An idempotency key makes it safe to send the request again in both cases.
    await waitFor(async () => [200, 201].includes((await publish('the-same')).status));
    expect((await api.listJobs(queue.id, '?idempotencyKey=the-same')).total).toBe(1);
  });
});
