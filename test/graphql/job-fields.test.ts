import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { settle } from '../../src/db/delivery/settle.ts';
import { payloadHeads } from '../../src/db/jobs/payloads.ts';
import { runBulkAction } from '../../src/worker/bulk/run.ts';
import { claimOf } from '../support/claim.ts';
import { createTestDatabase } from '../support/database.ts';
import { backpressure, DELIVERED, FAILED, settlementOf } from '../support/database-fixture.ts';
import type { GraphQL } from '../support/graphql.ts';
import { openGraphQL } from '../support/graphql-server.ts';

/** The fields of a job on pages, over the wire; the test itself claims and settles, as a worker does. */
let server: Awaited<ReturnType<typeof openGraphQL>>;
let graphql: GraphQL;
let stranger: GraphQL;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  server = await openGraphQL(url, { encryptionKeys: [randomBytes(32)] });
  ({ graphql } = await server.newAccount());
  ({ graphql: stranger } = await server.newAccount());
});

let queues = 0;

async function createQueue(input: object = {}): Promise<{ id: string; name: string }> {
  queues += 1;
  const { createQueue: created } = await graphql.query(
    `mutation Q($input: CreateQueueInput!) {
      createQueue(input: $input) { ... on CreateQueuePayload { queue { id name } } ... on Error { message } }
    }`,
    { input: { name: `queue-${queues}`, webhookUrl: 'http://127.0.0.1:9/', ...input } },
  );
  return created.queue;
}

async function publish(queue: { name: string }, payloadText = '{}', delay: number | null = null): Promise<string> {
  const { publishJob } = await graphql.query(
    `mutation P($queue: String!, $input: PublishInput!) {
      publishJob(queue: $queue, input: $input) { ... on PublishJobPayload { job { id } } ... on Error { message } }
    }`,
    { queue: queue.name, input: { payloadText, ...(delay === null ? {} : { delay }) } },
  );
  return publishJob.job.id;
}

/** Claims a job of the queue and settles it. */
async function deliver(queue: { id: string }, event = DELIVERED, body = ''): Promise<void> {
  const { jobs } = await claimOf(server.op.db, queue.id, 1);
  const answer = { statusCode: event === DELIVERED ? 200 : 500, durationMs: 7, body };
  await settle(
    server.op.db,
    jobs.map((job) => ({ ...settlementOf(job, event, Date.now()), answer })),
  );
}

async function show(id: string, fields: string, client = graphql) {
  return (await client.query(`query J($id: ID!) { job(id: $id) { ${fields} } }`, { id })).job;
}

describe('the state of a job', () => {
  it('divides pending into four, whatever the queue does', async () => {
    const queue = await createQueue({ maxAttempts: 3, backoffDelay: 100 });
    const retrying = await publish(queue);
    await deliver(queue, FAILED);
    const held = await publish(queue);
    await deliver(queue, backpressure(60_000));
    await graphql.query('mutation P($id: ID!) { pauseQueue(id: $id) { __typename } }', { id: queue.id });
    const other = await createQueue();
    const due = await publish(other);
    const scheduled = await publish(other, '{}', 3600);
    const states = await Promise.all(
      [retrying, held, due, scheduled].map(async (id) => {
        const { state, waiting } = await show(id, 'state waiting { reason }');
        return [state, waiting.reason];
      }),
    );
    expect(states).toEqual([
      ['RETRYING', 'PAUSED'],
      ['HELD', 'PAUSED'],
      ['DUE', 'DUE'],
      ['SCHEDULED', 'DELAYED'],
    ]);
  });

  it('is the status of a job that is not pending, and has its end', async () => {
    const queue = await createQueue({ maxAttempts: 1 });
    const completed = await publish(queue);
    await deliver(queue);
    const dead = await publish(queue);
    await deliver(queue, FAILED);
    const claimed = await publish(queue);
    await claimOf(server.op.db, queue.id, 1);
    const fields = 'state endedAt completedAt deadLetter { deadAt }';
    const [one, two, three] = [await show(completed, fields), await show(dead, fields), await show(claimed, fields)];
    expect(one).toMatchObject({ state: 'COMPLETED', endedAt: one.completedAt });
    expect(two).toMatchObject({ state: 'DEAD', endedAt: two.deadLetter.deadAt, completedAt: null });
    expect(three).toMatchObject({ state: 'PROCESSING', endedAt: null });
  });
});

