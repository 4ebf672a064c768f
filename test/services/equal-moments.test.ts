import { beforeAll, describe, expect, it } from 'vitest';
import type { Position, Slice } from '../../src/domain/page.ts';
import { DEFAULT_PLANS } from '../../src/domain/plan.ts';
import { createJobSearch } from '../../src/services/jobs/search.ts';
import { settleAs } from '../support/activity.ts';
import { PERIODS, type TestQueue, takeOverClock } from '../support/database-fixture.ts';
import { type Insight, openInsight } from '../support/insight.ts';
import { openServices } from '../support/services.ts';

/** Jobs that were published, and died, in one millisecond: their order in lists is that of their ids alone. */

const NOW = Date.UTC(2026, 10, 21, 12);
const JOBS = 250;
/** Neither divides the number of jobs nor one another. */
const LIMITS = [24, 100];

let insight: Insight;
let op: ReturnType<typeof openServices>;
let queue: TestQueue;
let ids: string[];

beforeAll(async () => {
  insight = await openInsight();
  await takeOverClock(insight.db, NOW);
  op = openServices(insight.url, PERIODS);
  queue = await insight.createQueue({ max_attempts: 1, concurrency: JOBS });
  ids = await insight.publishJobs(queue, JOBS);
  const outcome = { kind: 'failed', statusCode: 500, error: 'HTTP 500' } as const;
  for (const job of (await insight.claim(queue)).jobs)
    await settleAs(insight, job, { type: 'answered', outcome }, NOW, 1);
});

/** All pages of a list, one after the other. */
async function pages<T>(limit: number, page: (number: number) => Promise<{ total: number; jobs: T[] }>): Promise<T[]> {
  const all: T[] = [];
  for (let number = 1; number <= Math.ceil(JOBS / limit); number += 1) {
    const { total, jobs } = await page(number);
    expect(total).toBe(JOBS);
    all.push(...jobs);
  }
  expect((await page(Math.ceil(JOBS / limit) + 1)).jobs).toEqual([]);
  return all;
}

/** All positions of a search, each part from the end of the one before. */
async function positions(limit: number, search: (slice: Slice) => Promise<Position[]>): Promise<string[]> {
  const all: Position[] = [];
  for (;;) {
    const after = all.at(-1);
    const found = await search({ limit, inverted: false, ...(after !== undefined && { after }) });
    if (found.length === 0) return all.map(({ id }) => id);
    all.push(...found);
  }
}

describe.each(LIMITS)('jobs of one moment, in pages of %i', (limit) => {
  it('are each listed once', async () => {
    const listed = await pages(limit, (page) => op.jobs.list(insight.account, queue.id, { page, limit }));
    expect(new Set(listed.map(({ createdAt }) => createdAt.getTime()))).toEqual(new Set([NOW]));
    expect(listed.map(({ id }) => id)).toEqual(ids.toReversed());
  });

  it('are each found once, in every order', async () => {
    const { search } = createJobSearch({ db: insight.db, plans: DEFAULT_PLANS, periods: PERIODS });
    for (const field of ['created_at', 'scheduled_for', 'completed_at'] as const) {
      for (const descending of [true, false]) {
        const found = await positions(limit, (slice) => search(insight.account, {}, { field, descending }, slice));
        expect(found, `${field} ${descending}`).toEqual(descending ? ids.toReversed() : ids);
      }
    }
  });

  it('are each a dead letter once', async () => {
    const listed = await pages(limit, (page) => op.deadLetters.list(insight.account, queue.id, { page, limit }));
    expect(listed.map(({ originalJobId }) => originalJobId).toSorted()).toEqual(ids.toSorted());
    const found = await positions(limit, (slice) => insight.deadLetters.search(insight.account, {}, slice));
    expect(found).toEqual(listed.map(({ id }) => id));
  });
});
