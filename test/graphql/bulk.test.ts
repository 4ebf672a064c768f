import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { runBulkAction } from '../../src/worker/bulk/run.ts';
import { bulkRow, insertDeadLetters } from '../support/bulk.ts';
import { claimOf } from '../support/claim.ts';
import { createTestDatabase } from '../support/database.ts';
import type { GraphQL } from '../support/graphql.ts';
import { openGraphQL } from '../support/graphql-server.ts';

/** Bulk actions over the wire, among jobs of another account; the test itself is the worker. */
let server: Awaited<ReturnType<typeof openGraphQL>>;
let graphql: GraphQL;
let stranger: GraphQL;
let queues = 0;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  server = await openGraphQL(url);
  ({ graphql } = await server.newAccount());
  ({ graphql: stranger } = await server.newAccount());
});

interface Queue {
  id: string;
  name: string;
}

async function createQueue(client = graphql): Promise<Queue> {
  queues += 1;
  const { createQueue: created } = await client.query(
    `mutation Q($input: CreateQueueInput!) { createQueue(input: $input) { ... on CreateQueuePayload { queue { id name } } } }`,
    { input: { name: `queue-${queues}`, webhookUrl: 'http://127.0.0.1:9/', maxAttempts: 2 } },
  );
  return created.queue;
}

async function publish({ name }: Queue, payload: object, delay: number, client = graphql): Promise<string> {
  const { publishJob } = await client.query(
    `mutation P($queue: String!, $input: PublishInput!) {
      publishJob(queue: $queue, input: $input) { ... on PublishJobPayload { job { id } } }
    }`,
    { queue: name, input: { payload, delay } },
  );
  return publishJob.job.id;
}

/** Sends a mutation of a bulk action, does its work, and answers it with its row. */
async function run(mutation: string, variables: object) {
  const data = await graphql.query(mutation, variables);
  const { message, action, matched } = Object.values(data)[0] as {
    message?: string;
    matched: number;
    action: { id: string } | null;
  };
  if (message !== undefined) throw new Error(message);
  if (action === null) return { matched, id: null, row: null };
  for (let wait: number | null = 0; wait !== null; ) {
    wait = await runBulkAction(server.op.context, action.id);
    // As the worker waits, so that the rate holds.
    if (wait !== null && wait > 0) await delay(wait);
  }
  return { matched, id: action.id, row: await bulkRow(server.op.db, action.id) };
}

const RESULT = '{ ... on BulkActionPayload { matched action { id } } ... on Error { message } }';
const REPLAY = `mutation R($queueId: ID, $filter: DeadLetterFilter, $jobs: JobFilter, $dryRun: Boolean!, $all: Boolean! = false) {
  replay: replayDeadLetters(queueId: $queueId, filter: $filter, jobs: $jobs, dryRun: $dryRun, all: $all) ${RESULT}
}`;
const RUN_NOW = `mutation N($filter: JobFilter!, $dryRun: Boolean!, $all: Boolean! = false, $rate: Int) {
  runJobsNow(filter: $filter, dryRun: $dryRun, all: $all, ratePerSecond: $rate) ${RESULT}
}`;

/** Jobs of a queue that are replays. */
async function replaysIn({ id }: Queue, client = graphql): Promise<{ replayOf: { id: string } }[]> {
  const { queue } = await client.query(
    'query Q($id: ID!) { queue(id: $id) { jobs(first: 100) { nodes { replayOf { id } } } } }',
    {
      id,
    },
  );
  return queue.jobs.nodes.filter(({ replayOf }: { replayOf: object | null }) => replayOf !== null);
}

