import { beforeAll, describe, expect, it } from 'vitest';
import { createOperations } from './operations.ts';
import { openPage, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { type SeededService, seedService } from './seed.ts';
import { JOBS, seedMillion } from './seed-million.ts';
import type { WatchedPage } from './watched-page.ts';

/** `npm run rig dashboard`: tabs that stay open on a service of the largest size, while jobs come and go. */

const MINUTES = Number(process.env.DASHBOARD_MINUTES ?? 30);
const QUEUES = 1000;
const JOBS_PER_SECOND = 200;
const TICK_MS = 200;
/** The growth of a tab that is allowed, from its second fifth, when all that it keeps is there, to its last. */
const MOST_GROWTH = 0.1;
const SCREENS = {
  overview: '/',
  queues: '/queues',
  jobs: '/jobs',
  'jobs of a queue': '/jobs?q=queue:bulk-1',
  queue: '/queues/bulk-1?compare=day',
  receivers: '/receivers',
} as const;

interface Sample {
  heap: number;
  nodes: number;
}

describe(`with ${QUEUES} queues, ${JOBS} jobs and ${JOBS_PER_SECOND} new ones a second`, () => {
  let service: SeededService;
  const names: string[] = [];
  useBrowser();
  beforeAll(async () => {
    service = await seedService({ beforeWorker: (databaseUrl, queues) => seedMillion(databaseUrl, queues) });
    const { createQueue } = createOperations(service.graphql);
    const { queue } = await service.graphql.query('{ queue(name: "audit-trail") { webhookUrl } }', {});
    // An account has 1000 slots, so that 1000 queues have one each.
    const oneSlot = 'mutation ($id: ID!) { updateQueue(id: $id, input: { concurrency: 1 }) { __typename } }';
    for (const id of Object.values(service.queues)) await service.graphql.query(oneSlot, { id });
    for (let n = Object.keys(service.queues).length; n < QUEUES; n += 1) {
      const name = `bulk-${QUEUES - n}`;
      await createQueue({ name, webhookUrl: queue.webhookUrl, concurrency: 1 });
      names.push(name);
    }
  });

  it(`no tab grows in ${MINUTES} minutes`, { timeout: (MINUTES + 10) * 60_000 }, async () => {
    const tabs = await Promise.all(
      Object.entries(SCREENS).map(async ([name, path]) => {
        const watched = await openPage(service.session);
        const { page } = watched;
        const answers: number[] = [];
        page.on('requestfinished', (request) => {
          if (request.headers().accept !== 'text/event-stream' && request.url().endsWith('/graphql'))
            answers.push(request.timing().responseEnd);
        });
        await page.goto(path);
        await settled(watched);
        return { name, watched, answers, samples: [] as Sample[] };
      }),
    );
    const load = startLoad(service, names);
    for (let minute = 0; minute < MINUTES; minute += 1) {
      await tabs[0]?.watched.page.waitForTimeout(60_000);
      for (const { watched, samples } of tabs) samples.push(await sampleOf(watched));
    }
    const published = await load.stop();
    console.log(`${published} jobs published, ${Math.round(published / MINUTES / 60)} a second`);
    for (const { name, samples, answers } of tabs) report(name, samples, answers);
    for (const { name, samples } of tabs) {
      expect(growthOf(samples.map(({ heap }) => heap)), `heap of ${name}`).toBeLessThanOrEqual(MOST_GROWTH);
      expect(growthOf(samples.map(({ nodes }) => nodes)), `nodes of ${name}`).toBeLessThanOrEqual(MOST_GROWTH);
    }
  });
});

/** Publishes to all queues in turn until it is stopped. */
function startLoad({ graphql }: SeededService, names: readonly string[]): { stop: () => Promise<number> } {
  let isRunning = true;
  let published = 0;
  const mutation = `mutation ($jobs: [PublishJobsInput!]!) { publishJobs(jobs: $jobs) {
    ... on PublishJobsPayload { answers { __typename } } } }`;
  const end = (async () => {
    while (isRunning) {
      const next = new Promise((resolve) => setTimeout(resolve, TICK_MS));
      const jobs = Array.from({ length: (JOBS_PER_SECOND * TICK_MS) / 1000 }, (_, n) => ({
        // One in ten is of the queue that two tabs show.
        queue: n % 10 === 0 ? 'bulk-1' : names[(published + n) % names.length],
        job: { payloadText: `{"n":${published + n}}` },
      }));
      const { publishJobs } = await graphql.query(mutation, { jobs });
      const answers = publishJobs.answers as { __typename: string }[];
      published += answers.filter(({ __typename }) => __typename === 'PublishJobPayload').length;
      await next;
    }
  })();
  return {
    stop: async () => {
      isRunning = false;
      await end;
      return published;
    },
  };
}

/** The memory that a tab keeps, after its garbage is collected. */
async function sampleOf({ page }: WatchedPage): Promise<Sample> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const { nodes } = await session.send('Memory.getDOMCounters');
  await session.detach();
  return { heap: usedSize, nodes };
}

/** By how much the median of the last fifth is above that of the second fifth. */
function growthOf(values: readonly number[]): number {
  const fifth = Math.ceil(values.length / 5);
  const before = median(values.slice(fifth, 2 * fifth));
  return median(values.slice(-fifth)) / before - 1;
}

function report(name: string, samples: readonly Sample[], answers: readonly number[]): void {
  const heaps = samples.map(({ heap }) => (heap / 1e6).toFixed(2)).join(' ');
  const nodes = samples.map((sample) => sample.nodes).join(' ');
  const sorted = [...answers].sort((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN);
  console.log(
    `${name}: ${answers.length} answers, p50 ${at(0.5)} ms, p95 ${at(0.95)} ms\n  heap, MB: ${heaps}\n  nodes: ${nodes}`,
  );
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
