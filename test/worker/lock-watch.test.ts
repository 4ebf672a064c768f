import type pg from 'pg';
import { pino } from 'pino';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { forgetConfirmations } from '../../src/db/delivery/lease-locks.ts';
import { NO_CHANGES } from '../../src/live/live.ts';
import { LockWatch } from '../../src/worker/lease/lock-watch.ts';
import { DeadWorkers } from '../../src/worker/maintenance/dead-workers.ts';
import { takeBack } from '../../src/worker/maintenance/recover.ts';
import { type Fixture, openFixture } from '../support/database-fixture.ts';
import { waitFor } from '../support/wait-for.ts';

/** The conclusions that a missing lease lock allows. */

const SELF = 1001;
/** Absent locks prove something from the start. */
const atOnce = () => 0;
let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture();
});

async function lock(id: number): Promise<() => Promise<unknown>> {
  const client: pg.PoolClient = await fixture.db.pool.connect();
  await client.query('select pg_advisory_lock_shared(27238, $1)', [id]);
  // Unlocked before the connection ends, which the server may notice only when the next test has begun.
  onTestFinished(async () => {
    await client.query('select pg_advisory_unlock_all()');
    client.release(true);
  });
  return () => client.query('select pg_advisory_unlock_shared(27238, $1)', [id]);
}

/** Polls of a watch whose time limit is 0, so that only the number of polls counts. */
async function polls(watch: LockWatch, count: number): Promise<number[][]> {
  const dead: number[][] = [];
  for (let n = 0; n < count; n += 1) dead.push((await watch.poll()).dead);
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

it('a worker is dead after several polls without its lock, or when only its claims are left', async () => {
  await lock(SELF);
  const watch = new LockWatch(fixture.db, SELF, atOnce, 0);
  const [seen, left] = [1002, 1003];
  const leave = await lock(seen);
  await claimed(left);
  expect(await polls(watch, 3)).toEqual([[], [], []]);
  expect(await watch.poll()).toEqual({ seen: true, dead: [left] });
  watch.forget(left);
  await leave();
  expect(await polls(watch, 4)).toEqual([[], [], [], [seen]]);
  watch.forget(seen);
  expect(await polls(watch, 4)).toEqual([[], [], [], []]);
});

/** Until the test is over: what was confirmed some seconds ago stays so, however busy the machine is. */
async function stopClock(): Promise<void> {
  const { db } = fixture;
  const text = `select pg_get_functiondef('jobferry_now'::regproc) as definition, jobferry_now()::text as now`;
  const row = await db.one<{ definition: string; now: string }>(text);
  await db.query(`create or replace function jobferry_now() returns timestamptz language sql volatile parallel safe
                    as $$ select timestamptz '${row?.now}' $$`);
  onTestFinished(() => db.query(row?.definition ?? '').then(() => undefined));
}

async function confirmed(id: number, ago: string): Promise<void> {
  await fixture.db.query('insert into lease_confirmation values ($1, jobferry_now() - $2::interval)', [id, ago]);
  onTestFinished(() => forgetConfirmations(fixture.db, [id]));
}

it('a worker whose lock was last confirmed three seconds ago is dead at the first poll of a process that never saw it', async () => {
  await lock(SELF);
  await lock(1011);
  await stopClock();
  for (const id of [1010, 1011]) await confirmed(id, '3 s');
  await confirmed(1012, '2.5 s');
  // As after a clock was set: a confirmation in the future, or of long ago, proves nothing.
  await confirmed(1013, '-1 hour');
  await confirmed(1014, '61 min');
  const watch = new LockWatch(fixture.db, SELF, atOnce);
  expect(await watch.poll()).toEqual({ seen: true, dead: [1010] });
  await forgetConfirmations(fixture.db, [1010]);
  expect(await watch.poll()).toEqual({ seen: true, dead: [] });
  const left = await fixture.db.query<{ id: number }>('select worker_id as id from lease_confirmation order by 1');
  expect(left.map(({ id }) => id)).toEqual([1011, 1012, 1013]); // and 1014's, which is too old, is deleted as well
});

it('nothing is concluded while other workers may still be taking their locks again', async () => {
  // As after the restart of a proxy: all sessions are gone, and the confirmations are still there.
  await lock(SELF);
  await confirmed(1015, '5 s');
  const id = await claimed(1015);
  let recovered = false;
  const watch = new LockWatch(fixture.db, SELF, () => (recovered ? 0 : Number.POSITIVE_INFINITY), 0);
  expect((await polls(watch, 5)).flat()).toEqual([]);
  expect(await statusOf(id)).toBe('processing');
  recovered = true;
  expect((await watch.poll()).dead).toEqual([1015]);
});

it('a worker whose lock is missing for less than the time limit is not dead', async () => {
  await lock(SELF);
  const watch = new LockWatch(fixture.db, SELF, atOnce, 60_000);
  expect([watch.nextMs(false), watch.nextMs(true)]).toEqual([500, 2000]);
  const leave = await lock(1004);
  await watch.poll();
  await leave();
  expect((await polls(watch, 5)).flat()).toEqual([]);
  expect(watch.nextMs(false)).toBe(250);
  expect(watch.nextMs(true)).toBe(250);
});

it('nothing is concluded from a server that does not have our own lock, and nothing soon after', async () => {
  const watch = new LockWatch(fixture.db, SELF, atOnce, 0);
  const id = await claimed(1005);
  for (let n = 0; n < 5; n += 1) expect(await watch.poll()).toEqual({ seen: false, dead: [] });
  // As after a failover: all workers have to take their locks again, and we happen to be the first.
  await lock(SELF);
  await confirmed(1005, '3 s');
  expect((await polls(watch, 5)).flat()).toEqual([]);
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
  await confirmed(1006, '1 s');
  expect(await takeBack(fixture.db, [1006], SELF)).toEqual(new Set());
  await forgetConfirmations(fixture.db, [1006]);
  expect((await takeBack(fixture.db, [1006], SELF)).size).toBe(1);
  expect(await statusOf(id)).toBe('pending');
});

it('jobs that were taken back are delivered at once, even if the confirmations cannot be deleted', async () => {
  await lock(SELF);
  const id = await claimed(1007);
  await confirmed(1007, '3 s');
  const woken: string[] = [];
  const { db } = fixture;
  const liveness = { workerId: SELF, recoveringUntil: 0, wasNotSeen: () => undefined };
  const wake = (queueId: string) => void woken.push(queueId);
  const deadWorkers = new DeadWorkers({
    db,
    log: pino({ enabled: false }),
    liveness,
    changes: NO_CHANGES,
    wake,
    isResting: () => false,
  });
  const other = await db.pool.connect();
  await other.query('begin; lock table lease_confirmation in share mode');
  const round = deadWorkers.round();
  try {
    await waitFor(() => woken.length > 0);
  } finally {
    await other.query('rollback');
    other.release();
  }
  await round;
  expect(await statusOf(id)).toBe('pending');
  expect(await db.query('select from lease_confirmation where worker_id = 1007')).toEqual([]);
});