describe('a payload', () => {
  const PAYLOAD = JSON.stringify({ text: 'ä😀'.repeat(300), n: 1 });
  const FIELDS = 'payloadBytes whole: payloadPreview(max: 2000) start: payloadPreview(max: 11)';
  const expected = {
    payloadBytes: Buffer.byteLength(PAYLOAD),
    whole: PAYLOAD,
    // By characters, not by UTF-16 units.
    start: '{"text":"ä😀',
  };

  it('has its size and its first characters', async () => {
    const queue = await createQueue();
    expect(await show(await publish(queue, PAYLOAD), FIELDS)).toEqual(expected);
  });

  it('has them also if it is encrypted, up to 64 KiB', async () => {
    const queue = await createQueue();
    await graphql.query('mutation E($id: ID!) { setPayloadEncryption(queueId: $id, enabled: true) { __typename } }', {
      id: queue.id,
    });
    expect(await show(await publish(queue, PAYLOAD), FIELDS)).toEqual(expected);
    for (const length of [0, 1, 2, 3, 4, 5]) {
      const text = JSON.stringify({ x: 'x'.repeat(length) });
      expect(await show(await publish(queue, text), 'payloadBytes')).toEqual({ payloadBytes: text.length });
    }
    const large = JSON.stringify({ x: 'x'.repeat(200_000) });
    const id = await publish(queue, large);
    const { payloadBytes, payloadPreview } = await show(id, 'payloadBytes payloadPreview');
    expect(payloadPreview).toBeNull();
    expect(payloadBytes).toBeGreaterThanOrEqual(large.length);
    expect(payloadBytes).toBeLessThanOrEqual(large.length + 2);
    // PostgreSQL would read all of it for its last characters.
    const row = await server.op.db.one<{ account_id: string }>('select account_id from job where id = $1', [id]);
    const [head] = await payloadHeads(server.op.db, row?.account_id ?? '', [id], 0);
    expect(head).toMatchObject({ encrypted: true, tail: '', head: '' });
  });
});

describe('an attempt', () => {
  it('has its start, and when the job is tried again or how long it is held', async () => {
    const queue = await createQueue({ maxAttempts: 3, backoffType: 'FIXED', backoffDelay: 100 });
    const id = await publish(queue);
    await deliver(queue, FAILED);
    await graphql.query('mutation R($id: ID!) { runNow(id: $id) { __typename } }', { id });
    await deliver(queue, backpressure(50_000));
    const { attempts, scheduledFor, createdAt } = await show(
      id,
      'createdAt scheduledFor attempts { startedAt at retryAt heldUntil }',
    );
    const [failed, deferred] = attempts;
    const ms = (time: string) => new Date(time).getTime();
    expect(ms(failed.startedAt)).toBeGreaterThanOrEqual(ms(createdAt));
    expect(ms(failed.startedAt)).toBeLessThanOrEqual(ms(failed.at));
    expect(ms(failed.retryAt) - ms(failed.at)).toBe(100_000);
    expect(failed.heldUntil).toBeNull();
    expect(deferred).toMatchObject({ retryAt: null, heldUntil: scheduledFor });
  });

  it('an attempt of a job that has ended has no retry and no hold', async () => {
    const queue = await createQueue({ maxAttempts: 1 });
    const id = await publish(queue);
    await deliver(queue, FAILED);
    const { attempts } = await show(id, 'attempts { startedAt retryAt heldUntil }');
    expect(attempts).toEqual([{ startedAt: expect.any(String), retryAt: null, heldUntil: null }]);
  });

  it.each([false, true])('is shown with a dead letter if it is the last one; encrypted: %s', async (enabled) => {
    const queue = await createQueue({ maxAttempts: 2, backoffDelay: 0 });
    await graphql.query(
      'mutation E($id: ID!, $on: Boolean!) { setPayloadEncryption(queueId: $id, enabled: $on) { __typename } }',
      {
        id: queue.id,
        on: enabled,
      },
    );
    const id = await publish(queue);
    await deliver(queue, FAILED, 'not yet');
    await graphql.query('mutation R($id: ID!) { runNow(id: $id) { __typename } }', { id });
    await deliver(queue, FAILED, 'never');
    const lastAttempt = { attempt: 2, webhookStatusCode: 500, responseBody: 'never' };
    const fields = 'job { id } lastAttempt { attempt webhookStatusCode responseBody }';
    // By itself, of a list, and as the sample of a group.
    expect(await show(id, `deadLetter { ${fields} }`)).toEqual({ deadLetter: { job: { id }, lastAttempt } });
    const found = await graphql.query(
      `query Q($id: ID!) {
         queue(id: $id) { deadLetters { totalCount nodes { ${fields} } } errorGroups { count sample { ${fields} } } }
       }`,
      { id: queue.id },
    );
    expect(found.queue).toEqual({
      deadLetters: { totalCount: 1, nodes: [{ job: { id }, lastAttempt }] },
      errorGroups: [{ count: 1, sample: { job: { id }, lastAttempt } }],
    });
  });
});

