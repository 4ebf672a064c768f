import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { Database } from '../../src/db/connection/database.ts';
import { connect, createTestDatabase } from '../support/database.ts';
import { relayDatabase, type TcpRelay } from '../support/tcp-relay.ts';
import { waitFor } from '../support/wait-for.ts';

/** Connections of the pool that are dead without a word (F-31 to F-33). */

let url: string;
let relay: TcpRelay;
let db: Database;
let max: number;

beforeAll(async () => {
  ({ url } = await createTestDatabase());
  const relayed = await relayDatabase(url);
  relay = relayed.relay;
  db = new Database(relayed.url, { warn: () => undefined });
  ({ max } = db.pool.options);
});

afterAll(() => db.close());

/** As graphile-worker does it, which gives a connection back without saying that its statement failed. */
async function withClient(): Promise<void> {
  const client = await db.pool.connect();
  try {
    await client.query('select 1');
  } finally {
    client.release();
  }
}

it('fail the statements on them in time, once, and are never used again', async () => {
  await Promise.all([db.query('select pg_sleep(0.1)'), db.query('select pg_sleep(0.1)'), withClient(), withClient()]);
  await waitFor(() => db.pool.idleCount === 4, { message: 'four idle connections' });
  expect(relay.break(/^jobferry$/, 'both')).toBe(4);
  // Each by the limit of the connection itself. Nothing else would end them before the TCP keep-alive does.
  const failing = [db.query('select 1'), withClient(), withClient(), db.query('select 1')];
  const ended = await Promise.allSettled(failing);
  const reasons = ended.map((one) => (one.status === 'rejected' ? (one.reason as Error) : null));
  expect(reasons.map((reason) => ((reason?.cause as Error | undefined) ?? reason)?.message)).toEqual(
    Array(4).fill('Query read timeout'),
  );
  // A statement that waited behind one that is never answered would reach the same limit.
  await Promise.all([...Array.from({ length: 8 }, () => db.query('select 1')), withClient(), withClient()]);
});

it('count until the server has ended their sessions, if the pool closes them because they were idle', async () => {
  const { options } = db.pool;
  const { idleTimeoutMillis } = options;
  onTestFinished(async () => {
    options.idleTimeoutMillis = idleTimeoutMillis;
    await Promise.allSettled([inAll()]); // none is left that is dead
  });
  const observer = await connect(url);
  const sessions = async () => {
    const { rows } = await observer.query<{ count: number }>(
      `select count(*)::integer from pg_stat_activity where datname = current_database() and application_name = 'jobferry'`,
    );
    return rows[0]?.count ?? Number.NaN;
  };
  const inAll = () => Promise.all(Array.from({ length: max }, () => db.query('select pg_sleep(0.5)')));
  options.idleTimeoutMillis = 500;
  await waitFor(() => options.max === max, { message: 'the end of those before' });
  // Held, so that none is idle before the last one is there.
  const held = await Promise.all(Array.from({ length: max }, () => db.pool.connect()));
  expect(relay.break(/^jobferry$/, 'both')).toBe(max);
  for (const client of held) client.release();
  await waitFor(() => db.pool.totalCount < max / 2, { message: 'idle connections that are closed' });
  let areDone = false;
  void Promise.allSettled([inAll()]).then(() => (areDone = true));
  let most = 0;
  await waitFor(
    async () => {
      most = Math.max(most, await sessions());
      return areDone && options.max === max;
    },
    { everyMs: 50, message: 'the end of all of them' },
  );
  // And the one that ends others.
  expect(most).toBeLessThanOrEqual(max + 1);
});

it('have 4.5 s for a statement, and TCP keep-alive within 10 s on both sides', async () => {
  expect(db.pool.options).toMatchObject({ query_timeout: 4500 });
  expect(db.pool.options).toMatchObject({ keepAlive: true, keepAliveInitialDelayMillis: 10_000 });
  const names = ['tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count', 'jit'];
  const settings = await Promise.all(names.map((name) => db.query(`show ${name}`)));
  expect(settings.flat()).toEqual([
    { tcp_keepalives_idle: '10' },
    { tcp_keepalives_interval: '5' },
    { tcp_keepalives_count: '2' },
    { jit: 'off' },
  ]);
});
