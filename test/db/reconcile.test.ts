import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../src/db/connection/database.ts';
import { jobsPastLifetime, queuesPastLifetime } from '../../src/db/delivery/stored-job.ts';
import { eachQueuePage, queuesWithWork } from '../../src/db/delivery/wake-ups.ts';
import { NO_CHANGES } from '../../src/live/live.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { Maintenance, type MaintenanceParts } from '../../src/worker/maintenance/maintenance.ts';
import { endLifetimes } from '../../src/worker/maintenance/recover.ts';
import { type Fixture, openFixture, type TestQueue } from '../support/database-fixture.ts';
import { waitFor } from '../support/wait-for.ts';

const EXPIRED = 20_000;
const HOUR_MS = 3_600_000;

let fixture: Fixture;
let due: TestQueue;
let late: TestQueue;
let deleted: TestQueue;
let ids: string[];

beforeAll(async () => {
  fixture = await openFixture();
  const { db } = fixture;
  for (const table of ['job', 'queue']) await db.query(`alter table ${table} set (autovacuum_enabled = off)`);
  const [paused, resumed] = [await fixture.createQueue(), await fixture.createQueue()];
  for (let n = 0; n < 20; n += 1) await fixture.createQueue();
  [due, late, deleted] = [await fixture.createQueue(), await fixture.createQueue(), await fixture.createQueue()];
  await db.query(`update queue set paused_at = jobferry_now(), paused_by = 'test' where id = $1`, [paused.id]);
  await db.query(`update queue set lifetime_floor = jobferry_now() + interval '1 day' where id = $1`, [resumed.id]);
  await fixture.insertJobs(paused, EXPIRED, 60);
  await fixture.insertJobs(resumed, EXPIRED, 60);
  await fixture.insertJobs(due, 1000, 1);
  await fixture.insertJobs(late, 3, 30);
  await fixture.insertJobs(deleted, 1, 1);
  await db.query('update queue set deleted_at = jobferry_now() where id = $1', [deleted.id]);
  ids = (await db.query<{ id: string }>('select id from queue order by id')).map(({ id }) => id);
});

/** Until the test ends: each connection has counters and plans of its own. */
function useOneConnection(db: Database): void {
  const { options } = db.pool;
  const { max } = options;
  options.max = 1;
  onTestFinished(() => {
    options.max = max;
  });
}

it.each(['as it was never analysed', 'analysed'])('looks at the heads of queues only, %s', async (state) => {
  const { db } = fixture;
  useOneConnection(db);
  if (state === 'analysed') await db.query('analyze');
  for (const mode of ['force_generic_plan', 'auto']) {
    await db.query(`set plan_cache_mode = ${mode}`);
    const lifetimes = await fixture.rowsRead(async () => {
      expect(await queuesPastLifetime(db, ids)).toEqual([late.id]);
      expect(await jobsPastLifetime(db, [late.id], 500)).toHaveLength(3);
    });
    expect(lifetimes, `lifetimes, ${mode}`).toBeLessThan(50);
    const work = await fixture.rowsRead(async () => {
      const found = await queuesWithWork(db, ids);
      expect(found.due.sort()).toEqual(expect.arrayContaining([due.id, late.id, deleted.id]));
    });
    expect(work, `work, ${mode}`).toBeLessThan(100);
    await db.query('discard plans');
  }
});

it('goes through all queues page by page, live and deleted ones', async () => {
  const pages: string[][] = [];
  for await (const page of eachQueuePage(fixture.db, 'live', { after: '' })) pages.push(page);
  expect(pages.flat()).toEqual(ids.filter((id) => id !== deleted.id));
  const cursor = { after: pages.flat()[3] ?? '' };
  const rest: string[] = [];
  for await (const page of eachQueuePage(fixture.db, 'live', cursor)) rest.push(...page);
  expect(rest).toEqual(pages.flat().slice(4));
  expect(cursor.after).toBe('');
  for await (const page of eachQueuePage(fixture.db, 'deleted', { after: '' })) expect(page).toEqual([deleted.id]);
});