describe('the receipt of a job in ack mode', () => {
  it('is the answer of the webhook until the worker has reported', async () => {
    const queue = await createQueue({ mode: 'ACK' });
    const id = await publish(queue);
    expect(await show(id, 'receipt { webhookStatusCode }')).toEqual({ receipt: null });
    await deliver(queue, DELIVERED, 'thank you');
    const fields = 'receipt { webhookStatusCode durationMs responseBody }';
    expect(await show(id, fields)).toEqual({
      receipt: { webhookStatusCode: 200, durationMs: 7, responseBody: 'thank you' },
    });
    await graphql.query('mutation A($id: ID!) { ackJob(id: $id) { __typename } }', { id });
    expect(await show(id, `${fields} attempts { responseBody }`)).toEqual({
      receipt: null,
      attempts: [{ responseBody: 'thank you' }],
    });
  });
});

describe('a cancelled job', () => {
  it('has the actor that cancelled it, by itself or in bulk', async () => {
    const queue = await createQueue();
    const [single, purged, open] = [
      await publish(queue, '{}', 60),
      await publish(queue, '{}', 60),
      await publish(queue),
    ];
    const { me } = await graphql.query('{ me { label } }');
    await graphql.query('mutation C($id: ID!) { cancelJob(id: $id) { __typename } }', { id: single });
    const { cancelJobs } = await graphql.query(
      `mutation C($filter: JobFilter!) { cancelJobs(filter: $filter) { ... on BulkActionPayload { action { id } } } }`,
      { filter: { ids: [purged] } },
    );
    while ((await runBulkAction(server.op.context, cancelJobs.action.id)) !== null) {
      // Batch by batch.
    }
    const actors = await Promise.all([single, purged, open].map((id) => show(id, 'cancelledBy')));
    expect(actors.map(({ cancelledBy }) => cancelledBy)).toEqual([me.label, me.label, null]);
  });
});

it('counts the jobs before a job', async () => {
  const queue = await createQueue();
  const ids = [await publish(queue), await publish(queue), await publish(queue, '{}', 60)];
  const aheads = await Promise.all(ids.map((id) => show(id, 'waiting { ahead }')));
  expect(aheads.map(({ waiting }) => waiting.ahead)).toEqual([0, 1, 2]);
});

