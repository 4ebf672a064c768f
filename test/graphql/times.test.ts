import { beforeAll, describe, expect, it } from 'vitest';
import { rollUp } from '../../src/db/insight/statistics.ts';
import { insertDeadLetters } from '../support/bulk.ts';
import { claimOf } from '../support/claim.ts';
import { createTestDatabase } from '../support/database.ts';
import type { GraphQL } from '../support/graphql.ts';
import { openGraphQL } from '../support/graphql-server.ts';
import { waitFor } from '../support/wait-for.ts';

/** "Since when", over the wire: secrets, deliveries, warnings, and the clock itself. */

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

async function createQueue(client = graphql): Promise<string> {
  queues += 1;
  const { createQueue: created } = await client.query(
    `mutation Q($input: CreateQueueInput!) { createQueue(input: $input) { ... on CreateQueuePayload { queue { id } } } }`,
    { input: { name: `queue-${queues}`, webhookUrl: 'http://127.0.0.1:9/' } },
  );
  return created.queue.id;
}

const MINUTE = 60_000;
const startOfSpan = (ms: number) => new Date(Math.floor(ms / (5 * MINUTE)) * 5 * MINUTE).toISOString();

/** Attempts of a new job of the queue that ended at a time; returns the time. */
async function insertAttempts(queueId: string, minutesAgo: number, count = 1, status = 'success', code = 200) {
  const { db } = server.op;
  await insertDeadLetters(db, queueId, 1);
  const row = await db.one<{ at: Date }>(
    `with job as (select max(id) as id from job where queue_id = $1), added as (
       insert into attempt (job_id, ordinal, queue_id, attempt, status, webhook_status_code, "timestamp", duration_ms, wait_ms)
       select job.id, n, $1, n, $4, $5, date_trunc('milliseconds', jobferry_now() - $2 * interval '1 minute'), 5, 5
         from job, generate_series(1, $3::integer) n
       returning "timestamp")
     select max("timestamp") as at from added`,
    [queueId, minutesAgo, count, status, code],
  );
  return row?.at.getTime() ?? 0;
}

/** Sums up all attempts again, also those that were inserted with an earlier time than the last roll-up. */
async function rollUpAll(): Promise<void> {
  const { db, context } = server.op;
  await db.query(`with stats as (delete from queue_stats), completed as (delete from queue_completed)
                  delete from follower where name = 'stats'`);
  while (await rollUp(db, context.periods.retentionMs)) {
    // Step by step, as the workers do it.
  }
}

describe('the signing secret', () => {
  const rotatedAt = async (id: string, client = graphql): Promise<string | null> =>
    (await client.query('query Q($id: ID!) { queue(id: $id) { signingSecretRotatedAt } }', { id })).queue
      .signingSecretRotatedAt;
  const rotate = async (id: string, overlapSeconds: number): Promise<string> => {
    const { rotateSigningSecret } = await graphql.query(
      `mutation R($id: ID!, $overlap: Float!) {
        rotateSigningSecret(queueId: $id, overlapSeconds: $overlap) {
          ... on RotateSigningSecretPayload { takesOverAt } ... on Error { message }
        }
      }`,
      { id, overlap: overlapSeconds },
    );
    return rotateSigningSecret.takesOverAt;
  };
  const serverNow = async () => Date.parse((await graphql.query('{ server { now } }')).server.now);

  it('was rotated when the present one took over', async () => {
    const id = await createQueue();
    expect(await rotatedAt(id)).toBeNull();
    const first = await rotate(id, 0);
    expect(await rotatedAt(id)).toBe(first);
    // While another one is waiting, and after it was made to take over.
    await rotate(id, 3600);
    expect(await rotatedAt(id)).toBe(first);
    await graphql.query('mutation F($id: ID!) { finishSecretRotation(queueId: $id) { __typename } }', { id });
    const finished = (await rotatedAt(id)) ?? '';
    expect(Date.parse(finished)).toBeGreaterThan(Date.parse(first));
    // By itself, before any claim has noticed it and afterwards.
    const next = await rotate(id, 0.05);
    await waitFor(async () => (await serverNow()) > Date.parse(next), { message: 'the end of the overlap' });
    expect(await rotatedAt(id)).toBe(next);
    await graphql.query(
      'mutation P($queue: String!) { publishJob(queue: $queue, input: { payload: {} }) { __typename } }',
      { queue: `queue-${queues}` },
    );
    await claimOf(server.op.db, id, 1);
    expect(await rotatedAt(id)).toBe(next);
    // Another one that follows at once.
    const last = await rotate(id, 3600);
    expect(last > next).toBe(true);
    expect(await rotatedAt(id)).toBe(next);
    expect(await rotate(id, 0)).toBe(await rotatedAt(id));
  });
});

