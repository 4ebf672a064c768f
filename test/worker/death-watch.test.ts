import type pg from 'pg';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { takeBack } from '../../src/services/recover.ts';
import { DeathWatch } from '../../src/worker/death-watch.ts';
import { type Fixture, openFixture } from '../db/fixture.ts';

/** What may be concluded from a lease lock that is not there. */

const SELF = 1001;
let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture();
});

async function lock(id: number): Promise<() => Promise<unknown>> {
  const client: pg.PoolClient = await fixture.db.pool.connect();
  await client.query('select pg_advisory_lock_shared(27238, $1)', [id]);
  onTestFinished(() => client.release(true));
  return () => client.query('select pg_advisory_unlock_shared(27238, $1)', [id]);
}

/** With as little patience as can be, so that only looks count. */
async function looks(watch: DeathWatch, count: number): Promise<number[][]> {
  const dead: number[][] = [];
  for (let n = 0; n < count; n += 1) dead.push((await watch.look()).dead);
  return dead;
}

const statusOf = async (id: string) =>
  (await fixture.db.one<{ status: string }>('select status from job where id = $1', [id]))?.status;

async function claimed(worker: number): Promise<string> {
  const queue = await fixture.createQueue();
  const [id = ''] = await fixture.publishJobs(queue, 1);
  await fixture.claim(queue, 1);
  await fixture.db.query('update job set worker_id = $2 where id = $1', [id, worker]);
  return id;
}

it('a worker is dead after several looks, by its lock or by its claims alone', async () => {
  await lock(SELF);
  const watch = new DeathWatch(fixture.db, SELF, 0);
  const [seen, left] = [1002, 1003];
  const leave = await lock(seen);
  await claimed(left);
  expect(await looks(watch, 3)).toEqual([[], [], []]);
  expect(await watch.look()).toEqual({ seen: true, dead: [left] });
  watch.forget(left);
  await leave();
  expect(await looks(watch, 4)).toEqual([[], [], [], [seen]]);
  watch.forget(seen);
  expect(await looks(watch, 4)).toEqual([[], [], [], []]);
});

it('one that is missed for less than three seconds is not', async () => {
  await lock(SELF);
  const watch = new DeathWatch(fixture.db, SELF);
  const leave = await lock(1004);
  await watch.look();
  await leave();
  expect((await looks(watch, 5)).flat()).toEqual([]);
  expect(watch.nextMs).toBe(250);
});

it('nothing is concluded from a server that does not have our own lock, and nothing soon after', async () => {
  const watch = new DeathWatch(fixture.db, SELF, 0);
  const id = await claimed(1005);
  for (let n = 0; n < 5; n += 1) expect(await watch.look()).toEqual({ seen: false, dead: [] });
  // As after a failover: all have to renew their locks, and we happen to be the first.
  await lock(SELF);
  expect((await looks(watch, 5)).flat()).toEqual([]);
  expect(await statusOf(id)).toBe('processing');
});

it('claims are taken back only where the server has our lock, and not theirs', async () => {
  const id = await claimed(1006);
  expect(await takeBack(fixture.db, [1006], SELF)).toEqual(new Set());
  await lock(SELF);
  const leave = await lock(1006);
  expect(await takeBack(fixture.db, [1006], SELF)).toEqual(new Set());
  expect(await statusOf(id)).toBe('processing');
  await leave();
  expect((await takeBack(fixture.db, [1006], SELF)).size).toBe(1);
  expect(await statusOf(id)).toBe('pending');
});