describe('a replay', () => {
  it('a replay of a cause takes the dead letters of all queues, and of no other account', async () => {
    const [one, two, foreign] = [await createQueue(), await createQueue(), await createQueue(stranger)];
    for (const [queue, count] of [
      [one, 3],
      [two, 2],
      [foreign, 4],
    ] as const) {
      await insertDeadLetters(server.op.db, queue.id, count, { error: 'deadlock 1', code: 500 });
      await insertDeadLetters(server.op.db, queue.id, 1, { error: 'other', code: 404 });
    }
    const { errorGroups } = await graphql.query(
      `query G($ids: [ID!]) {
        errorGroups(acrossQueues: true, filter: { queueIds: $ids, webhookStatusCodes: [500] }) {
          fingerprint count queue { id } queueCount queues { count queue { id } } largest: queues(first: 1) { count }
        }
        apart: errorGroups(filter: { queueIds: $ids, webhookStatusCodes: [500] }) { count queue { id } }
      }`,
      { ids: [one.id, two.id, foreign.id] },
    );
    expect(errorGroups).toEqual([
      {
        fingerprint: expect.any(String),
        count: 5,
        queue: null,
        queueCount: 2,
        largest: [{ count: 3 }],
        queues: [
          { count: 3, queue: { id: one.id } },
          { count: 2, queue: { id: two.id } },
        ],
      },
    ]);
    const filter = { fingerprints: [errorGroups[0].fingerprint], queueIds: [one.id, two.id, foreign.id] };
    expect(await run(REPLAY, { filter, dryRun: true })).toMatchObject({ matched: 5, row: null });
    const { matched, row, id } = await run(REPLAY, { filter, dryRun: false });
    expect(matched).toBe(5);
    expect(row).toMatchObject({ queue_id: null, status: 'completed', processed: 5, succeeded: 5, skipped: 0 });
    expect(await replaysIn(one)).toHaveLength(3);
    expect(await replaysIn(two)).toHaveLength(2);
    expect(await replaysIn(foreign, stranger)).toEqual([]);
    // The new jobs are the jobs of the action.
    const { jobs } = await graphql.query(
      'query J($id: ID!) { jobs(filter: { actionId: $id }) { totalCount nodes { replayOf { id } } } }',
      { id },
    );
    expect(jobs.totalCount).toBe(5);
    expect(jobs.nodes.every(({ replayOf }: { replayOf: object | null }) => replayOf !== null)).toBe(true);
    const theirs = await stranger.query('query J($id: ID!) { jobs(filter: { actionId: $id }) { totalCount } }', { id });
    expect(theirs.jobs.totalCount).toBe(0);
  });

  it('a replay of all jobs that match takes their dead letters', async () => {
    const [queue, foreign] = [await createQueue(), await createQueue(stranger)];
    await insertDeadLetters(server.op.db, queue.id, 3, { payload: '{"customer":{"id":42}}' });
    await insertDeadLetters(server.op.db, queue.id, 2, { payload: '{"customer":{"id":43}}' });
    await insertDeadLetters(server.op.db, foreign.id, 2, { payload: '{"customer":{"id":42}}' });
    const jobs = { payload: { path: 'customer.id', value: 42 } };
    expect(await run(REPLAY, { jobs, dryRun: true })).toMatchObject({ matched: 3 });
    const { row } = await run(REPLAY, { jobs, dryRun: false });
    expect(row).toMatchObject({ status: 'completed', processed: 3, succeeded: 3, skipped: 0 });
    expect(await replaysIn(queue)).toHaveLength(3);
    expect(await replaysIn(foreign, stranger)).toEqual([]);
    // A dead letter that was replayed is not replayed again.
    expect(await run(REPLAY, { jobs, dryRun: true })).toMatchObject({ matched: 0 });
  });

  it('a replay by payload, or by ids, takes the dead letters that match', async () => {
    const queue = await createQueue();
    const ids = await insertDeadLetters(server.op.db, queue.id, 2, { payload: '{"sku":"A"}' });
    await insertDeadLetters(server.op.db, queue.id, 2, { payload: '{"sku":"B"}' });
    const payload = { path: 'sku', value: 'B' };
    const { deadLetters } = await graphql.query(
      `query D($filter: DeadLetterFilter) { deadLetters(filter: $filter) { totalCount nodes { job { payload } } } }`,
      { filter: { queueIds: [queue.id], payload } },
    );
    expect(deadLetters).toEqual({
      totalCount: 2,
      nodes: [{ job: { payload: { sku: 'B' } } }, { job: { payload: { sku: 'B' } } }],
    });
    expect((await run(REPLAY, { queueId: queue.id, filter: { payload }, dryRun: false })).row).toMatchObject({
      succeeded: 2,
    });
    expect((await run(REPLAY, { filter: { ids: ids.slice(0, 1) }, dryRun: false })).row).toMatchObject({
      succeeded: 1,
    });
    expect(await replaysIn(queue)).toHaveLength(3);
  });

  it('a replay with two filters is refused', async () => {
    const filters = { jobs: { attempts: { min: 1 } }, filter: { replayed: false } };
    const { replay } = await graphql.query(REPLAY, { dryRun: true, ...filters });
    expect(replay.message).toEqual(expect.any(String));
  });
});

