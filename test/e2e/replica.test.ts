import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServerPair, startServerPair } from '../../rigs/chaos/server-pair.ts';
import { Database } from '../../src/db/connection/database.ts';
import { onReplica } from '../../src/db/connection/on-replica.ts';
import { Replica } from '../../src/db/connection/replica.ts';
import { type Api, createApi } from '../support/api.ts';
import { signIn } from '../support/browser-session.ts';
import { patient } from '../support/database-fixture.ts';
import { hasGivenServer } from '../support/given-server.ts';
import { createGraphQLClient, type GraphQL } from '../support/graphql.ts';
import { type Jobferry, startJobferry } from '../support/process.ts';
import { relayDatabase, type TcpRelay } from '../support/tcp-relay.ts';
import { always, waitFor } from '../support/wait-for.ts';

/** DATABASE_REPLICA_URL with a standby that streams from the primary, and a network between it and the process. */

const KEY = 'key-of-the-bootstrap-account';
const MAX_LAG_SECONDS = 5;
const NOWHERE = 'http://127.0.0.1:9/';
const NAMES = '{ queues(first: 50) { nodes { name } } }';

interface Answer {
  data: { queues: { nodes: { name: string }[] } };
  extensions: { readFrom: { server: string; lagSeconds?: number; reason?: string } };
}

