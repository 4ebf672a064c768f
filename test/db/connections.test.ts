import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Connections } from '../../src/db/connection/connections.ts';
import { Database, translated } from '../../src/db/connection/database.ts';
import { FairTurns } from '../../src/db/connection/fair-turns.ts';
import { OriginGuard } from '../../src/db/connection/origin.ts';
import { holdOnPurpose, UnusedConnections } from '../../src/db/connection/unused-connections.ts';
import { SearchBudget } from '../../src/db/search/budget.ts';
import { createTestDatabase } from '../support/database.ts';
import { startTcpRelay } from '../support/tcp-relay.ts';
import { waitFor } from '../support/wait-for.ts';

const log = { warn: () => undefined };
let url: string;
let admin: pg.Client;

beforeAll(async () => {
  ({ url } = await createTestDatabase());
  admin = new pg.Client({ connectionString: url });
  await admin.connect();
});
afterAll(() => admin.end());

const sessions = async (): Promise<number[]> => {
  const text = `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
  return (await admin.query<{ pid: number }>(text)).rows.map(({ pid }) => pid);
};

describe('the reads of an account', () => {
  it('is stopped when its request has used up its time, and others have theirs on the same connection', async () => {
    const db = new Database(url, log);
    db.readingPool.options.max = 1;
    try {
      const slow = 'select pg_sleep(30)';
      const budget = new SearchBudget(undefined, 100);
      await expect(db.reading('a', { budget }).query(slow)).rejects.toMatchObject({
        kind: 'invalid_request',
        message: expect.stringContaining('narrow them down'),
      });
      await expect(db.reading('a', { budget }).query('select 1')).rejects.toMatchObject({ kind: 'invalid_request' });
      const fraction = new SearchBudget(undefined, 600.4);
      await db.reading('a', { budget: fraction }).query('select 1');
      await expect(db.reading('a', { budget: fraction }).query(slow)).rejects.toMatchObject({
        kind: 'invalid_request',
      });
      await expect(db.reading('a', { maxMs: 100 }).query(slow)).rejects.toMatchObject({ kind: 'unavailable' });
      const timeout = 'show statement_timeout';
      expect(await db.reading('a', { maxMs: 1500 }).one(timeout)).toEqual({ statement_timeout: '1500ms' });
      for (let n = 0; n < 20; n += 1)
        await db
          .reading('a', { maxMs: 0.5 })
          .query('select pg_sleep(0.03)')
          .catch(() => {});
      expect(await db.reading('a').one(timeout)).toEqual({ statement_timeout: '2s' });
      expect(await db.reading('a', { maxMs: 4000 }).one(timeout)).toEqual({ statement_timeout: '4s' });
    } finally {
      await db.close();
    }
  });
});

it('sends no claim that waited for a connection until it was no longer allowed', async () => {
  const db = new Database(url, log);
  db.pool.options.max = 1;
  try {
    let maySend = true;
    const guarded = db.onlyWhile(() => maySend, 'not any more');
    expect(await guarded.query('select 1 as n')).toEqual([{ n: 1 }]);
    const other = await db.pool.connect();
    const waiting = guarded.query('create table claimed ()');
    maySend = false;
    other.release();
    await expect(waiting).rejects.toMatchObject({ kind: 'unavailable', message: 'not any more', stored: 'nothing' });
    expect(await db.one(`select to_regclass('claimed') as name`)).toEqual({ name: null });
    expect(db.pool.totalCount).toBe(1);
  } finally {
    await db.close();
  }
});

describe('a connection whose statement was given up', () => {
  it('counts until the server has released it, and is replaced then', async () => {
    const connections = new Connections(url, 2, log, new OriginGuard(log));
    const stopped: number[] = [];
    try {
      const given = await Promise.allSettled(
        [1, 2].map(async () => {
          const client = await connections.pool.connect();
          const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
          const pid = rows[0]?.pid ?? 0;
          // As good as a commit that waits for a disk: it cannot be ended.
          process.kill(pid, 'SIGSTOP');
          stopped.push(pid);
          const error = await client.query({ text: 'select 1', query_timeout: 50 } as pg.QueryConfig).catch((e) => e);
          client.release(error);
          throw error;
        }),
      );
      expect(given.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      let done = false;
      const next = waitFor(() => connections.run({ text: 'select 1' })).finally(() => {
        done = true;
      });
      // Polls of the waiting process come and go; none of them does work.
      await waitFor(async () => (await sessions()).length > 2, { everyMs: 1 });
      await waitFor(async () => (await sessions()).length === 2, { everyMs: 1 });
      expect([(await sessions()).sort(), done]).toEqual([stopped.sort(), false]);
      for (const pid of stopped) process.kill(pid, 'SIGCONT');
      await next;
      await waitFor(async () => !(await sessions()).some((pid) => stopped.includes(pid)));
      expect(connections.pool.options.max).toBe(2);
    } finally {
      for (const pid of stopped) {
        try {
          process.kill(pid, 'SIGCONT');
        } catch {
          // It has ended.
        }
      }
      await connections.close();
    }
  });

  it('is ended on the server, though what it does has no end', async () => {
    const connections = new Connections(url, 1, log, new OriginGuard(log));
    await admin.query('select pg_advisory_lock(7)');
    await expect(
      connections.run({ text: 'select pg_advisory_lock(7)', query_timeout: 50 } as pg.QueryConfig),
    ).rejects.toThrow();
    // The one connection is free again long before the statement's own time is over.
    await waitFor(() => connections.run({ text: 'select 1' }));
    await admin.query('select pg_advisory_unlock_all()');
    await connections.close();
  });

  it('does not keep its place when the server is gone', async () => {
    const target = new URL(url);
    const relay = await startTcpRelay({ host: target.hostname, port: Number(target.port) });
    const relayed = new URL(url);
    relayed.hostname = '127.0.0.1';
    relayed.port = String(relay.port);
    const connections = new Connections(relayed.href, 1, log, new OriginGuard(log));
    await connections.run({ text: 'select 1' });
    await relay.cut();
    await waitFor(() => connections.pool.totalCount === 0);
    await relay.heal();
    await connections.run({ text: 'select 1' });
    await waitFor(() => connections.pool.options.max === 1);
    await connections.close();
  });
});

describe('a server that could not be reached for a while', () => {
  it('is used again as soon as it can', async () => {
    const target = new URL(url);
    const relay = await startTcpRelay({ host: target.hostname, port: Number(target.port) });
    const relayed = new URL(url);
    relayed.hostname = '127.0.0.1';
    relayed.port = String(relay.port);
    const connections = new Connections(relayed.href, 3, log, new OriginGuard(log));
    await Promise.all([1, 2, 3].map(() => connections.run({ text: 'select pg_sleep(0.01)' })));
    relay.stall();
    const lost = [1, 2, 3].map(() => connections.run({ text: 'select 1', query_timeout: 50 } as pg.QueryConfig));
    expect((await Promise.allSettled(lost)).map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
    expect(connections.pool.options.max).toBe(0);
    await relay.heal();
    await waitFor(() => connections.run({ text: 'select 1' }));
    await waitFor(() => connections.pool.options.max === 3);
    await connections.close();
  });
});

describe('a waiter that gives up while the connection opened for it is checked', () => {
  // The pool opens the connection for the waiter only if it counts no abandoned sessions.
  it.each([
    ['with sessions of its own', false],
    ['through a pooler', true],
  ])('leaves that connection to others, %s', async (_how, isPooled) => {
    let checks = 0;
    const checkEnds: (() => void)[] = [];
    const guard = {
      check: async () => {
        checks += 1;
        if (checks > 1) await new Promise<void>((resolve) => checkEnds.push(resolve));
      },
    };
    const connections = new Connections(url, 1, log, guard, { isPooled });
    try {
      const first = connections.run({ text: 'select pg_sleep(30) as held' }).catch((error: unknown) => error);
      const end = `select pg_terminate_backend(pid) from pg_stat_activity where query = 'select pg_sleep(30) as held'`;
      const waiter = connections.run({ text: 'select 1' }).catch((error: unknown) => error);
      await waitFor(async () => (await admin.query(end)).rowCount === 1);
      await first;
      // Its time is over during the check.
      expect(await waiter).toMatchObject({ kind: 'unavailable', stored: 'nothing' });
      expect(checks).toBe(2);
      checkEnds[0]?.();
      await waitFor(() => connections.pool.idleCount === 1);
      await connections.run({ text: 'select 1' });
      expect(connections.use('main')).toMatchObject({ used: 0, waiting: 0 });
    } finally {
      for (const end of checkEnds) end();
      await connections.close();
    }
  });
});

describe('a connection that is in use without a statement', () => {
  const poolOf = () => new pg.Pool({ connectionString: url, max: 1 });

  it('is counted, closed after the limit, and replaced', async () => {
    const pool = poolOf();
    const warnings: string[] = [];
    const unused = new UnusedConnections(pool, 2500, { warn: (_fields, message) => warnings.push(message) });
    try {
      const forgotten = await pool.connect();
      await forgotten.query('select 1');
      // From one second on, until the limit.
      await waitFor(() => unused.count === 1, { everyMs: 1 });
      const { rows } = await pool.query('select 2 as n');
      expect(rows).toEqual([{ n: 2 }]);
      expect([unused.count, warnings.length]).toEqual([0, 1]);
      // Its user comes late.
      expect(() => forgotten.release()).not.toThrow();
    } finally {
      // It would not end while a forgotten connection counts.
      await pool.end();
      unused.stop();
    }
  });

  it('is not closed while it runs a statement, listens, or is held on purpose', async () => {
    const pool = new pg.Pool({ connectionString: url, max: 4 });
    const unused = new UnusedConnections(pool, 1, log);
    const [running, listening, held, forgotten] = await Promise.all([1, 2, 3, 4].map(() => pool.connect()));
    if (!running || !listening || !held || !forgotten) throw new Error('no connection');
    listening.on('notification', () => undefined);
    holdOnPurpose(held);
    await admin.query('select pg_advisory_lock(11)');
    const slow = running.query('select pg_advisory_lock_shared(11)');
    await waitFor(() => pool.totalCount === 3);
    expect(unused.count).toBe(0);
    await admin.query('select pg_advisory_unlock_all()');
    await slow;
    listening.removeAllListeners('notification');
    for (const client of [listening, held]) client.release();
    await waitFor(() => pool.totalCount === 2);
    await pool.end();
    unused.stop();
  });
});

it('keeps some idle connections, which are there when the server takes no new ones', async () => {
  const connections = new Connections(url, 4, log, new OriginGuard(log), { kept: 2 });
  const { pool } = connections;
  pool.options.idleTimeoutMillis = 20;
  const clients = await Promise.all(Array.from({ length: 4 }, () => pool.connect()));
  for (const client of clients) client.release();
  await waitFor(() => pool.totalCount === 2, { message: 'the end of the others' });
  // Nothing else closes them: their timers have fired by then.
  await connections.run({ text: 'select pg_sleep(0.2)' });
  expect(pool.totalCount).toBe(2);
  await connections.close();
});

it('waits for a connection that it has when the server has no other left', async () => {
  const { rows } = await admin.query<{ name: string }>(`select 'crowded_' || pg_backend_pid() as name`);
  const role = rows[0]?.name ?? '';
  await admin.query(`create role ${role} login password 'secret' connection limit 2`);
  const limited = new URL(url);
  [limited.username, limited.password] = [role, 'secret'];
  const connections = new Connections(limited.href, 8, log, { check: async () => undefined });
  const sleep = () => connections.run({ text: 'select pg_sleep(0.02)' });
  // The second one while the first is idle, so that both are there.
  await Promise.all([sleep(), sleep()]);
  connections.pool.options.connectionTimeoutMillis = 60_000;
  await Promise.all(Array.from({ length: 10 }, sleep));
  expect(connections.pool.totalCount).toBe(2);
  await connections.close();
  await waitFor(
    () =>
      admin.query(`drop role ${role}`).then(
        () => true,
        () => false,
      ),
    { message: 'the end of its sessions' },
  );
});

describe('what fails while connecting', () => {
  it.each(['XX000', '3D000', '28P01', '53300'])('is unavailable with SQLSTATE %s, and stored nothing', async (code) => {
    const connections = new Connections(url, 1, log, new OriginGuard(log));
    const refused = Object.assign(new pg.DatabaseError('no', 2, 'error'), { code, severity: 'FATAL' });
    connections.pool.connect = () => Promise.reject(refused);
    await expect(connections.run({ text: 'select 1' })).rejects.toMatchObject({
      kind: 'unavailable',
      stored: 'nothing',
    });
    await connections.close();
  });
});

describe('the error texts of the server', () => {
  it.each([
    ['XX000', 'nothing'],
    ['XX001', 'nothing'],
    ['F0001', 'nothing'],
    ['53100', 'nothing'],
    ['57014', 'nothing'],
    ['25006', 'nothing'],
    ['57P01', 'unknown'],
    ['57P02', 'unknown'],
    ['08006', 'unknown'],
  ])('%s is unavailable, with %s stored', (code, stored) => {
    const error = Object.assign(new pg.DatabaseError('no', 2, 'error'), { code });
    expect(translated(error)).toMatchObject({ kind: 'unavailable', stored });
  });

  it('a line that breaks leaves it unknown, and a mistake of ours is one', () => {
    expect(translated(new Error('Connection terminated unexpectedly'))).toMatchObject({ stored: 'unknown' });
    const mistake = Object.assign(new pg.DatabaseError('no', 2, 'error'), { code: '42601' });
    expect(translated(mistake)).toBe(mistake);
  });
});

describe('reading', () => {
  it('keeps nothing else waiting, and no account for another', async () => {
    const db = new Database(url, log);
    await admin.query('select pg_advisory_lock(9)');
    const wait = 'select pg_advisory_lock_shared(9), pg_advisory_unlock_shared(9)';
    const greedy = Array.from({ length: 30 }, () => db.reading('a', { maxMs: 60_000 }).query(wait));
    const waiting = `select count(*)::int as n from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`;
    await waitFor(async () => (await admin.query<{ n: number }>(waiting)).rows[0]?.n === 2);
    expect(await db.query('select 1 as one')).toEqual([{ one: 1 }]);
    expect(await db.reading('b').query('select 1 as one')).toEqual([{ one: 1 }]);
    expect((await admin.query<{ n: number }>(waiting)).rows[0]?.n).toBe(2);
    await admin.query('select pg_advisory_unlock_all()');
    await Promise.allSettled(greedy);
    await db.close();
  });
});

describe('FairTurns', () => {
  const bounds = { atOnce: 2, atOnceOfOne: 1, waiting: 3, waitingOfOne: 2, maxWaitMs: 10_000 };

  it('lets accounts run in turn', async () => {
    const turns = new FairTurns({ ...bounds, atOnce: 1, waiting: 10, waitingOfOne: 10 });
    const order: string[] = [];
    const work = (account: string) =>
      turns.run(account, async () => {
        order.push(account);
        await pause(1);
      });
    await Promise.all([work('a'), work('a'), work('a'), work('a'), work('b'), work('c')]);
    expect(order).toEqual(['a', 'a', 'b', 'c', 'a', 'a']);
  });

  it('refuses what is too much, and what waits too long, as never begun', async () => {
    const turns = new FairTurns({ ...bounds, maxWaitMs: 30 });
    let begun = 0;
    const never = () => {
      begun += 1;
      return new Promise<never>(() => undefined);
    };
    void turns.run('a', never);
    const refused = { kind: 'unavailable', stored: 'nothing' };
    const line = [1, 2, 3].map(() => expect(turns.run('a', never)).rejects.toMatchObject(refused));
    void turns.run('b', never);
    line.push(expect(turns.run('b', never)).rejects.toMatchObject(refused));
    line.push(expect(turns.run('c', never)).rejects.toMatchObject(refused));
    await Promise.all(line);
    expect(begun).toBe(2);
  });

  it('gives an account one at once after a slow one, for as long as that took', async () => {
    let now = 0;
    const turns = new FairTurns({ ...bounds, atOnce: 4, atOnceOfOne: 2, slowMs: 200 }, () => now);
    const ends: (() => void)[] = [];
    const held = () => new Promise<void>((resolve) => ends.push(resolve));
    const slow = turns.run('a', held);
    now = 1000;
    ends[0]?.();
    await slow;
    now = 1900;
    const all = [turns.run('a', held), turns.run('a', held), turns.run('a', held), turns.run('b', held)];
    expect(ends).toHaveLength(3);
    now = 2000;
    ends[1]?.();
    await waitFor(() => ends.length === 5);
    for (const end of ends) end();
    await Promise.all(all);
  });

  it('gives the place of what fails to the next', async () => {
    const turns = new FairTurns(bounds);
    const failing = turns.run('a', () => Promise.reject(new Error('no')));
    const next = turns.run('a', async () => 'next');
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('next');
  });
});