it('shows since when a queue is held', async () => {
  const queue = await createQueue({ mode: 'ACK' });
  const id = await publish(queue);
  await deliver(queue);
  const before = Date.now();
  await graphql.query('mutation D($id: ID!) { deferJob(id: $id, retryAfter: 60) { __typename } }', { id });
  const holdOf = async () =>
    (await graphql.query('query Q($id: ID!) { queue(id: $id) { hold { since until } } }', { id: queue.id })).queue.hold;
  // The id alone is read in another way than the job.
  const askedBy = 'hold { askedBy { id } other: askedBy { id status } probe { id } }';
  expect((await graphql.query(`query Q($id: ID!) { queue(id: $id) { ${askedBy} } }`, { id: queue.id })).queue).toEqual({
    hold: { askedBy: { id }, other: { id, status: 'PENDING' }, probe: null },
  });
  const { since, until } = await holdOf();
  expect(new Date(until).getTime() - new Date(since).getTime()).toBe(60_000);
  // Both clocks are of this machine.
  expect(Math.abs(new Date(since).getTime() - before)).toBeLessThan(60_000);
  await graphql.query('mutation E($id: ID!) { endHold(queueId: $id) { __typename } }', { id: queue.id });
  expect(await holdOf()).toBeNull();
});

it('shows how far background work is behind, to the first account', async () => {
  const query = '{ server { lags { searchSeconds statisticsSeconds wakeUpSeconds } } }';
  expect(await stranger.query(query)).toEqual({ server: { lags: null } });
  const { server: shown } = await graphql.query(query);
  expect(shown.lags.searchSeconds).toBeGreaterThan(0);
  expect(shown.lags.statisticsSeconds).toBeGreaterThan(0);
});

it('shows lags, processes and snapshots to the account that is marked, and not to one with a lower id', async () => {
  const { db } = server.op;
  const { account } = await stranger.query('{ account { id } }');
  await db.query(`insert into instance (id, role, version, capacity) values ('w', 'worker', '1', 10)`);
  await db.query('update account set is_operator = id = $1', [account.id]);
  const ofServer =
    'server { lags { searchSeconds } snapshots { seesAll holders { kind seconds transactions message } } }';
  const seen = { lags: expect.anything(), snapshots: { seesAll: true, holders: [] } };
  expect(await stranger.query(`{ instances { role } ${ofServer} }`)).toEqual({
    instances: [{ role: 'worker' }],
    server: seen,
  });
  expect(await graphql.query(`{ ${ofServer} }`)).toEqual({ server: { lags: null, snapshots: null } });
  await db.query('update account set is_operator = false');
  await db.query(`delete from instance where id = 'w'`);
});

it('shows nothing to another account', async () => {
  const queue = await createQueue();
  const id = await publish(queue);
  expect(await show(id, 'state payloadBytes payloadPreview receipt { responseBody }', stranger)).toBeNull();
});

it('the last replay of a dead job is that at the end of the chain', async () => {
  const queue = await createQueue({ maxAttempts: 1 });
  const fields = 'deadLetter { id replayedJob { id } lastReplay { id state } }';
  const replay = async (id: string): Promise<string> => {
    const { deadLetter } = await show(id, fields);
    const { replayDeadLetter } = await graphql.query(
      `mutation R($id: ID!) { replayDeadLetter(id: $id) { ... on JobPayload { job { id } } ... on Error { message } } }`,
      { id: deadLetter.id },
    );
    return replayDeadLetter.job.id;
  };
  const first = await publish(queue);
  await deliver(queue, FAILED);
  expect((await show(first, fields)).deadLetter).toMatchObject({ replayedJob: null, lastReplay: null });
  const second = await replay(first);
  expect((await show(first, fields)).deadLetter.lastReplay).toEqual({ id: second, state: 'DUE' });
  await deliver(queue, FAILED);
  expect((await show(first, fields)).deadLetter.lastReplay).toEqual({ id: second, state: 'DEAD' });
  const third = await replay(second);
  await deliver(queue);
  const last = { id: third, state: 'COMPLETED' };
  expect((await show(first, fields)).deadLetter).toMatchObject({ replayedJob: { id: second }, lastReplay: last });
  expect((await show(second, fields)).deadLetter).toMatchObject({ replayedJob: { id: third }, lastReplay: last });
});
