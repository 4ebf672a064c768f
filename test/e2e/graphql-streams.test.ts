import { describe, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { createApi } from '../support/api.ts';
import { connect, createTestDatabase, LOCK_WAITERS } from '../support/database.ts';
import { openRaw } from '../support/fake-api.ts';
import { createGraphQLClient } from '../support/graphql.ts';
import { startInProcess } from '../support/in-process.ts';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** The limits of open subscriptions and when they end, over two processes that share a database. */

const KEY = 'key-of-the-bootstrap-account';
const { url: databaseUrl } = await createTestDatabase();
const near = await startInProcess({ databaseUrl, env: { BOOTSTRAP_API_KEY: KEY } });
const far = await startInProcess({ databaseUrl, role: 'api' });
const graphql = createGraphQLClient(near.baseUrl, KEY);
const api = createApi(near.baseUrl, KEY);

const STATS = 'subscription { queueStats(everySeconds: 3600) { queues { id } } }';

interface RefusedEvent {
  errors?: { message: string; extensions?: { code?: string } }[];
}

describe('I-45 a key that is revoked', () => {
  it('gets no result of a query that began before', async () => {
    const { createApiKey } = await graphql.query(
      'mutation { createApiKey { ... on CreateApiKeyPayload { key apiKey { id } } } }',
    );
    const headers = { authorization: `Bearer ${createApiKey.key}`, 'content-type': 'application/json' };
    const holder = await connect(databaseUrl);
    await holder.query('begin; lock table saved_view in access exclusive mode');
    const body = JSON.stringify({ query: '{ savedViews { id } }' });
    const answered = fetch(`${far.baseUrl}/graphql`, { method: 'POST', headers, body });
    await waitFor(async () => (await holder.query(LOCK_WAITERS)).rowCount === 1);
    await graphql.query('mutation M($id: ID!) { revokeApiKey(id: $id) { __typename } }', {
      id: createApiKey.apiKey.id,
    });
    await waitFor(async () => (await fetch(`${far.baseUrl}/v1/queues`, { headers })).status === 401);
    await holder.query('rollback');
    const answer = await answered;
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
  });

  it('ends its streams in every process, and no event reaches it afterwards', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const { createApiKey } = await graphql.query(
      'mutation { createApiKey { ... on CreateApiKeyPayload { key apiKey { id } } } }',
    );
    const streams = [near, far].map((process) => {
      const client = createGraphQLClient(process.baseUrl, createApiKey.key);
      return [
        client.subscribe('subscription S($id: ID) { jobUpdated(queueId: $id) { jobs { payloadText } } }', {
          id: queue.id,
        }),
        client.subscribe('subscription S($id: ID) { queueStats(queueId: $id, everySeconds: 1) { queues { id } } }', {
          id: queue.id,
        }),
      ];
    });
    for (const stream of streams.flat()) expect((await stream.opened).status).toBe(200);
    let toFollow = streams.length;
    const followed = streams.map(async ([jobs]) => {
      expect((await jobs?.next())?.data).toHaveProperty('jobUpdated');
      toFollow -= 1;
    });
    // A stream is open a little before it follows the changes.
    await waitFor(
      async () => {
        await api.publish(queue.name, { payload: { before: true } });
        return toFollow === 0;
      },
      { everyMs: 200, message: 'an event in each stream' },
    );
    await Promise.all(followed);

    await graphql.query('mutation M($id: ID!) { revokeApiKey(id: $id) { __typename } }', {
      id: createApiKey.apiKey.id,
    });
    const told = await Promise.all(
      streams.flat().map(async (stream) => {
        for (;;) {
          const event = (await stream.next()) as RefusedEvent;
          if (event.errors !== undefined) return event.errors[0]?.extensions?.code;
        }
      }),
    );
    expect(told).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED', 'UNAUTHENTICATED', 'UNAUTHENTICATED']);
    await api.publish(queue.name, { payload: { after: true } });
    for (const stream of streams.flat()) await expect(stream.next()).rejects.toThrow('ended');
  });
});

describe('an account', () => {
  it('has 100 places for subscriptions, those for statistics as well, and gets them back', async () => {
    const { key } = await createAccount(databaseUrl);
    const crowded = createGraphQLClient(near.baseUrl, key);
    // One that a busy machine refuses has no place.
    const admitted = async () => {
      const subscription = crowded.subscribe(STATS);
      const { errors } = await subscription.next();
      if (errors !== undefined) subscription.close();
      return errors === undefined && subscription;
    };
    const open = await Promise.all(Array.from({ length: 100 }, () => waitFor(admitted, { message: 'a place' })));
    const refused = (await crowded.subscribe(STATS).next()) as RefusedEvent;
    expect(refused.errors?.[0]).toMatchObject({ extensions: { code: 'UNAVAILABLE' } });
    // Another account does not notice.
    const other = graphql.subscribe(STATS);
    expect((await other.next()).data).toHaveProperty('queueStats');
    other.close();

    for (const subscription of open) subscription.close();
    await waitFor(async () => !(await isRefused(crowded)), { message: 'a free place' });
  });

  it('gets the places of subscriptions back that a client has pipelined on a connection which closes', async () => {
    const { key } = await createAccount(databaseUrl);
    const crowded = createGraphQLClient(near.baseUrl, key);
    const body = JSON.stringify({ query: STATS });
    const head = ['POST /graphql HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`, 'Accept: text/event-stream'];
    const request = [...head, 'Content-Type: application/json', `Content-Length: ${body.length}`, '', body];
    // The first one does not end, so the others wait behind it.
    const { socket } = openRaw(new URL(near.baseUrl), request.join('\r\n').repeat(100));
    await waitFor(() => isRefused(crowded), { message: 'a refusal' });
    socket.destroy();
    await waitFor(async () => !(await isRefused(crowded, 50)), {
      message: 'free places, not only that of the first one',
    });
  });
});

/** Whether one of some subscriptions at once is refused. */
async function isRefused(client: ReturnType<typeof createGraphQLClient>, count = 1): Promise<boolean> {
  const all = Array.from({ length: count }, () => client.subscribe(STATS));
  const events = (await Promise.all(all.map((subscription) => subscription.next(30_000)))) as RefusedEvent[];
  for (const subscription of all) subscription.close();
  return events.some(({ errors }) => errors !== undefined);
}

describe('what is refused before a subscription runs', () => {
  const DOCUMENTS = {
    'an unknown field': 'subscription { unknown }',
    'a price above the limit':
      'subscription { queueStats { queues { jobs(first: 100) { nodes { attempts { error } } } } } }',
    'nothing that GraphQL knows': 'subscription {',
  };
  it.each(Object.entries(DOCUMENTS))('reaches a reader of event streams: %s', async (_name, document) => {
    const subscription = graphql.subscribe(document);
    const { status, headers } = await subscription.opened;
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const { errors } = (await subscription.next()) as RefusedEvent;
    expect(errors?.[0]?.message).toMatch(/\S/);
    await expect(subscription.next()).rejects.toThrow('ended');
  });
});