describe('the last delivery', () => {
  const lastOf = async (id: string): Promise<string | null> =>
    (await graphql.query('query Q($id: ID!) { queue(id: $id) { lastDeliveryAt } }', { id })).queue.lastDeliveryAt;
  const lastOfAll = async (client = graphql): Promise<string | null> =>
    (await client.query('{ account { lastDeliveryAt } }')).account.lastDeliveryAt;
  const iso = (ms: number) => new Date(ms).toISOString();

  it('is that of the queue and of the account, summed up or not', async () => {
    const { graphql: own } = await server.newAccount();
    const [one, two, none] = [await createQueue(own), await createQueue(own), await createQueue(own)];
    const foreign = await createQueue(stranger);
    const all = async () => {
      const { queues: page, account } = await own.query(
        '{ queues { nodes { id lastDeliveryAt } } account { lastDeliveryAt } }',
      );
      const times = new Map(
        page.nodes.map((node: { id: string; lastDeliveryAt: string }) => [node.id, node.lastDeliveryAt]),
      );
      return [times.get(one), times.get(two), times.get(none), account.lastDeliveryAt];
    };
    expect(await all()).toEqual([null, null, null, null]);
    await insertAttempts(one, 90);
    const ofOne = await insertAttempts(one, 61);
    const ofTwo = await insertAttempts(two, 30, 3, 'failed', 500);
    await insertAttempts(foreign, 1);
    const expected = [iso(ofOne), iso(ofTwo), null, iso(ofTwo)];
    expect(await all()).toEqual(expected);
    await rollUpAll();
    expect(await all()).toEqual(expected);
    const newest = await insertAttempts(one, 0);
    expect(await all()).toEqual([iso(newest), iso(ofTwo), null, iso(newest)]);
  });

  it('is the start of its five minutes when its job was removed', async () => {
    const id = await createQueue();
    const at = await insertAttempts(id, 30);
    await insertAttempts(id, 45);
    await rollUpAll();
    await server.op.db.query(`delete from attempt where queue_id = $1`, [id]);
    expect(await lastOf(id)).toBe(startOfSpan(at));
    expect(await lastOfAll(stranger)).not.toBe(startOfSpan(at));
  });
});

it('says since when a warning has been there', async () => {
  const id = await createQueue();
  const at = await insertAttempts(id, 40, 12, 'failed', 500);
  await rollUpAll();
  const { queue } = await graphql.query(
    'query Q($id: ID!) { queue(id: $id) { health { warnings { warning firstSeen } } } }',
    { id },
  );
  expect(queue.health.warnings).toEqual([{ warning: 'FAILING', firstSeen: startOfSpan(at) }]);
});

it('says how far the clocks are apart', async () => {
  const { server: facts } = await graphql.query('{ server { now clockOffsetSeconds } }');
  const { db } = server.op;
  const row = await db.one<{ ahead: number }>(
    `select (extract(epoch from jobferry_now()) * 1000 - $1::float8)::float8 as ahead`,
    [Date.now()],
  );
  // The database runs on this machine.
  expect(Math.abs(facts.clockOffsetSeconds - (row?.ahead ?? 0) / 1000)).toBeLessThan(60);
});

it('no clock of a server that is not for development can be moved', async () => {
  const refused = { message: expect.stringMatching(/on servers for development and tests only/) };
  const { clock, travelInTime, resetClock } = {
    ...(await graphql.query('{ clock { now } }')),
    ...(await graphql.query(
      `mutation { travelInTime(input: { bySeconds: 1 }) { __typename ... on Error { message } }
                  resetClock { __typename ... on Error { message } } }`,
    )),
  };
  expect(clock).toBeNull();
  expect(travelInTime).toEqual({ __typename: 'ConflictError', ...refused });
  expect(resetClock).toEqual({ __typename: 'ConflictError', ...refused });
});