describe('running jobs now', () => {
  it('makes the matching jobs due, and no others', async () => {
    const [queue, foreign] = [await createQueue(), await createQueue(stranger)];
    const [first] = [await publish(queue, { n: 1 }, 3600), await publish(queue, { n: 1 }, 7200)];
    await publish(queue, { n: 2 }, 3600);
    await publish(queue, { n: 1 }, 0);
    await publish(foreign, { n: 1 }, 3600, stranger);
    const filter = { payload: { path: 'n', value: 1 } };
    expect(await run(RUN_NOW, { filter, dryRun: true })).toMatchObject({ matched: 2, row: null });
    const { row, id } = await run(RUN_NOW, { filter, dryRun: false, rate: 1000 });
    expect(row).toMatchObject({
      kind: 'run_jobs_now',
      status: 'completed',
      processed: 2,
      succeeded: 2,
      rate_per_second: 1000,
    });
    const { jobs, one } = await graphql.query(
      `query J($id: ID!, $first: [ID!]) {
        jobs(filter: { actionId: $id }) { nodes { state } }
        one: jobs(filter: { ids: $first }) { nodes { state } }
      }`,
      { id, first: [first] },
    );
    expect(jobs.nodes).toEqual([{ state: 'DUE' }, { state: 'DUE' }]);
    expect(one.nodes).toEqual([{ state: 'DUE' }]);
    expect((await claimOf(server.op.db, queue.id, 10)).jobs).toHaveLength(3);
    expect((await claimOf(server.op.db, foreign.id, 10)).jobs).toHaveLength(0);
    const { auditLog } = await graphql.query('query A($id: ID!) { auditLog(targetId: $id) { nodes { action } } }', {
      id,
    });
    expect(auditLog.nodes).toEqual([{ action: 'jobs.run_now' }]);
    const { bulkAction } = await graphql.query(
      'query B($id: ID!) { bulkAction(id: $id) { processedPerSecond secondsLeft } }',
      { id },
    );
    expect(bulkAction).toEqual({ processedPerSecond: expect.any(Number), secondsLeft: null });
  });

  it('needs a filter, or `all`', async () => {
    expect((await graphql.query(RUN_NOW, { filter: {}, dryRun: true })).runJobsNow.message).toMatch(/all: true/);
  });
});

