import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../../src/db/connection/database.ts';
import { Replica } from '../../src/db/connection/replica.ts';
import { freePort } from '../../src/db/embedded/free-port.ts';
import { type Api, createApi } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { patient } from '../support/database-fixture.ts';
import { createGraphQLClient, type GraphQL } from '../support/graphql.ts';
import { hasNoPgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { type Jobferry, startJobferry } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { relayDatabase } from '../support/tcp-relay.ts';
import { waitFor } from '../support/wait-for.ts';

/** Behind PgBouncer in transaction mode, whose four sessions are shared by the connections of two processes. */

const KEY = 'key-of-the-bootstrap-account';
const SETTINGS = 'set statement_timeout = 4000; set idle_in_transaction_session_timeout = 10000; set jit = off';
const IGNORED = 'statement_timeout,idle_in_transaction_session_timeout,options';

/** @returns the last words of a process that does not start */
async function refusalOf(env: Record<string, string>): Promise<string> {
  return startJobferry({ env: { BOOTSTRAP_API_KEY: KEY, ...env } }).then(
    () => 'it started',
    (error: Error) => error.message,
  );
}

describe.skipIf(hasNoPgBouncer)('two processes behind a pooler in transaction mode', () => {
  let processes: Jobferry[];
  let apis: Api[];
  let graphql: GraphQL;
  let databaseUrl: string;
  let directUrl: string;

  beforeAll(async () => {
    directUrl = (await createTestDatabase()).url;
    databaseUrl = await startPgBouncer(directUrl, { mode: 'transaction', connectQuery: SETTINGS });
    const env = { BOOTSTRAP_API_KEY: KEY, DIRECT_DATABASE_URL: directUrl };
    processes = await Promise.all([startJobferry({ databaseUrl, env }), startJobferry({ databaseUrl, env })]);
    apis = processes.map(({ baseUrl }) => createApi(baseUrl, KEY));
    graphql = createGraphQLClient(processes[0]?.baseUrl ?? '', KEY);
  });

  it('publish, deliver, retry and report, each job once', async () => {
    const failed = new Set<string>();
    const receiver = await openReceiver((request) => {
      const { id } = request.json();
      if (failed.has(id)) return { status: 200 };
      failed.add(id);
      return { status: 500 };
    });
    const [api, other] = apis as [Api, Api];
    const queue = await api.createQueue({ webhookUrl: receiver.url, backoffDelay: 0, mode: 'ack', concurrency: 60 });
    const published = await Promise.all(
      Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? api : other).publish(queue.name, { payload: { n } })),
    );
    await receiver.waitFor(2 * published.length);
    const acked = await Promise.all(
      published.map(({ id }, n) => (n % 2 === 0 ? other : api).call('POST', `/v1/jobs/${id}/ack`, {})),
    );
    expect(acked.map(({ status }) => status)).toEqual(published.map(() => 200));
    expect(receiver.requests).toHaveLength(2 * published.length);
  });

  it('answer lists, searches and changes, whose time limits are their own', async () => {
    const [api] = apis as [Api, Api];
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    await api.publish(queue.name, { payload: { colour: 'blue' }, delay: 3600 });
    const filter = `{ queueIds: ["${queue.id}"], payload: { path: "colour", value: "blue" } }`;
    const found = await Promise.all(
      Array.from({ length: 20 }, () =>
        graphql.query(`{ queues { nodes { name } } jobs(filter: ${filter}) { nodes { id } } }`),
      ),
    );
    for (const { jobs } of found) expect(jobs.nodes).toHaveLength(1);
    const paused = await graphql.query(`mutation { pauseQueue(id: "${queue.id}") { __typename } }`);
    expect(paused).toEqual({ pauseQueue: { __typename: 'QueuePayload' } });
  });

  it('leave no time limit of one statement to the next ones', async () => {
    const db = patient(new Database(databaseUrl, { warn: () => undefined }, undefined, directUrl));
    const slow = db.reading('a', { maxMs: 100 });
    for (let n = 0; n < 4; n += 1) {
      await expect(slow.query('select pg_sleep(10)')).rejects.toThrow('the database took too long to answer');
      await expect(slow.query('select 1 / 0')).rejects.toThrow('division by zero');
    }
    expect(await slow.query({ name: 'shown', text: 'show statement_timeout' })).toEqual([
      { statement_timeout: '100ms' },
    ]);
    const limits = await Promise.all(
      Array.from({ length: 12 }, () => db.one(`select pg_sleep(0.02), current_setting('statement_timeout') as limit`)),
    );
    expect(new Set(limits.map((row) => row?.limit))).toEqual(new Set(['4s']));
    await db.close();
  });

  it('have no errors in their logs, and are ready', async () => {
    for (const { baseUrl, logs } of processes) {
      await waitFor(async () => (await fetch(`${baseUrl}/readyz`)).ok, { message: 'readiness' });
      const bad = logs.filter(({ level, msg }) => level === 'error' || /lost|failed|cannot|restart/.test(msg));
      expect(bad).toEqual([]);
    }
  });
});