/** As in a worker. It has no lease lock here, so it finds no dead workers. */
function maintenanceOf(parts: Record<string, unknown> & { db: Database }): Maintenance {
  return new Maintenance({
    log: createLog({ level: 'fatal' }),
    liveness: { workerId: 0, wasNotSeen: () => undefined },
    changes: NO_CHANGES,
    clock: { now: () => null },
    release: { knowsAll: true },
    periods: { retentionMs: 3 * 24 * HOUR_MS, lifetimeMs: 24 * HOUR_MS },
    retentionSweepMs: HOUR_MS,
    deadlines: { check: async () => undefined },
    bulkActions: { takeIdle: async () => undefined, keep: async () => undefined },
    wake: () => true,
    isDelivering: () => false,
    isResting: () => false,
    ...parts,
  } as unknown as MaintenanceParts);
}

it.each([
  ['fails', () => Promise.reject(new Error('on purpose'))],
  ['never ends', () => new Promise<never>(() => undefined)],
])('a step that %s keeps no other from its work', async (_what, instead) => {
  const woken = new Set<string>();
  const db = Object.create(fixture.db) as Database;
  db.query = (async (statement: { name?: string }, values: unknown[]) =>
    statement.name === 'stored-jobs-past-lifetime'
      ? instead()
      : fixture.db.query(statement as never, values)) as Database['query'];
  const maintenance = maintenanceOf({
    db,
    wake: (queueId: string) => woken.add(queueId),
    bulkActions: { takeIdle: () => instead() as Promise<never>, keep: () => instead() as Promise<never> },
  });
  maintenance.start();
  await waitFor(() => woken.has(due.id) && woken.has(deleted.id));
  void maintenance.stop();
});

it('stops between two batches, and uses the database no more once it has stopped', async () => {
  const { db } = fixture;
  const many = await fixture.createQueue();
  await fixture.insertJobs(many, 1200, 30);
  const used: string[] = [];
  const stopped: Promise<void>[] = [];
  const watched = Object.create(db) as Database;
  watched.query = (async (statement: { name: string }, values: unknown[]) => {
    used.push(statement.name);
    if (statement.name === 'settle' && stopped.length === 0) stopped.push(maintenance.stop());
    return db.query(statement as never, values);
  }) as Database['query'];
  const maintenance = maintenanceOf({ db: watched });
  maintenance.start();
  await waitFor(() => stopped.length === 1);
  await stopped[0];
  const usedBefore = used.length;
  const pending = 'select count(*)::integer as count from job where queue_id = any ($1) and status = $2';
  // One batch of the 1203 has ended: half of it from each of the two queues, one of which has three jobs only.
  expect(await db.one(pending, [[many.id, late.id], 'pending'])).toEqual({ count: 950 });
  expect(used.slice(usedBefore)).toEqual([]);
  expect(used.filter((name) => name === 'settle')).toHaveLength(1);
});

it('ends lifetimes of many queues in turn, and reads about as many jobs as it ends', async () => {
  const { db } = fixture;
  const [queues, backlog, batches] = [200, 200, 4];
  const many: string[] = [];
  for (let n = 0; n < queues; n += 1) {
    const queue = await fixture.createQueue();
    await fixture.insertJobs(queue, backlog, 30);
    many.push(queue.id);
  }
  useOneConnection(db);
  let begun = 0;
  const touched = new Set<string>();
  const rows = await fixture.rowsRead(async () => {
    for (const id of await endLifetimes(db, NO_CHANGES, many, () => ++begun <= batches)) touched.add(id);
  });
  const count = `select count(*)::integer as count from job where queue_id = any ($1) and status = 'dead'`;
  const { count: ended } = (await db.one<{ count: number }>(count, [many])) ?? { count: 0 };
  expect(ended).toBe(batches * 500);
  expect(touched.size).toBe(queues);
  // A read of each backlog would be 40 000 rows a batch. To settle a job takes four reads, or five with another plan.
  expect(rows).toBeLessThan(queues + 10 * ended);
  await endLifetimes(db, NO_CHANGES, many);
  expect(await db.one(count, [many])).toEqual({ count: queues * backlog });
});
