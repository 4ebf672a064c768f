import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { type Api, createApi } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { type Jobferry, startJobferry } from '../support/process.ts';
import { createGate, openReceiver } from '../support/service.ts';
import { type Break, relayDatabase, type TcpRelay } from '../support/tcp-relay.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * Connections of which only one side is gone, or that pass nothing on (F-31 to F-33): two real workers
 * behind a relay, whose lease locks are lost without an error.
 */

const LEASE_LOCK = /^jobferry lease lock$/;
const ALL = /^jobferry/;

let relay: TcpRelay;
let workers: Jobferry[];
let api: Api;
let observer: pg.Pool;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  observer = new pg.Pool({ connectionString: url, max: 2, application_name: 'observer' });
  observer.on('error', () => undefined);
  const { key } = await createAccount(url);
  const relayed = await relayDatabase(url);
  relay = relayed.relay;
  // Longer than a busy machine takes to renew the locks. A claim whose answer was lost comes back 5 s later.
  const env = { WEBHOOK_TIMEOUT_SECONDS: '40' };
  workers = await Promise.all([1, 2].map(() => startJobferry({ databaseUrl: relayed.url, role: 'all', env })));
  api = createApi(workers[0]?.baseUrl ?? '', key);
});

afterAll(() => observer.end());

const saying = (text: string) => workers.flatMap(({ logs }) => logs.filter(({ msg }) => msg.startsWith(text)));
const sessions = async () => {
  const { rows } = await observer.query<{ pid: number; worker_id: number }>(
    `select a.pid, l.objid::integer as worker_id from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.classid = 27238 and a.datname = current_database()`,
  );
  return rows;
};

/**
 * How often each process has logged this. On a very busy machine, a lock can be lost once more than a test breaks it.
 */
const logged = (text: string) => workers.map(({ logs }) => logs.filter(({ msg }) => msg.startsWith(text)).length);
const LOST = 'lease lock lost';
const HELD_AGAIN = 'lease lock held again';

/** Waits until both processes have logged this since then. */
const loggedSince = (before: number[], text: string) =>
  waitFor(() => logged(text).every((count, n) => count > (before[n] ?? 0)), { message: `${text}, twice` });

/** Whether both processes have such a connection that passes everything on. */
const hasBoth = (name: RegExp) =>
  relay.connections().filter((one) => one.broken === null && name.test(one.applicationName ?? '')).length === 2;

afterEach(async () => {
  for (const { baseUrl } of workers) {
    await waitFor(async () => (await fetch(`${baseUrl}/readyz`)).ok, { message: 'readiness' });
  }
});

describe.each<[Break, string]>([
  ['server', "only the server's side is gone"],
  ['client', "only the client's side is gone"],
  ['both', 'everything is swallowed for ever'],
])('lease locks of which %s', (what) => {
  it('are renewed, and nothing that they stand for is delivered twice or waits', async () => {
    const gate = createGate();
    const receiver = await openReceiver(async () => {
      await gate.opened;
      return {};
    });
    const queue = await api.createQueue({ webhookUrl: receiver.url, maxAttempts: 3, concurrency: 100 });
    const jobs = await Promise.all(Array.from({ length: 20 }, () => api.publish(queue.name)));
    await receiver.waitFor(20);
    const before = await sessions();

    const [lost, heldAgain] = [logged(LOST), logged(HELD_AGAIN)];
    await waitFor(() => hasBoth(LEASE_LOCK), { message: 'both lease locks' });
    expect(relay.break(LEASE_LOCK, what)).toBe(2);
    await loggedSince(heldAgain, HELD_AGAIN);
    // Old sessions that the server kept are ended: a later death of the process must be seen.
    await waitFor(
      async () => {
        const after = await sessions();
        const isNew = after.every(({ pid }) => before.every((old) => old.pid !== pid));
        return isNew && new Set(after.map(({ worker_id }) => worker_id)).size === 2;
      },
      { message: 'new sessions only' },
    );
    const extra = await api.publish(queue.name);
    await receiver.waitFor(21);
    gate.open();
    for (const { id } of [...jobs, extra]) {
      const done = await api.waitForStatus(id, 'completed');
      expect(done).toMatchObject({ attempts: 1, history: [{ attempt: 1, status: 'success' }] });
    }
    expect(receiver.requests).toHaveLength(21);
    expect(saying('took back')).toEqual([]);
    await loggedSince(lost, LOST);
    expect(saying(LOST).every(({ level, reason }) => level === 'warn' && reason !== undefined)).toBe(true);
  });
});

describe('all connections of two processes', () => {
  it('break silently, and everything goes on within seconds', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    for (const what of ['client', 'both'] as const) {
      const heldAgain = logged(HELD_AGAIN);
      expect(relay.break(ALL, what)).toBeGreaterThan(2);
      const id = await waitFor(
        async () => {
          const answer = await api.call<{ id: string }>('POST', `/v1/queues/${queue.name}/jobs`, { payload: {} });
          return answer.status === 201 ? answer.body.id : null;
        },
        { message: 'a publish that is accepted' },
      );
      await api.waitForStatus(id, 'completed', 120_000);
      await loggedSince(heldAgain, HELD_AGAIN);
    }
  });
});
