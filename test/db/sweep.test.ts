import { beforeAll, expect, it } from 'vitest';
import { SWEEP_START, type SweepPosition, sweepRetention } from '../../src/db/sweep.ts';
import { type Fixture, openFixture, RETENTION_MS, type TestQueue } from './fixture.ts';

/** More than two batches. */
const OLD = 1100;

let fixture: Fixture;
let queue: TestQueue;
beforeAll(async () => {
  fixture = await openFixture();
  queue = await fixture.createQueue();
});

/** As many jobs as long ago, with an attempt each; returns their ids, oldest first. */
async function jobsOf(count: number, ageMs: number): Promise<string[]> {
  const rows = await fixture.db.query<{ id: string }>(
    `with made as (
       insert into job (id, account_id, queue_id, status, attempts, max_attempts, backoff_type, backoff_delay, payload,
                        scheduled_for, deliver_by, created_at, completed_at)
       select jobferry_id(at), $1, $2, 'completed', 1, 3, 'fixed', 1, '{}', at, at, at, at
         from generate_series(1, $3::integer) n,
              lateral (select jobferry_now() - ($4::float8 - n) * interval '1 ms' as at) t
       returning id
     ), attempts as (
       insert into attempt (job_id, ordinal, queue_id, attempt, status, "timestamp")
       select id, 1, $2, 1, 'success', now() from made
     )
     select id from made order by id`,
    [fixture.accountId, queue.id, count, ageMs],
  );
  return rows.map(({ id }) => id);
}

async function sweep(): Promise<number> {
  let rounds = 0;
  let position: SweepPosition | null = SWEEP_START;
  while (position !== null) {
    rounds += 1;
    position = await sweepRetention(fixture.db, RETENTION_MS, position);
  }
  return rounds;
}

async function left(): Promise<{ jobs: string[]; attempts: string[] }> {
  const jobs = await fixture.db.query<{ id: string }>('select id from job order by id');
  const attempts = await fixture.db.query<{ id: string }>('select job_id as id from attempt order by job_id');
  return { jobs: jobs.map(({ id }) => id), attempts: attempts.map(({ id }) => id) };
}

it('removes all that is past retention, batch after batch, and leaves what somebody holds to the next sweep', async () => {
  const kept = await jobsOf(3, RETENTION_MS - 60_000);
  const old = await jobsOf(OLD, RETENTION_MS + 60_000);
  const held = [old[0], old[700]] as [string, string];
  const holder = await fixture.db.pool.connect();
  await holder.query('begin');
  await holder.query('select from job where id = any ($1) for update', [held]);
  expect(await sweep()).toBe(3);
  await holder.query('rollback');
  holder.release();
  const before = [...held, ...kept].sort();
  expect(await left()).toEqual({ jobs: before, attempts: before });
  await sweep();
  expect(await left()).toEqual({ jobs: kept, attempts: kept });
});
