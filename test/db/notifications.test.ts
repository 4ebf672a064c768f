import pg from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { Database } from '../../src/db/connection/database.ts';
import { Listener, type ListenerOptions, MAX_MESSAGE_BYTES, notify } from '../../src/db/connection/notifications.ts';
import { createTestDatabase } from '../support/database.ts';
import { relayDatabase } from '../support/tcp-relay.ts';
import { waitFor } from '../support/wait-for.ts';

const log = { warn: () => undefined };
const CONNECTIONS = `select pid from pg_stat_activity
  where application_name = 'jobferry listener' and datname = current_database()`;

let url: string;
let db: Database;
const listeners = new Set<Listener>();

beforeAll(async () => {
  url = (await createTestDatabase()).url;
  db = new Database(url, log);
});

afterAll(async () => {
  for (const listener of listeners) await listener.stop();
  await db.close();
});

async function listen({
  channels = ['one', 'other'],
  ...options
}: Partial<ListenerOptions> & { channels?: string[] } = {}) {
  const heard: string[] = [];
  const listening: number[] = [];
  const listener = new Listener({ url, log, origin: db.origin, pingMs: 60_000, ...options });
  listener.subscribe({
    channels: Object.fromEntries(
      channels.map((channel) => [channel, (message: string) => void heard.push(`${channel}: ${message}`)]),
    ),
    greeting: { channel: 'greetings', message: 'hello' },
    onListening: () => void listening.push(performance.now()),
  });
  await listener.start();
  listeners.add(listener);
  return { listener, heard, listening };
}

it('receives what is sent on its channels, and a greeting when it starts to listen', async () => {
  const { heard } = await listen({ channels: ['one', 'greetings'] });
  const large = 'x'.repeat(MAX_MESSAGE_BYTES);
  await notify(db, 'another', ['unheard']);
  await notify(db, 'one', ['first', large, "it's"]);
  await waitFor(() => heard.length === 4, { message: 'four messages' });
  expect(heard).toEqual(['greetings: hello', 'one: first', `one: ${large}`, "one: it's"]);
});

it('serves several parts of the process on one connection', async () => {
  const { listener, heard } = await listen({ channels: ['one'] });
  await listener.stop();
  const both = new Listener({ url, log, origin: db.origin });
  listeners.add(both);
  const second: string[] = [];
  for (const into of [heard, second]) both.subscribe({ channels: { one: (message) => void into.push(message) } });
  await both.start();
  await notify(db, 'one', ['to both']);
  await waitFor(() => heard.includes('to both') && second.includes('to both'), { message: 'both to receive it' });
});

it('listens again after its connection was cut, and reports it each time', async () => {
  const { heard, listening } = await listen();
  expect(listening).toHaveLength(1);
  await db.query(`select pg_terminate_backend(pid) from (${CONNECTIONS}) as listeners`);
  await waitFor(() => listening.length === 2, { message: 'listening again' });
  await notify(db, 'other', ['after']);
  await waitFor(() => heard.includes('other: after'), { message: 'a message after the cut' });
});

it('holds a lock that no other process can take, until it gives it up or its connection ends', async () => {
  const { listener: one } = await listen({ channels: ['one'] });
  const { listener: other } = await listen({ channels: ['one'] });
  expect([await one.lock('a'), await one.lock('a'), await other.lock('a')]).toEqual([true, true, false]);
  expect([one.holds('a'), other.holds('a'), one.holds('b')]).toEqual([true, false, false]);
  await one.unlock('a');
  expect([one.holds('a'), await other.lock('a'), await one.lock('a')]).toEqual([false, true, false]);
  await other.stop();
  expect(other.holds('a')).toBe(false);
  await waitFor(() => one.lock('a'), { message: 'the lock of a connection that has ended' });
  await db.query(`select pg_terminate_backend(pid) from (${CONNECTIONS}) as listeners`);
  await waitFor(() => !one.holds('a'), { message: 'the lock lost with its connection' });
});

it('sends one statement at a time, also when locks are taken and given up together', async () => {
  const busy = new Set<unknown>();
  let overlaps = 0;
  const { query } = pg.Client.prototype;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    if (busy.has(this)) overlaps += 1;
    busy.add(this);
    const sent: unknown = Reflect.apply(query, this, args);
    return Promise.resolve(sent).finally(() => busy.delete(this));
  } as never);
  onTestFinished(() => spy.mockRestore());
  const { listener } = await listen({ channels: ['one'] });
  const names = ['a', 'b', 'c', 'd'];
  expect(await Promise.all(names.map((name) => listener.lock(name)))).toEqual([true, true, true, true]);
  await Promise.all([...names.map((name) => listener.unlock(name)), listener.lock('e')]);
  expect(overlaps).toBe(0);
});

it('starts without a database, and listens when there is one', async () => {
  const { relay, url: relayed } = await relayDatabase(url);
  await relay.cut();
  const { listening, heard } = await listen({ url: relayed });
  expect(listening).toEqual([]);
  await relay.heal();
  await waitFor(() => listening.length === 1, { message: 'listening' });
  await notify(db, 'one', ['at last']);
  await waitFor(() => heard.includes('one: at last'));
});

it('notices a connection that passes nothing on', async () => {
  const { relay, url: relayed } = await relayDatabase(url);
  const warnings: string[] = [];
  const { listening } = await listen({
    url: relayed,
    pingMs: 100,
    log: { warn: (_fields, message) => warnings.push(message) },
  });
  relay.stall();
  // The ping gives up after 1.5 s, and then connecting does after 3 s.
  await waitFor(() => warnings.some((warning) => warning.includes('cannot listen yet')), {
    message: 'an attempt to connect again',
  });
  expect(listening).toHaveLength(1);
  await relay.heal();
  await waitFor(() => listening.length === 2, { message: 'listening again' });
});

it('leaves no connection behind', async () => {
  for (const listener of listeners) await listener.stop();
  listeners.clear();
  await waitFor(async () => (await db.query(CONNECTIONS)).length === 0, { message: 'no listener' });
  const { listener } = await listen();
  await waitFor(async () => (await db.query(CONNECTIONS)).length === 1, { message: 'one listener' });
  await listener.stop();
  listeners.delete(listener);
  await waitFor(async () => (await db.query(CONNECTIONS)).length === 0, { message: 'no listener' });
});