describe('a pause', () => {
  const CHANGE = (name: string) => `mutation C($id: ID!) {
    change: ${name}BulkAction(id: $id) {
      __typename
      ... on BulkActionPayload { action { status pausedAt pausedBy processed processedPerSecond secondsLeft finishedAt } }
      ... on Error { message }
    }
  }`;
  const change = async (name: string, id: string, client = graphql) =>
    (await client.query(CHANGE(name), { id })).change;

  /** A replay of one dead letter each second, after its first step. */
  async function started(count: number): Promise<string> {
    const queue = await createQueue();
    await insertDeadLetters(server.op.db, queue.id, count);
    const { replayDeadLetters } = await graphql.query(
      `mutation R($id: ID!) { replayDeadLetters(queueId: $id, all: true, ratePerSecond: 1) ${RESULT} }`,
      { id: queue.id },
    );
    const { id } = replayDeadLetters.action;
    await runBulkAction(server.op.context, id);
    return id;
  }

  it('lets no worker go on until it is resumed, is said by name, and is audited', async () => {
    const id = await started(3);
    const { me } = await graphql.query('{ me { label } }');
    const paused = await change('pause', id);
    expect(paused.action).toEqual({
      status: 'PAUSED',
      pausedAt: expect.any(String),
      pausedBy: me.label,
      processed: 1,
      processedPerSecond: expect.any(Number),
      secondsLeft: null,
      finishedAt: null,
    });
    // A second pause changes nothing.
    expect((await change('pause', id)).action.pausedAt).toBe(paused.action.pausedAt);
    expect(await runBulkAction(server.op.context, id)).toBeNull();
    const found = await graphql.query('{ bulkActions(status: PAUSED) { nodes { id } } }');
    expect(found.bulkActions.nodes).toEqual([{ id }]);
    expect((await change('resume', id)).action).toMatchObject({ status: 'RUNNING', pausedAt: null, pausedBy: null });
    expect((await change('resume', id)).action).toMatchObject({ status: 'RUNNING' });
    for (let wait: number | null = 0; wait !== null; ) {
      wait = await runBulkAction(server.op.context, id);
      if (wait !== null) await delay(wait);
    }
    expect(await bulkRow(server.op.db, id)).toMatchObject({ status: 'completed', processed: 3, succeeded: 3 });
    expect((await change('pause', id)).message).toMatch(/has ended already: it is completed/);
    expect((await change('resume', id)).__typename).toBe('ConflictError');
    const { auditLog } = await graphql.query(
      'query A($id: ID!) { auditLog(targetId: $id) { nodes { action before after } } }',
      { id },
    );
    expect(auditLog.nodes).toEqual([
      {
        action: 'bulk_action.resume',
        before: { status: 'paused' },
        after: { status: 'running', processed: 1, matched: 3 },
      },
      {
        action: 'bulk_action.pause',
        before: { status: 'running' },
        after: { status: 'paused', processed: 1, matched: 3 },
      },
    ]);
  });

  it('does not count for the pace', async () => {
    const id = await started(10);
    await change('pause', id);
    // As if the action had run for ten seconds, and then been paused for an hour.
    await server.op.db.query(
      `update bulk_action set created_at = created_at - interval '3610 s', paused_at = paused_at - interval '1 hour',
                              processed = 20 where id = $1`,
      [id],
    );
    const { action } = await change('resume', id);
    expect(action.processedPerSecond).toBeGreaterThan(1);
    expect(action.processedPerSecond).toBeLessThan(2.1);
    await change('cancel', id);
  });

  it('can be ended by a cancellation', async () => {
    const id = await started(3);
    await change('pause', id);
    expect((await change('cancel', id)).action).toMatchObject({ status: 'CANCELLED', processed: 1, pausedAt: null });
    expect((await change('resume', id)).message).toMatch(/it is cancelled/);
  });
});

it('counts what a purge would cancel', async () => {
  const queue = await createQueue();
  for (const delay of [0, 60, 3600]) await publish(queue, {}, delay);
  const purge = `mutation P($id: ID!, $dryRun: Boolean!) {
    purgeQueue(id: $id, dryRun: $dryRun) { ... on PurgeQueuePayload { matched action { id } } ... on Error { message } }
  }`;
  expect(await run(purge, { id: queue.id, dryRun: true })).toMatchObject({ matched: 3, row: null });
  const { row, id } = await run(purge, { id: queue.id, dryRun: false });
  expect(row).toMatchObject({ succeeded: 3 });
  const { jobs } = await graphql.query(
    'query J($id: ID!) { jobs(filter: { actionId: $id }) { nodes { deadReason } } }',
    { id },
  );
  expect(jobs.nodes).toEqual(Array(3).fill({ deadReason: 'CANCELLED' }));
  expect((await stranger.query(purge, { id: queue.id, dryRun: true })).purgeQueue.message).toMatch(/not found/);
});

it('finds changes by actor and time', async () => {
  const find = async (args: string, client = graphql): Promise<number> =>
    (await client.query(`{ auditLog${args} { totalCount } }`)).auditLog.totalCount;
  const { me } = await graphql.query('{ me { label } }');
  const all = await find('');
  expect(all).toBeGreaterThan(5);
  expect(await find(`(actor: "${me.label}")`)).toBe(all);
  expect(await find(`(actor: "${me.label}")`, stranger)).toBe(0);
  expect(await find('(actor: "operator")')).toBe(0);
  expect(await find('(at: { from: "2000-01-01T00:00:00Z", to: "9999-01-01T00:00:00Z" })')).toBe(all);
  expect(await find('(at: { to: "2000-01-01T00:00:00Z" })')).toBe(0);
});
