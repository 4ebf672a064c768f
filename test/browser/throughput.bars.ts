import { beforeAll, describe, expect, it } from 'vitest';
import { createGraphQLClient } from '../support/graphql.ts';
import { openReceiver, startServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { openPage, type Session, signInAt, useBrowser } from './page.ts';
import { type RecordedPage, recordPage, replayPage } from './recorded-page.ts';
import { settled } from './screens.ts';

/**
 * Ten open dashboards and a queue that empties at full speed, in turns with none open: what do they cost? In life their
 * browsers stand elsewhere, so what counts are dashboards without one: their requests and streams, as recorded from a
 * real page. What they cost with ten real pages on the same machine is printed too.
 */

const DASHBOARDS = 10;
const ROUNDS = Number(process.env.DASHBOARD_ROUNDS ?? 6);
const JOBS = 40_000;
const MOST = 0.05;
const PATH = '/jobs?q=queue:full-speed';
const KEY = 'key-of-the-bootstrap-account';

describe('throughput', () => {
  let session: Session;
  let graphql: ReturnType<typeof createGraphQLClient>;
  let queueId: string;
  useBrowser();
  beforeAll(async () => {
    const receiver = await openReceiver();
    const { jobferry, api } = await startServiceProcess();
    graphql = createGraphQLClient(jobferry.baseUrl, KEY);
    session = await signInAt(jobferry.baseUrl, KEY);
    queueId = (await api.createQueue({ name: 'full-speed', webhookUrl: receiver.url, concurrency: 100 })).id;
  });

  it(`the cost of ten dashboards stays within ${MOST * 100} % of the throughput`, async () => {
    await empty();
    const page = await recordPage(session, PATH);
    const inBrowser = await costOf(watchedInBrowser);
    const onTheWire = await costOf(() => watchedOnTheWire(page));
    console.log(JSON.stringify({ onTheWire, inBrowser }, null, 1));
    expect(onTheWire.cost).toBeLessThan(MOST);
  });

  /** The median share of the deliveries a second that is lost. */
  async function costOf(watched: () => Promise<number>) {
    const rounds: { without: number; watched: number }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      // In turns, so that a machine that becomes slower does so for both.
      const first = round % 2 === 0;
      const a = first ? await empty() : await watched();
      const b = first ? await watched() : await empty();
      rounds.push(first ? { without: a, watched: b } : { without: b, watched: a });
    }
    const costs = rounds.map(({ without, watched: slower }) => 1 - slower / without).sort((x, y) => x - y);
    return { cost: costs[Math.floor(costs.length / 2)] ?? Number.NaN, rounds };
  }

  async function watchedOnTheWire(page: RecordedPage): Promise<number> {
    const dashboards = Array.from({ length: DASHBOARDS }, () => replayPage(session, page));
    const rate = await empty();
    for (const dashboard of dashboards) dashboard.close();
    return rate;
  }

  async function watchedInBrowser(): Promise<number> {
    const pages = await Promise.all(Array.from({ length: DASHBOARDS }, () => openPage(session)));
    for (const page of pages) {
      await page.page.goto(PATH);
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