describe.skipIf(hasNoPgBouncer)('a start through a pooler is refused', () => {
  it.each([
    ['that refuses settings', 'transaction', undefined],
    ['that drops settings', 'transaction', IGNORED],
    ['in session mode, which loses the settings', 'session', IGNORED],
  ] as const)('a start through a pooler %s is refused, without DIRECT_DATABASE_URL', async (_what, mode, ignored) => {
    const { url } = await createTestDatabase();
    const DATABASE_URL = await startPgBouncer(url, { mode, ...(ignored === undefined ? {} : { ignored }) });
    expect(await refusalOf({ DATABASE_URL })).toContain('jobferry: DATABASE_URL leads to a pooler, but lease locks');
  });

  it('a start through a pooler whose sessions lack settings is refused', async () => {
    const { url } = await createTestDatabase();
    const DATABASE_URL = await startPgBouncer(url, { mode: 'transaction', connectQuery: 'set jit = off' });
    const words = await refusalOf({ DATABASE_URL, DIRECT_DATABASE_URL: url });
    expect(words).toContain('set statement_timeout = 4000; set idle_in_transaction_session_timeout = 10000"');
    expect(words).not.toContain('jit');
  });

  it('a start is refused if DIRECT_DATABASE_URL is a pooler, too', async () => {
    const { url } = await createTestDatabase();
    const pooler = await startPgBouncer(url, { mode: 'session', connectQuery: SETTINGS, ignored: IGNORED });
    const words = await refusalOf({ DATABASE_URL: pooler, DIRECT_DATABASE_URL: pooler });
    expect(words).toContain('DIRECT_DATABASE_URL leads to a pooler, too');
  });

  it('a start through a pooler is refused if DIRECT_DATABASE_URL cannot be reached', async () => {
    const { url } = await createTestDatabase();
    const DATABASE_URL = await startPgBouncer(url, { mode: 'transaction', connectQuery: SETTINGS });
    const DIRECT_DATABASE_URL = `postgres://u@127.0.0.1:${await freePort()}/x`;
    const words = await refusalOf({ DATABASE_URL, DIRECT_DATABASE_URL });
    expect(words).toContain('the database of DIRECT_DATABASE_URL cannot be reached: connect ECONNREFUSED');
  });

  it('a start through a pooler is refused if both URLs lead to different databases', async () => {
    const [{ url }, { url: other }] = [await createTestDatabase(), await createTestDatabase()];
    const DATABASE_URL = await startPgBouncer(url, { mode: 'transaction', connectQuery: SETTINGS });
    const words = await refusalOf({ DATABASE_URL, DIRECT_DATABASE_URL: other });
    expect(words).toContain('DATABASE_URL and DIRECT_DATABASE_URL lead to different databases');
  });
});

it.skipIf(hasNoPgBouncer)('a pooler is not used as a replica', async () => {
  const { url: databaseUrl } = await createTestDatabase();
  const url = await startPgBouncer(databaseUrl, { mode: 'transaction', ignored: IGNORED });
  const db = patient(new Database(databaseUrl, { warn: () => undefined }));
  const log = { info: () => undefined, warn: () => undefined };
  const replica = new Replica({ url, db, log, maxLagMs: 10_000 });
  const refusal = { problem: 'its address leads to a pooler' };
  await waitFor(async () => isDeepStrictEqual(await replica.admit(), refusal), { message: refusal.problem });
  await replica.stop();
  await db.close();
});

it('a proxy that passes connections through is not taken for a pooler', async () => {
  const { url } = await createTestDatabase();
  const { url: relayed } = await relayDatabase(url);
  const { baseUrl, kill } = await startJobferry({ databaseUrl: relayed });
  expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200);
  await kill('SIGKILL');
});
