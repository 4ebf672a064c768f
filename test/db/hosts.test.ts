import { createServer, type Server } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { addressOf, createClient, createPool } from '../../src/db/connection/address.ts';
import { Database } from '../../src/db/connection/database.ts';
import type { Hosts } from '../../src/db/connection/hosts.ts';
import { freePort } from '../../src/db/embedded/free-port.ts';
import { createReadiness } from '../../src/services/server/readiness.ts';
import { ReleaseWatch } from '../../src/services/server/release-watch.ts';
import { createTestDatabase } from '../support/database.ts';
import { relayDatabase } from '../support/tcp-relay.ts';
import { waitFor } from '../support/wait-for.ts';

/** Several hosts in one URL. test/e2e/several-hosts.test.ts has a real standby and a failover. */

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

/** A machine that takes connections and never says a word. */
async function silentServer(): Promise<{ port: number; connections: () => number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { port: (server.address() as { port: number }).port, connections: () => connections };
}

function withHosts(url: string, hosts: string[]): string {
  const { host } = new URL(url);
  return url.replace(`@${host}`, `@${hosts.join(',')}`);
}

function loggedBy(): { log: { warn(fields: object, message: string): void }; lines: [string, object][] } {
  const lines: [string, object][] = [];
  return { log: { warn: (fields, message) => lines.push([message, fields]) }, lines };
}

it('connects to the primary, whatever the others are, and asks all of them once in a second', async () => {
  const { url } = await createTestDatabase();
  const silent = await silentServer();
  const hosts = [`127.0.0.1:${silent.port}`, `127.0.0.1:${await freePort()}`, new URL(url).host];
  const { log, lines } = loggedBy();
  const db = new Database(addressOf(withHosts(url, hosts), log), log);
  const answers = await Promise.all(Array.from({ length: 8 }, () => db.one<{ one: number }>('select 1 as one')));
  expect(answers).toEqual(Array(8).fill({ one: 1 }));
  // And not for each connection. On a busy machine the eight take more than a second.
  expect(silent.connections()).toBeLessThan(4);
  expect(db.refusal).toBeNull();
  expect(lines).toEqual([]);
  await db.close();
});

it('gives each connection an error of its own, which has the stack of who asked for it', async () => {
  const { log } = loggedBy();
  const hosts = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const pool = createPool(addressOf(`postgres://u@${hosts.join(',')}/x`, log), { max: 2 });
  // graphile-worker's unhandled rejections are recognised by their stack. All others end the process.
  const likeGraphileWorker = async () => void (await pool.connect());
  const likeJobferry = async () => void (await pool.connect());
  const ended = await Promise.allSettled([likeGraphileWorker(), likeJobferry()]);
  const stacks = ended.map((one) => (one.status === 'rejected' ? String(one.reason.stack) : 'connected'));
  expect(stacks).toEqual([expect.stringContaining('likeGraphileWorker'), expect.stringContaining('likeJobferry')]);
  await pool.end();
});

it('does not look again for every connection that fails', async () => {
  const { url } = await createTestDatabase();
  const silent = await silentServer();
  const { log } = loggedBy();
  const hosts = addressOf(withHosts(url, [new URL(url).host, `127.0.0.1:${silent.port}`]), log) as Hosts;
  const found = await hosts.primary();
  const again = [1, 2, 3].map(() => {
    hosts.forget();
    return hosts.primary();
  });
  expect(await Promise.all(again)).toEqual([found, found, found]);
  expect(silent.connections()).toBeLessThan(4);
});

it('says what each server is when none is a primary, logs it once, and finds it again', async () => {
  const { url } = await createTestDatabase();
  const { relay, url: relayed } = await relayDatabase(url);
  const gone = `127.0.0.1:${await freePort()}`;
  const { log, lines } = loggedBy();
  const address = addressOf(withHosts(relayed, [gone, new URL(relayed).host]), log);
  const db = new Database(address, log);
  await relay.cut();
  const refusal = { kind: 'unavailable', cause: { message: expect.stringContaining(`${gone}: connect ECONNREFUSED`) } };
  for (let n = 0; n < 3; n += 1) await expect(db.query('select 1')).rejects.toMatchObject(refusal);
  await expect(createClient(address, {}).connect()).rejects.toThrow('no server is a primary (');
  expect(db.refusal).toMatch(/^none of 2 servers is a primary: 0 standby, 2 not reachable; looking for one for \d+ s$/);
  await relay.heal();
  const answer = await waitFor(() => db.one<{ one: number }>('select 1 as one').catch(() => null), { message: 'it' });
  expect(answer).toEqual({ one: 1 });
  expect(db.refusal).toBeNull();
  expect(lines.map(([message]) => message)).toEqual([
    'no server of the database URL is a primary',
    'a server of the database URL is a primary again',
  ]);
  expect(lines[1]?.[1]).toEqual({
    server: new URL(relayed).host,
    timeline: 1,
    searchedSeconds: expect.any(Number),
  });
  await db.close();
});

it('names both servers of a failover in which there was no primary for a while', async () => {
  const { url } = await createTestDatabase();
  const [first, second] = await Promise.all([relayDatabase(url), relayDatabase(url)]);
  const [from, to] = [new URL(first.url).host, new URL(second.url).host];
  const { log, lines } = loggedBy();
  const hosts = addressOf(withHosts(url, [from, to]), log) as Hosts;
  await second.relay.cut();
  await hosts.primary();
  await first.relay.cut();
  const message = 'no server of the database URL is a primary';
  await waitFor(async () => (await hosts.primary().catch(() => null)) === null, { message });
  await second.relay.heal();
  await waitFor(() => hosts.primary(), { message: 'the other server' });
  expect(lines).toEqual([
    [message, { servers: { [from]: expect.any(String), [to]: expect.any(String) } }],
    [
      'another server of the database URL is the primary now',
      { from, to, timeline: 1, searchedSeconds: expect.any(Number) },
    ],
  ]);
});

it('says so in the readiness while statements hang on a primary that went silent', async () => {
  const { url } = await createTestDatabase();
  const { relay, url: relayed } = await relayDatabase(url);
  const { log } = loggedBy();
  const hosts = addressOf(withHosts(relayed, [new URL(relayed).host, `127.0.0.1:${await freePort()}`]), log) as Hosts;
  const db = new Database(hosts, log);
  // The readiness asks on two of these, which are then idle.
  await Promise.all([1, 2, 3].map(() => db.query('select pg_sleep(0.1)')));
  relay.stall();
  await waitFor(
    () =>
      hosts
        .primary()
        .then(() => false)
        .catch(() => true),
    { message: 'no primary' },
  );
  const info = () => undefined;
  const said = { ...log, info };
  const release = new ReleaseWatch({ db, log: said, startsBeside: false });
  const { checks } = await createReadiness({
    db,
    log: said,
    release,
    workerProblem: () => undefined,
    keyProblem: () => null,
    egressProblem: () => undefined,
    publishProblem: () => undefined,
  })();
  expect(checks).toEqual({ database: expect.stringMatching(/^none of 2 servers .*; looking for one for \d+ s$/) });
  await relay.cut();
  await db.close();
});
