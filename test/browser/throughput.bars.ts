import { beforeAll, describe, expect, it } from 'vitest';
import { createGraphQLClient } from '../support/graphql.ts';
import { openReceiver, startService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { openPage, type Session, signInAt, useBrowser } from './page.ts';
import { settled } from './screens.ts';

/** Ten open dashboards and a queue that empties at full speed, in turns with none open: what do they cost? */

const DASHBOARDS = 10;
const ROUNDS = Number(process.env.DASHBOARD_ROUNDS ?? 6);
const JOBS = 4000;
const MOST = 0.05;
const KEY = 'key-of-the-bootstrap-account';

describe('throughput', () => {
  let session: Session;
  let graphql: ReturnType<typeof createGraphQLClient>;
  let queueId: string;
  useBrowser();
  beforeAll(async () => {
    const receiver = await openReceiver();
    const { jobferry, api } = await startService();
    graphql = createGraphQLClient(jobferry.baseUrl, KEY);
    session = await signInAt(jobferry.baseUrl, KEY);
    queueId = (await api.createQueue({ name: 'full-speed', webhookUrl: receiver.url, concurrency: 100 })).id;
  });

  it(`of ten dashboards stays within ${MOST * 100} %`, async () => {
    const pairs: { without: number; watched: number }[] = [];
    await empty();
    for (let round = 0; round < ROUNDS; round += 1) {
      // In turns, so that a machine that becomes slower does so for both.
      const first = round % 2 === 0;
      const a = first ? await empty() : await watched();
      const b = first ? await watched() : await empty();
      pairs.push(first ? { without: a, watched: b } : { without: b, watched: a });
    }
    const costs = pairs.map(({ without, watched: slower }) => 1 - slower / without).sort((x, y) => x - y);
    const median = costs[Math.floor(costs.length / 2)] ?? Number.NaN;
    console.log(pairs, `median cost ${(median * 100).toFixed(1)} %`);
    expect(median).toBeLessThan(MOST);
  });

  async function watched(): Promise<number> {
    const pages = await Promise.all(Array.from({ length: DASHBOARDS }, () => openPage(session)));
    for (const page of pages) {
      await page.page.goto('/jobs?q=queue:full-speed');
      await settled(page);
    }
    const rate = await empty();
    await Promise.all(pages.map((page) => page.page.context().close()));
    return rate;
  }

  /** @returns deliveries a second from the resume of a full queue to its end */
  async function empty(): Promise<number> {
    const change = (name: string) =>
      graphql.query(`mutation ($id: ID!) { ${name}(id: $id) { __typename } }`, { id: queueId });
    await change('pauseQueue');
    const jobs = Array.from({ length: 1000 }, () => ({ queue: 'full-speed', job: { payloadText: '{"n":1}' } }));
    for (let n = 0; n < JOBS; n += jobs.length) {
      await graphql.query('mutation ($jobs: [PublishJobsInput!]!) { publishJobs(jobs: $jobs) { __typename } }', {
        jobs,
      });
    }
    const start = performance.now();
    await change('resumeQueue');
    await waitFor(
      async () => {
        const { queue } = await graphql.query('query ($id: ID!) { queue(id: $id) { depth { due processing } } }', {
          id: queueId,
        });
        return queue.depth.due + queue.depth.processing === 0;
      },
      { everyMs: 100, timeoutMs: 120_000 },
    );
    return JOBS / ((performance.now() - start) / 1000);
  }
});
