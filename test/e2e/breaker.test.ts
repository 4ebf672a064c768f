import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startJobferry, type TestJobferry } from '../../packages/client/src/testing/index.ts';
import { builtService } from '../support/built.ts';
import { waitFor } from '../support/wait-for.ts';

/** A receiver that is down for two hours, with the clock moved (I-54). */

const JOBS = 1000;
let jobferry: TestJobferry;
let isUp = false;
let requests = 0;
/** Requests to the other address, which works. */
const elsewhere: number[] = [];
let inFlight = 0;

const server = createServer((req, res) => {
  req.resume();
  req.on('end', () => {
    if (req.url === '/elsewhere') {
      inFlight += 1;
      elsewhere.push(inFlight);
      return setTimeout(() => {
        inFlight -= 1;
        res.writeHead(200).end();
      }, 50);
    }
    requests += 1;
    return res.writeHead(isUp ? 200 : 500).end();
  });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  jobferry = await startJobferry({ command: [process.execPath, builtService()] });
});
afterAll(async () => {
  await jobferry.stop();
  await new Promise((resolve) => server.close(resolve));
});

const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

const STATE = `query ($name: String!) { queue(name: $name) {
  hold { byBreaker reason } breaker { failedInRow openedAt failedProbes } depth { due processing }
} }`;
interface State {
  queue: {
    hold: { byBreaker: boolean; reason: string | null } | null;
    breaker: { failedInRow: number; openedAt: string | null; failedProbes: number };
    depth: { due: number; processing: number };
  };
}
const state = async (name: string) => (await jobferry.client.graphql<State>(STATE, { name })).queue;

/** A queue with jobs whose receiver is down, and whose breaker has opened. */
async function openBreaker(name: string, { maxAttempts, jobs }: { maxAttempts: number; jobs: number }) {
  const queue = await jobferry.createQueue({ name, webhookUrl: address(), concurrency: 10, maxAttempts });
  await jobferry.client.queues.setBreaker(name, { failures: 10 });
  await jobferry.client.jobs.publishMany(
    name,
    Array.from({ length: jobs }, () => ({ payload: {} })),
  );
  await waitFor(async () => (await state(name)).breaker.openedAt !== null);
  return queue;
}

async function count(filter: object): Promise<number> {
  const query = 'query ($filter: JobFilter!) { jobs(filter: $filter, first: 1) { totalCount } }';
  const found = await jobferry.client.graphql<{ jobs: { totalCount: number } }>(query, { filter });
  return found.jobs.totalCount;
}

it('costs few attempts and no job, and the queue goes on at the first probe after its return', async () => {
  await openBreaker('mails', { maxAttempts: 2, jobs: JOBS });
  expect(await state('mails')).toMatchObject({ hold: { byBreaker: true, reason: 'HTTP 500' } });
  await jobferry.time.pass('2h');
  expect(requests).toBeLessThanOrEqual(50);
  expect(await state('mails')).toMatchObject({ breaker: { failedProbes: 27 } });
  expect(await count({ states: ['DEAD'] })).toBe(0);

  isUp = true;
  const before = requests;
  await jobferry.time.pass('5m');
  expect(requests).toBeGreaterThan(before);
  await waitFor(async () => (await count({ states: ['COMPLETED'] })) === JOBS);
  expect(await state('mails')).toMatchObject({
    hold: null,
    breaker: { failedInRow: 0, openedAt: null, failedProbes: 0 },
  });
  const query = 'query { auditLog(first: 2) { nodes { action actor } } }';
  expect(await jobferry.client.graphql(query, {})).toMatchObject({
    auditLog: {
      nodes: [
        { action: 'queue.close_breaker', actor: 'Jobferry' },
        { action: 'queue.open_breaker', actor: 'Jobferry' },
      ],
    },
  });
});

it('probes another webhook at once, with one job before the others', async () => {
  isUp = false;
  const queue = await openBreaker('letters', { maxAttempts: 3, jobs: 30 });
  // The next probe is minutes away then.
  await jobferry.time.pass('17m');
  expect((await state('letters')).breaker.failedProbes).toBeGreaterThan(5);
  const declared = { name: 'letters', webhookUrl: `${address()}elsewhere` };
  expect(await jobferry.client.queues.ensure(declared)).toMatchObject({ outcome: 'updated' });
  await waitFor(async () => (await state('letters')).breaker.openedAt === null);
  await waitFor(async () => (await count({ states: ['COMPLETED'], queueIds: [queue.id] })) === 30);
  expect(elsewhere.slice(0, 2)).toEqual([1, 1]);
  expect(elsewhere).toHaveLength(30);
});

it('is not open on a deleted queue', async () => {
  isUp = false;
  const { id } = await jobferry.createQueue({
    name: 'faxes',
    webhookUrl: address(),
    concurrency: 2,
    backoffDelay: 0,
  });
  await jobferry.client.queues.setBreaker('faxes', { failures: 2 });
  const answers = await jobferry.client.jobs.publishMany('faxes', [{ payload: {} }, { payload: {} }]);
  const [job] = answers.flatMap(({ body }) => ('id' in body ? [body.id] : []));
  const query =
    'query ($job: ID!) { job(id: $job) { queue { hold { byBreaker } breaker { openedAt failedProbes } } } }';
  const read = async () => (await jobferry.client.graphql<{ job: State }>(query, { job })).job.queue;
  await waitFor(async () => (await read()).hold?.byBreaker);
  await jobferry.time.pass('1m');
  expect((await read()).breaker.failedProbes).toBeGreaterThan(0);
  await jobferry.client.graphql('mutation ($id: ID!) { deleteQueue(id: $id) { __typename } }', { id });
  expect(await read()).toEqual({ hold: null, breaker: { openedAt: null, failedProbes: 0 } });
});