describe.skipIf(hasGivenServer)('a replica', () => {
  let pair: ServerPair;
  let relay: TcpRelay;
  let jobferry: Jobferry;
  let standby: pg.Client;
  let api: Api;
  /** The first of two keys of one account: it changes things. */
  let changing: GraphQL;
  let watching: GraphQL;
  let replicaUrl: string;

  beforeAll(async () => {
    pair = await startServerPair();
    ({ relay, url: replicaUrl } = await relayDatabase(pair.standbyUrl));
    standby = new pg.Client({ connectionString: pair.standbyUrl });
    standby.on('error', () => undefined);
    await standby.connect();
    const env = {
      BOOTSTRAP_API_KEY: KEY,
      DATABASE_REPLICA_URL: replicaUrl,
      REPLICA_MAX_LAG_SECONDS: String(MAX_LAG_SECONDS),
    };
    jobferry = await startJobferry({ databaseUrl: pair.url, env });
    api = createApi(jobferry.baseUrl, KEY);
    changing = createGraphQLClient(jobferry.baseUrl, KEY);
    const made = await changing.query(
      'mutation { createApiKey(name: "watching") { ... on CreateApiKeyPayload { key } } }',
    );
    watching = createGraphQLClient(jobferry.baseUrl, made.createApiKey.key);
    await until('replica');
  });
  afterAll(async () => {
    await jobferry?.kill('SIGKILL');
    await standby?.end().catch(() => undefined);
    await pair?.stop();
  });

  async function read(client: GraphQL = watching): Promise<{ names: string[] } & Answer['extensions']['readFrom']> {
    const { data, extensions } = JSON.parse((await client.send(NAMES)).text) as Answer;
    return { names: data.queues.nodes.map(({ name }) => name), ...extensions.readFrom };
  }

  function until(server: 'replica' | 'primary', reason = '', client = watching): ReturnType<typeof read> {
    return waitFor(
      async () => {
        const answer = await read(client);
        return answer.server === server && (answer.reason ?? '').includes(reason) ? answer : null;
      },
      { message: `an answer of the ${server}` },
    );
  }

  const metricsPage = async () => (await fetch(`${jobferry.baseUrl}/metrics`)).text();
  const replay = (does: 'pause' | 'resume') => standby.query(`select pg_wal_replay_${does}()`);
  const create = (name: string) => `mutation { createQueue(input: { name: "${name}", webhookUrl: "${NOWHERE}" }) {
    ... on CreateQueuePayload { queue { name depth { __typename } } } } }`;

  it('answers queries, and each answer says how far it is behind', async () => {
    const answer = await until('replica');
    expect(answer).toMatchObject({ server: 'replica', lagSeconds: expect.any(Number) });
    expect(answer.lagSeconds).toBeLessThanOrEqual(MAX_LAG_SECONDS);
    expect(jobferry.logs).toContainEqual(expect.objectContaining({ msg: 'GraphQL reads from the replica' }));
    const { rows } = await standby.query(`select from pg_stat_activity where application_name = 'jobferry'`);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.length).toBeLessThanOrEqual(4);
    const metrics = await metricsPage();
    expect(metrics).toContain('jobferry_database_connections_max{pool="replica"} 4');
    expect(metrics).toMatch(/^jobferry_replica_in_use 1$/m);
    expect(Number(/^jobferry_replica_lag_seconds (\S+)$/m.exec(metrics)?.[1])).toBeLessThanOrEqual(MAX_LAG_SECONDS);
  });

  it('never shows its client the state before a change, and others only what is old by the bound', async () => {
    const { headers } = await signIn(jobferry.baseUrl, { apiKey: KEY });
    const person = createGraphQLClient(jobferry.baseUrl, headers);
    await until('replica');
    await replay('pause');
    const { data, headers: answered } = await person.send(create('by-a-person'));
    expect(data.createQueue.queue.name).toBe('by-a-person');
    // On a busy machine the bound may have passed.
    const reason = expect.stringMatching(/latest change|too far behind/);
    expect(await read(person)).toMatchObject({ server: 'primary', reason });
    expect((await read(person)).names).toContain('by-a-person');
    // Another process knows only what the browser says.
    const [cookie = ''] = answered.getSetCookie();
    expect(cookie).toMatch(/^jobferry-changed=1; Max-Age=5; HttpOnly; SameSite=Strict$/);

    await api.createQueue({ name: 'by-rest', webhookUrl: NOWHERE });
    expect(await read(changing)).toMatchObject({ server: 'primary', names: expect.arrayContaining(['by-rest']) });
    let unseen = 0;
    const old = await waitFor(
      async () => {
        await replay('resume');
        await until('replica');
        await replay('pause');
        unseen += 1;
        await api.createQueue({ name: `unseen-${unseen}`, webhookUrl: NOWHERE });
        const answer = await read();
        return answer.server === 'replica' ? answer : null;
      },
      { message: 'an answer within the bound' },
    );
    expect(old.names).not.toContain(`unseen-${unseen}`);

    expect((await until('primary', 'it is too far behind')).names).toContain(`unseen-${unseen}`);
    const isUnused = async () => /^jobferry_replica_in_use 0$/m.test(await metricsPage());
    await waitFor(isUnused, { message: 'the metric of a replica that is not used' });
    await replay('resume');
    expect((await until('replica')).names).toContain(`unseen-${unseen}`);
    await until('replica', '', changing);
  });

  it('is waited for a moment if it is about to have a change', async () => {
    let n = 0;
    await waitFor(
      async () => {
        n += 1;
        await changing.query(create(`soon-${n}`));
        const { server, names } = await read(changing);
        always(() => expect(names).toContain(`soon-${n}`));
        return server === 'replica';
      },
      { message: 'a change that is read from the replica' },
    );
  });

  it('is not read by a request that asks for the primary, nor by another process that the browser tells of a change', async () => {
    const headers = {
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      'jobferry-read-from': 'primary',
    };
    expect(await read(createGraphQLClient(jobferry.baseUrl, headers))).toMatchObject({
      server: 'primary',
      reason: expect.stringContaining('asked for the primary'),
    });
    const session = (await signIn(jobferry.baseUrl, { apiKey: KEY })).headers;
    const told = createGraphQLClient(jobferry.baseUrl, { ...session, cookie: `${session.cookie}; jobferry-changed=1` });
    await until('replica');
    await replay('pause');
    await api.createQueue({ name: 'by-another', webhookUrl: NOWHERE });
    expect(await read(told)).toMatchObject({ server: 'primary', names: expect.arrayContaining(['by-another']) });
    await replay('resume');
    await until('replica');
  });

  it('gives each statement that it cannot answer to the primary', async () => {
    const db = patient(new Database(pair.url, { warn: () => undefined }));
    const log = { info: () => undefined, warn: () => undefined };
    const replica = new Replica({ url: pair.standbyUrl, db, log, maxLagMs: 10_000 });
    await waitFor(async () => 'lagMs' in (await replica.admit()), { message: 'the replica' });
    const reading = onReplica(db, replica).reading('an account');
    const isStandby = { name: 'where', text: 'select pg_is_in_recovery() as standby' };
    await waitFor(async () => (await reading.one<{ standby: boolean }>(isStandby))?.standby, { message: 'its answer' });
    expect(await reading.one({ ...isStandby, name: 'there', onPrimary: true })).toEqual({ standby: false });
    expect(await reading.query('create temporary table written (n integer)')).toEqual([]);
    await expect(reading.query('select 1 / 0')).rejects.toThrow('division by zero');
    await replica.stop();
    await db.close();
  });

  it('is left for the primary when it is silent or away, and read again when it is back', async () => {
    await until('replica');
    relay.stall();
    const silent = await Promise.all([read(), read(), read()]);
    expect(silent.every(({ names }) => names.includes('by-rest'))).toBe(true);
    await until('primary');
    await relay.heal();
    await until('replica');
    await relay.cut();
    expect((await read()).names).toContain('by-rest');
    await until('primary', 'ECONNREFUSED');
    await relay.heal();
    await until('replica');
    expect(jobferry.logs).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: 'GraphQL does not read from the replica, but from the primary' }),
    );
  });

  it('is left for the primary once it has been promoted', async () => {
    await until('replica');
    const primary = new pg.Client({ connectionString: pair.url });
    await primary.connect();
    // Otherwise its commits would wait for the standby.
    await primary.query(`alter system set synchronous_standby_names = ''`);
    await primary.query('select pg_reload_conf()');
    await primary.end();
    await standby.query('select pg_promote(true, 60)');
    await until('primary', 'it is not a standby');
    await changing.query(create('after-the-promotion'));
    expect((await read()).names).toContain('after-the-promotion');
  });
});
