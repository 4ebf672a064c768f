import { describe, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { createApi } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { createGraphQLClient } from '../support/graphql.ts';
import { startInProcess } from '../support/in-process.ts';
import { createGate, openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** Subscriptions over the wire; the API and the worker are different processes. */

const KEY = 'key-of-the-bootstrap-account';
const { url: databaseUrl } = await createTestDatabase();
const env = { BOOTSTRAP_API_KEY: KEY };
const apiProcess = await startInProcess({ databaseUrl, env, role: 'api' });
await startInProcess({ databaseUrl, env, role: 'worker' });
const api = createApi(apiProcess.baseUrl, KEY);
const graphql = createGraphQLClient(apiProcess.baseUrl, KEY);

describe('a subscription', () => {
  it('is a stream that proxies neither hold back nor change', async () => {
    const subscription = graphql.subscribe('subscription { queueStats(everySeconds: 1) { queues { id } } }');
    const response = await subscription.opened;
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('cache-control')).toContain('no-transform');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(response.headers.get('content-encoding')).toBeNull();
    await subscription.next();
    subscription.close();
  });

  it('follows a job through another process', async () => {
    const gate = createGate();
    const receiver = await openReceiver(async () => {
      await gate.opened;
      return { status: 204 };
    });
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const job = await api.publish(queue.name, { payload: {}, delay: 3600 });
    const subscription = graphql.subscribe(
      'subscription S($id: ID) { jobUpdated(jobId: $id) { jobs { id status attempts { status } } } }',
      { id: job.id },
    );
    const statusOf = (data: { jobUpdated: { jobs: { status: string }[] } }) => data.jobUpdated.jobs[0]?.status;
    expect(statusOf((await subscription.next()).data)).toBe('PENDING');
    await graphql.query('mutation R($id: ID!) { runNow(id: $id) { __typename } }', { id: job.id });
    await subscription.until((data) => statusOf(data) === 'PROCESSING');
    gate.open();
    const seen = await subscription.until((data) => statusOf(data) === 'COMPLETED');
    expect(seen.at(-1)?.jobUpdated.jobs[0].attempts).toEqual([{ status: 'SUCCESS' }]);
    subscription.close();
  });

  it('follows the jobs of a queue', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const subscription = graphql.subscribe(
      'subscription S($id: ID) { jobUpdated(queueId: $id) { jobs { id status } more } }',
      { id: queue.id },
    );
    await subscription.opened;
    const ids: string[] = [];
    type Event = { jobUpdated: { jobs: { id: string; status: string }[] } };
    const seen = subscription.until(({ jobUpdated }: Event) =>
      jobUpdated.jobs.some((job) => ids.includes(job.id) && job.status === 'COMPLETED'),
    );
    let isSeen = false;
    seen.then(
      () => (isSeen = true),
      () => undefined,
    );
    // The worker tells of jobs once it knows of the subscription, which may be after the first one has ended.
    const publishUntilSeen = async () => {
      ids.push((await api.publish(queue.name)).id);
      return isSeen;
    };
    await waitFor(publishUntilSeen, { everyMs: 500, message: 'a completed job' });
    await seen;
    subscription.close();
  });

  it('follows all queues, also one that is created later, without their jobs', async () => {
    const subscription = graphql.subscribe(`subscription {
      live(watch: { allQueues: true }, minIntervalMs: 100) {
        ... on QueueStats { queues { id paused } } ... on JobsUpdated { jobs { id } }
      }
    }`);
    await subscription.next();
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    await graphql.query('mutation P($id: ID!) { pauseQueue(id: $id) { __typename } }', { id: queue.id });
    await api.publish(queue.name);
    type Event = { live: { queues?: { id: string; paused: boolean }[]; jobs?: object[] }[] };
    const seen = await subscription.until(({ live }: Event) =>
      live.some(({ queues }) => queues?.some(({ id, paused }) => id === queue.id && paused) === true),
    );
    expect(seen.flatMap(({ live }: Event) => live).filter(({ jobs }) => jobs !== undefined)).toEqual([]);
    subscription.close();
  });

  it('says which queues have new dead letters, once each', async () => {
    const receiver = await openReceiver({ status: 500 });
    const [failing, other] = [
      await api.createQueue({ webhookUrl: receiver.url, maxAttempts: 1 }),
      await api.createQueue({ webhookUrl: receiver.url }),
    ];
    const subscription = graphql.subscribe(`subscription {
      live(watch: { errorGroups: true, auditLog: true }, minIntervalMs: 100) {
        __typename ... on DeadLettersAdded { queues { id } } ... on AuditLogChanged { entries { action targetId } }
      }
    }`);
    type Event = {
      live: {
        __typename: string;
        queues?: { id: string }[];
        entries?: { action: string; targetId: string }[];
      }[];
    };
    // The newest entries are sent at the start.
    const { data } = await subscription.next();
    expect((data as Event).live[0]?.entries?.[0]).toEqual({ action: 'queue.create', targetId: other.id });
    let events: Event['live'] | null = null;
    const seen = subscription
      .until(({ live }: Event) => live.some(({ queues }) => queues !== undefined))
      .then((all) => {
        events = all.flatMap(({ live }: Event) => live);
      });
    // The lists may be read for the first time after the first of these jobs has died.
    const isSeen = async () => {
      await api.waitForStatus((await api.publish(failing.name)).id, 'dead');
      return events;
    };
    const live = await waitFor(isSeen, { message: 'an event about dead letters' });
    await seen;
    expect(live.flatMap(({ queues = [] }) => queues.map(({ id }) => id))).toEqual([failing.id]);
    await graphql.query('mutation P($id: ID!) { pauseQueue(id: $id) { __typename } }', { id: other.id });
    await subscription.until(({ live }: Event) => live.some(({ entries }) => entries?.[0]?.action === 'queue.pause'));
    subscription.close();
  });

  it('shows the processes to the operator, and dead letters and changes of other accounts to none', async () => {
    const watch = `subscription {
      live(watch: { errorGroups: true, auditLog: true, instances: true }, minIntervalMs: 100) {
        ... on InstancesChanged { instances { id role } }
        ... on AuditLogChanged { entries { targetId } }
        ... on DeadLettersAdded { queues { id } }
      }
    }`;
    type Event = { live: { instances?: { role: string }[]; entries?: object[]; queues?: object[] }[] };
    const own = graphql.subscribe(watch);
    const roles = ({ live }: Event) => live.flatMap(({ instances }) => instances?.map(({ role }) => role) ?? []);
    expect(roles((await own.next()).data).sort()).toEqual(['api', 'worker']);
    const { key } = await createAccount(databaseUrl);
    const stranger = createGraphQLClient(apiProcess.baseUrl, key);
    const theirs = stranger.subscribe(watch);
    expect((await theirs.next()).data.live).toEqual([{ entries: [] }, { instances: [] }]);
    const third = await startInProcess({ databaseUrl, env, role: 'worker' });
    await own.until((data: Event) => roles(data).filter((role) => role === 'worker').length === 2);
    await third.stop();
    await own.until((data: Event) => roles(data).filter((role) => role === 'worker').length === 1);
    // The next event of the stranger is about the stranger.
    await createApi(apiProcess.baseUrl, key).createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    const events = await theirs.until(({ live }: Event) => live.some(({ entries }) => entries?.length === 1));
    expect(events.flatMap(({ live }: Event) => live).filter(({ instances }) => instances !== undefined)).toEqual([]);
    own.close();
    theirs.close();
  });

  it('shows a queue again and again', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const subscription = graphql.subscribe(
      'subscription S($id: ID) { queueStats(queueId: $id, everySeconds: 1) { queues { depth { completed scheduled } } } }',
      { id: queue.id },
    );
    const depthOf = (data: { queueStats: { queues: { depth: object }[] } }) => data.queueStats.queues[0]?.depth;
    expect(depthOf((await subscription.next()).data)).toEqual({ completed: 0, scheduled: 0 });
    await api.publish(queue.name);
    await api.publish(queue.name, { payload: {}, delay: 3600 });
    await subscription.until((data) => JSON.stringify(depthOf(data)) === '{"completed":1,"scheduled":1}');
    subscription.close();
  });

  it('follows a bulk action to its end, and ends with it', async () => {
    const receiver = await openReceiver({ status: 500 });
    const queue = await api.createQueue({ webhookUrl: receiver.url, maxAttempts: 1 });
    const { id: dead } = await api.publish(queue.name);
    await api.waitForStatus(dead, 'dead');
    receiver.respondWith({ status: 200 });
    const { replayDeadLetters } = await graphql.query(
      'mutation M($id: ID!) { replayDeadLetters(queueId: $id, all: true) { ... on BulkActionPayload { matched action { id } } } }',
      { id: queue.id },
    );
    expect(replayDeadLetters.matched).toBe(1);
    const subscription = graphql.subscribe(
      'subscription S($id: ID!) { bulkActionProgress(id: $id) { action { status succeeded } } }',
      { id: replayDeadLetters.action.id },
    );
    type Event = { bulkActionProgress: { action: { status: string; succeeded: number } } };
    const seen = await subscription.until(({ bulkActionProgress: { action } }: Event) => action.status !== 'RUNNING');
    expect(seen.at(-1)?.bulkActionProgress.action).toEqual({ status: 'COMPLETED', succeeded: 1 });
    // An event has the state of the moment when it is sent, so the end may be sent twice.
    const rest = async () => {
      for (;;) {
        const { bulkActionProgress } = (await subscription.next()).data as Event;
        expect(bulkActionProgress.action.status).toBe('COMPLETED');
      }
    };
    await expect(rest()).rejects.toThrow('ended');
  });

  it('carries everything that a page shows over one connection', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const job = await api.publish(queue.name, { payload: {}, delay: 3600 });
    const subscription = graphql.subscribe(
      `subscription S($watch: WatchInput!) {
        live(watch: $watch, minIntervalMs: 100) {
          __typename
          ... on JobsUpdated { jobs { id status } }
          ... on QueueStats { queues { id paused depth { scheduled completed } } }
        }
      }`,
      { watch: { queueIds: [queue.id], jobIds: [job.id] } },
    );
    const first = (await subscription.next()).data.live;
    expect(first).toEqual([
      { __typename: 'JobsUpdated', jobs: [{ id: job.id, status: 'PENDING' }] },
      { __typename: 'QueueStats', queues: [{ id: queue.id, paused: false, depth: { scheduled: 1, completed: 0 } }] },
    ]);
    await graphql.query('mutation M($id: ID!) { runNow(id: $id) { __typename } }', { id: job.id });
    type Live = { live: { __typename: string; jobs?: { status: string }[]; queues?: { paused: boolean }[] }[] };
    await subscription.until(({ live }: Live) => live.some((event) => event.jobs?.[0]?.status === 'COMPLETED'));
    await graphql.query('mutation M($id: ID!) { pauseQueue(id: $id) { __typename } }', { id: queue.id });
    await subscription.until(({ live }: Live) => live.some((event) => event.queues?.[0]?.paused === true));
    subscription.close();
  });

  it.each([
    ['both a queue and a job', 'jobUpdated(queueId: "a", jobId: "b") { more }'],
    ['neither', 'jobUpdated { more }'],
    ['a rate below its bounds', 'live(watch: {}, minIntervalMs: 10) { __typename }'],
    ['an interval of nothing', 'queueStats(everySeconds: 0) { queues { id } }'],
    ['too many ids', `live(watch: { jobIds: [${'"x",'.repeat(101)}] }) { __typename }`],
  ])('a subscription with %s is refused', async (_name, field) => {
    const subscription = graphql.subscribe(`subscription { ${field} }`);
    const { errors } = (await subscription.next()) as { errors?: { extensions?: object }[] };
    expect(errors?.[0]?.extensions).toEqual({ code: 'BAD_USER_INPUT', requestId: expect.any(String) });
  });

  it('ends at once when the process is stopped', async () => {
    const leaving = await startInProcess({ databaseUrl, env });
    const client = createGraphQLClient(leaving.baseUrl, KEY);
    const subscriptions = [
      client.subscribe('subscription { queueStats(everySeconds: 3600) { queues { id } } }'),
      client.subscribe('subscription { live(watch: {}) { __typename } }'),
    ];
    for (const subscription of subscriptions) await subscription.next();
    await leaving.stop();
    // A request that is still open after its grace of 10 s is cut off, which is no end of a stream.
    for (const subscription of subscriptions) await expect(subscription.next()).rejects.toThrow('the stream has ended');
  });
});
