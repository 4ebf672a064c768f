import { beforeAll, expect, it } from 'vitest';
import { runJobNow } from '../../src/db/jobs/operations.ts';
import { pauseQueue, resumeQueue } from '../../src/db/queues/operations.ts';
import { OPERATOR } from '../../src/domain/audit.ts';
import {
  DELIVERED,
  FAILED,
  type Fixture,
  LIFETIME_MS,
  openFixture,
  type TestQueue,
} from '../support/database-fixture.ts';

/** A statement that writes a wake-up finds it by its key: it must not read the wake-ups of other queues. */

const OTHERS = 3000;

let fixture: Fixture;
let queue: TestQueue;

beforeAll(async () => {
  fixture = await openFixture();
  // Each connection counts for itself.
  fixture.db.pool.options.max = 1;
  queue = await fixture.createQueue({ backoff_delay: 60 });
  await fixture.db.query(
    `select jobferry_wake('deliver', lpad(n::text, 24, '0'), jobferry_now() + interval '1 hour')
       from generate_series(1, ${OTHERS}) n`,
  );
  await fixture.db.query('analyze');
});

const by = () => ({ accountId: fixture.accountId, actor: OPERATOR });

it.each<[string, () => Promise<unknown>]>([
  ['publish', () => fixture.publishJobs(queue, 3)],
  ['publish for later', () => fixture.publishJobs(queue, 3, { delayMs: 3_600_000 * Math.random() })],
  ['claim', () => fixture.claim(queue, 1)],
  ['settle a success', async () => settled(DELIVERED)],
  ['settle a failure, which is retried', async () => settled(FAILED)],
  ['run a job now', runNow],
  ['pause and resume', pauseAndResume],
])('%s', async (_name, work) => {
  await fixture.publishJobs(queue, 20);
  const calls = 8;
  const before = await wakeUpsRead();
  for (let call = 0; call < calls; call += 1) await work();
  expect((await wakeUpsRead()) - before).toBeLessThan(calls * 50);
});

async function settled(event: typeof DELIVERED): Promise<void> {
  const { jobs } = await fixture.claim(queue, 1);
  expect(jobs).toHaveLength(1);
  for (const job of jobs) expect(await fixture.settle(job, event)).toBe(true);
}

async function runNow(): Promise<void> {
  const [id = ''] = await fixture.publishJobs(queue, 1, { delayMs: 3_600_000 });
  expect(await runJobNow(fixture.db, by(), { id, token: 0 } as never)).toBe(true);
}

async function pauseAndResume(): Promise<void> {
  await pauseQueue(fixture.db, by(), queue.id);
  await resumeQueue(fixture.db, by(), queue.id, LIFETIME_MS);
}

/** Rows and entries of indexes. */
async function wakeUpsRead(): Promise<number> {
  await fixture.db.query('select pg_stat_force_next_flush()');
  const row = await fixture.db.one<{ rows: number }>(
    `select (t.seq_tup_read + t.idx_tup_fetch
             + (select sum(idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid))::float8 as rows
       from pg_stat_user_tables t where t.schemaname = 'graphile_worker' and t.relname = '_private_jobs'`,
  );
  return row?.rows ?? Number.NaN;
}
