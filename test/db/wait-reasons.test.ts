import { beforeAll, expect, it } from 'vitest';
import { waitingJobs } from '../../src/db/insight/queues.ts';
import { WAIT_REASONS, whyWaiting } from '../../src/domain/waiting.ts';
import { createRandom } from '../support/insight.ts';
import { openSearchFixture } from '../support/search-fixture.ts';

/** A filter by waiting reason finds exactly the jobs that show this reason, whatever their queues do. */
let fixture: Awaited<ReturnType<typeof openSearchFixture>>;
const MINUTE = 60_000;
const random = createRandom(14);
const draw = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;

beforeAll(async () => {
  fixture = await openSearchFixture();
  for (let n = 0; n < 60; n += 1) {
    const queue = await fixture.createQueue({
      concurrency: draw([1, 5]),
      rate_limit_max: draw([null, 3]),
      rate_limit_window: 3600,
    });
    for (let job = 0; job < 6; job += 1) {
      await fixture.insertJob({
        queue,
        // Also to the millisecond of the end of a hold, where the reasons of job and queue meet.
        scheduledInMs: draw([-2, -1, 0, 5, 10, 15].map((minutes) => minutes * MINUTE)),
        waitReason: draw([null, 'backoff', 'hold']),
      });
    }
    const probe = await fixture.insertJob({ queue, status: 'processing' });
    if (draw([true, false]))
      await fixture.db.query(
        `update job set status = 'dead', worker_id = null, deadline = null, dead_reason = 'nacked' where id = $1`,
        [probe],
      );
    await fixture.db.query(
      `update queue set hold_until = to_timestamp($2::float8 / 1000), probe_job_id = $3,
              paused_at = case when $4 then jobferry_now() end, paused_by = case when $4 then 'test' end
        where id = $1`,
      [queue.id, ...holdOf(probe), draw([true, false, false, false])],
    );
    await fixture.db.query(
      `select jobferry_use_rate(id, (jobferry_rate_window(rate_limit_window, jobferry_now())).starts, $2)
         from queue where id = $1 and rate_limit_max is not null`,
      [queue.id, draw([0, 3])],
    );
  }
});

/** The end of a hold, and its probe: none, a hold to come, or one that has passed and is probed. */
function holdOf(probe: string): [until: number | null, probe: string | null] {
  const minutes = draw([null, null, 10, -1]);
  if (minutes === null) return [null, null];
  return [fixture.now + minutes * MINUTE, minutes < 0 ? probe : null];
}

it('finds the jobs that show the reason, and no others', async () => {
  const pending = await fixture.find({ statuses: ['pending'] });
  const shown = await waitingJobs(fixture.db, fixture.accountId, pending);
  const reasonOf = new Map(shown.map(({ id, job, queue, now }) => [id, whyWaiting(job, queue, now).reason]));
  expect(reasonOf.size).toBe(360);
  const seen = new Set(reasonOf.values());
  for (const reason of WAIT_REASONS) {
    const found = await fixture.findEveryWay({ waitReasons: [reason] });
    expect([...found].sort(), reason).toEqual(pending.filter((id) => reasonOf.get(id) === reason).sort());
  }
  expect([...seen].sort()).toEqual(WAIT_REASONS.filter((reason) => reason !== 'queue_deleted').sort());
  expect([...(await fixture.findEveryWay({ waitReasons: [...WAIT_REASONS] }))].sort()).toEqual(pending.sort());
});
