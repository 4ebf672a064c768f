import { expect, it } from 'vitest';
import { Database } from '../../src/db/connection/database.ts';
import { Listener } from '../../src/db/connection/notifications.ts';
import { type Origin, OriginGuard, stepBack } from '../../src/db/connection/origin.ts';
import { type LeaseLock, takeLeaseLock } from '../../src/db/delivery/lease-locks.ts';
import { createTestDatabase } from '../support/database.ts';
import { openFixture, patient } from '../support/database-fixture.ts';
import { waitFor } from '../support/wait-for.ts';

const SEEN: Origin = { system: '7', timeline: 11 };

/** As if another connection of the process led to such a server. */
async function sees(guard: OriginGuard, origin: { system: string; timeline: number | null }): Promise<void> {
  const connection = { stream: { destroy: () => undefined } };
  const query = () => Promise.resolve({ rows: [origin] });
  await guard.check({ query, connection, once: () => undefined } as never);
}

it('asks the server where it stands, also as a user without rights', async () => {
  const { db } = await openFixture();
  const client = await db.pool.connect();
  const { rows } = await client.query<{ system: string }>(
    'select system_identifier::text as system from pg_control_system()',
  );
  await client.query('begin');
  await client.query('create role origin_test');
  await client.query('set local role origin_test');
  const guard = new OriginGuard(db.log);
  await guard.check(client);
  expect(guard.highest).toEqual({ system: rows[0]?.system, timeline: 1 });
  await client.query('rollback');
  client.release();
});

it('goes on without them, and logs it once, when the server does not return them', async () => {
  const said: string[] = [];
  const guard = new OriginGuard({ warn: (_fields, message) => said.push(message) });
  const client = { query: () => Promise.reject(Object.assign(new Error('denied'), { code: '42501' })) };
  await guard.check(client as never);
  await guard.check(client as never);
  expect(said).toHaveLength(1);
});

it('refuses a server that is behind or another one, logs it once, and accepts the right one', async () => {
  const said: string[] = [];
  const guard = new OriginGuard({
    warn: (_fields, message) => said.push(`warn ${message}`),
    error: (_fields, message) => said.push(`error ${message}`),
  });
  const at = (origin: Origin) => sees(guard, origin);
  await at(SEEN);
  const problem = 'the database went back from timeline 11 to 10';
  for (let n = 0; n < 3; n += 1) await expect(at({ ...SEEN, timeline: 10 })).rejects.toThrow(problem);
  expect(guard.refusal).toBe(problem);
  const since = new RegExp(
    `^error ${problem}: jobs that were accepted since \\d{4}-\\d\\d-\\d\\dT\\S+Z may be missing`,
  );
  expect(said).toEqual([expect.stringMatching(since)]);
  await at({ ...SEEN, timeline: 12 });
  expect(guard.refusal).toBeNull();
  await expect(at(SEEN)).rejects.toThrow('from timeline 12 to 11');
});

it('refuses a standby, whose promotion its connections would survive, until it has been promoted', async () => {
  const said: string[] = [];
  const guard = new OriginGuard({ warn: (_fields, message) => said.push(message) });
  await sees(guard, SEEN);
  const problem = 'the server is a standby, which cannot be written to';
  for (let n = 0; n < 2; n += 1) await expect(sees(guard, { ...SEEN, timeline: null })).rejects.toThrow(problem);
  expect(guard.refusal).toBe(problem);
  expect(said).toEqual([`${problem}: it is not used until it has been promoted`]);
  await sees(guard, { ...SEEN, timeline: 12 });
  expect(guard).toMatchObject({ refusal: null, highest: { timeline: 12 } });
});

it('closes connections to the former server when another has taken over, also one that waits for an answer', async () => {
  const { url } = await createTestDatabase();
  const db = patient(new Database(url, { warn: () => undefined }));
  await Promise.all([db.query('select 1'), db.query('select pg_sleep(0.1)')]);
  expect(db.pool.totalCount).toBe(2);
  const waiting = expect(db.query('select pg_sleep(3)')).rejects.toThrow('the database is not available');
  const { system = '', timeline = 0 } = db.origin.highest ?? {};
  await sees(db.origin, { system, timeline: timeline + 1 });
  await waiting;
  await waitFor(() => db.pool.totalCount === 0, { message: 'an empty pool' });
  await expect(db.query('select 1')).rejects.toThrow('the database is not available');
  expect(db.origin.refusal).toContain('the database went back');
  await db.close();
});

it('closes connections to the former server when another primary was found without them, and never goes back', async () => {
  const { url } = await createTestDatabase();
  const db = patient(new Database(url, { warn: () => undefined }));
  await db.query('select 1');
  const { system = '', timeline = 0 } = db.origin.highest ?? {};
  db.origin.advance({ system, timeline: timeline + 1 });
  await waitFor(() => db.pool.totalCount === 0, { message: 'an empty pool' });
  db.origin.advance({ system, timeline });
  db.origin.advance({ system: 'another', timeline: timeline + 2 });
  expect(db.origin.highest).toEqual({ system, timeline: timeline + 1 });
  await db.close();
});

it('takes no lease lock of a server of the past, and does not listen to it', async () => {
  const { url } = await createTestDatabase();
  const { db } = await openFixture();
  const { origin, log } = db;
  await db.query('select 1');
  const { system = '', timeline = 0 } = origin.highest ?? {};
  const takeLock = (former: LeaseLock | null) => takeLeaseLock({ url, log, origin }, former, 2000);
  let listening = 0;
  const listen = async () => {
    const listener = new Listener({ url, log, origin });
    listener.subscribe({
      channels: { one: () => undefined },
      onListening: () => {
        listening += 1;
      },
    });
    await listener.start();
    return listener;
  };
  const [lock, listener] = [await takeLock(null), await listen()];
  expect(listening).toBe(1);

  await sees(origin, { system, timeline: timeline + 1 });
  expect(await lock.lost).toContain('another server has taken over');
  await expect(takeLock(null)).rejects.toThrow('the database went back');
  await expect(takeLock(lock)).rejects.toThrow('the database went back');
  await listener.stop();
  await (await listen()).stop();
  expect(listening).toBe(1);
});

it.each<[Origin, string | null]>([
  [SEEN, null],
  [{ system: '7', timeline: 12 }, null],
  [{ system: '7', timeline: 10 }, 'the database went back from timeline 11 to 10'],
  [{ system: '8', timeline: 12 }, 'the database is another one (system identifier 8, before 7)'],
])('%j after timeline 11', (found, problem) => {
  expect(stepBack(SEEN, found)).toBe(problem);
});
