import { describe, expect, it, onTestFinished } from 'vitest';
import type { AttemptSeen } from '../../src/cli/dev/attempts.ts';
import { type ListenOptions, listen } from '../../src/cli/listen/run.ts';
import { type Api, createApi } from '../support/api.ts';
import { beginJobferry, runJobferry } from '../support/command.ts';
import { connect, createTestDatabase, LOCK_WAITERS } from '../support/database.ts';
import { createGraphQLClient, type GraphQL } from '../support/graphql.ts';
import { startInProcess } from '../support/in-process.ts';
import { createMember, OIDC_ENV } from '../support/members.ts';
import { startJobferry } from '../support/process.ts';
import { verifySignature } from '../support/receiver.ts';
import { createGate, openReceiver, startService } from '../support/service.ts';
import { startTcpRelay } from '../support/tcp-relay.ts';
import { waitFor } from '../support/wait-for.ts';

/** Deliveries that go through a tunnel to a client that listens, over the wire. */

const KEY = 'key-of-the-bootstrap-account';

interface Seen {
  ready: number;
  attempts: AttemptSeen[];
  notes: string[];
  secret: string | null;
}

/** A client that has opened its tunnel. */
async function listening(url: string, queue: string, forward: string, more: Partial<ListenOptions> = {}) {
  const seen: Seen = { ready: 0, attempts: [], notes: [], secret: null };
  const client = listen({
    url,
    apiKey: KEY,
    queue,
    forward: new URL(forward),
    isTap: false,
    isOnce: false,
    isForced: false,
    hasOwnSecret: false,
    print: {
      ready: ({ secret }) => {
        seen.ready += 1;
        seen.secret = secret;
      },
      attempt: (attempt) => seen.attempts.push(attempt),
      note: (_event, sentence) => seen.notes.push(sentence),
    },
    ...more,
  });
  client.done.catch(() => undefined);
  onTestFinished(() => client.stop());
  await Promise.race([waitFor(() => seen.ready > 0, { message: 'the tunnel is open' }), client.done]);
  return { client, seen };
}

async function ask<T>(api: Api, query: string, variables: object = {}): Promise<T> {
  const { body } = await api.call<{ data: T; errors?: unknown }>('POST', '/graphql', { query, variables });
  expect(body.errors).toBeUndefined();
  return body.data;
}

const tunnelsOf = async (api: Api, name: string) => {
  const { queue } = await ask<{ queue: { tunnels: { openedBy: string }[] } }>(
    api,
    'query ($name: String!) { queue(name: $name) { tunnels { openedBy openedAt } } }',
    { name },
  );
  return queue.tunnels.length;
};

describe('a tunnel', () => {
  it('takes the deliveries of a queue as its webhook would get them, until it ends', async () => {
    const { api, jobferry } = await startService();
    const webhook = await openReceiver();
    const local = await openReceiver((request) => {
      const { n } = request.json().payload as { n: number };
      if (n === 4) return { status: 600 };
      return n === 2 ? { status: 429, headers: { 'retry-after': '0' } } : { status: 201, body: `took ${n}` };
    });
    const queue = await api.createQueue({ webhookUrl: webhook.url });
    const { client, seen } = await listening(jobferry.baseUrl, queue.name, local.url);
    expect(await tunnelsOf(api, queue.name)).toBe(1);

    const { id } = await api.publish(queue.name, { payload: { n: 1, text: '“ü”', big: 1 } });
    const done = await api.waitForStatus(id, 'completed');
    expect(done.history).toMatchObject([{ status: 'success', webhookStatusCode: 201 }]);
    const [request] = local.requests;
    expect(verifySignature(request?.raw as Buffer, request?.headers['x-service-signature'], queue.signingSecret)).toBe(
      true,
    );
    expect(request?.headers).toMatchObject({ 'x-jobferry-job': id, 'x-jobferry-attempt': '1' });
    expect(seen.attempts).toMatchObject([{ jobId: id, statusCode: 201, answer: 'took 1' }]);

    const held = await api.publish(queue.name, { payload: { n: 2 } });
    await api.waitForJob(held.id, ({ deferCount }) => deferCount > 0);
    const odd = await api.publish(queue.name, { payload: { n: 4 } });
    const { history } = await api.waitForJob(odd.id, ({ history }) => history.length > 0);
    expect(history[0]).toMatchObject({ status: 'failed', error: 'HTTP 600', webhookStatusCode: 600 });
    expect(webhook.requests).toEqual([]);

    await client.stop();
    const last = await api.publish(queue.name, { payload: { n: 3 } });
    await api.waitForStatus(last.id, 'completed');
    expect(webhook.requests.map((request) => request.json().id)).toContain(last.id);
    expect(await tunnelsOf(api, queue.name)).toBe(0);
  });

  it('ends in a process of the role api, and deliveries of a worker elsewhere go through it', async () => {
    const { url: databaseUrl } = await createTestDatabase();
    const env = { BOOTSTRAP_API_KEY: KEY };
    const [front, other, worker] = [
      await startInProcess({ databaseUrl, role: 'api', env }),
      await startInProcess({ databaseUrl, role: 'api', env }),
      await startInProcess({ databaseUrl, role: 'worker', env }),
    ];
    onTestFinished(async () => void (await Promise.all([front.stop(), other.stop(), worker.stop()])));
    const api = createApi(other.baseUrl, KEY);
    const webhook = await openReceiver();
    const local = await openReceiver({ status: 200, body: 'here' });
    const queue = await api.createQueue({ webhookUrl: webhook.url });
    const { client, seen } = await listening(front.baseUrl, queue.name, local.url);
    // A second client at the other process shares the work.
    const second = await listening(other.baseUrl, queue.name, local.url);
    // The worker knows of the tunnel.
    const jobs = await Promise.all(Array.from({ length: 40 }, () => api.publish(queue.name)));
    for (const { id } of jobs) await api.waitForStatus(id, 'completed');
    const late = await api.publish(queue.name, { payload: {}, delay: 1 });
    await api.waitForStatus(late.id, 'completed');
    expect(seen.attempts.length + second.seen.attempts.length + webhook.requests.length).toBeGreaterThanOrEqual(41);
    expect(local.requests.at(-1)?.json().id).toBe(late.id);
    await Promise.all([client.stop(), second.client.stop()]);
    const after = await api.publish(queue.name);
    await api.waitForStatus(after.id, 'completed');
    expect(webhook.requests.at(-1)?.json().id).toBe(after.id);
  });

  it('takes answers that arrive at another process', async () => {
    const { url: databaseUrl } = await createTestDatabase();
    const env = { BOOTSTRAP_API_KEY: KEY };
    const [first, second] = [
      await startInProcess({ databaseUrl, env }),
      await startInProcess({ databaseUrl, role: 'api', env }),
    ];
    onTestFinished(async () => void (await Promise.all([first.stop(), second.stop()])));
    const api = createApi(second.baseUrl, KEY);
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    const stream = subscribe(first.baseUrl, queue.id);
    await stream.opened();
    await api.publish(queue.name);
    const { tunnelId, deliveries } = await stream.firstDeliveries();
    const body = `\u0000${'“'.repeat(3000)}`;
    const answer = { deliveryId: deliveries[0]?.id, statusCode: 422, outcome: 'permanent', body };
    const stranger = createGraphQLClient(second.baseUrl, await anotherKey(api));
    const refused = await stranger.send(ANSWER, { tunnelId, answers: [{ ...answer, statusCode: 200 }] });
    expect(refused.errors?.[0]?.message).toMatch(/^only the client that opened the tunnel/);
    await ask(api, ANSWER, { tunnelId, answers: [answer] });
    const job = await api.waitForStatus(String(deliveries[0]?.jobId), 'dead');
    expect(job.history).toMatchObject([{ webhookStatusCode: 422 }]);
    const read = 'query ($id: ID!) { job(id: $id) { attempts { responseBody } } }';
    const { job: found } = await ask<{ job: unknown }>(api, read, { id: job.id });
    expect(JSON.stringify(found)).toMatch(/\ufffd“{1365}"/);
  });

  it('takes answers of the actor that opened it only, and its end by another one is audited', async () => {
    const env = { ...OIDC_ENV, PUBLIC_URL: 'http://127.0.0.1:8080', BOOTSTRAP_API_KEY: KEY };
    const { api, jobferry, databaseUrl } = await startService(env);
    const person = async (mayViewPayloads: boolean) => {
      const at = { databaseUrl, baseUrl: 'http://127.0.0.1:8080' };
      const { headers, email } = await createMember(at, { role: 'operator', mayViewPayloads });
      return { email, graphql: createGraphQLClient(jobferry.baseUrl, headers) };
    };
    const [blind, reader] = [await person(false), await person(true)];
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    const stream = subscribe(jobferry.baseUrl, queue.id);
    await stream.opened();
    const { id } = await api.publish(queue.name);
    const { tunnelId, deliveries } = await stream.firstDeliveries();
    const answers = [{ deliveryId: deliveries[0]?.id, statusCode: 200 }];
    const messageOf = async (graphql: GraphQL, given: object[]) =>
      (await graphql.send(ANSWER, { tunnelId, answers: given })).errors?.[0]?.message;
    expect(await messageOf(blind.graphql, answers)).toBe('this needs the right to see payloads');
    const opener = /^only the client that opened the tunnel may answer: key-/;
    expect(await messageOf(reader.graphql, answers)).toMatch(opener);
    expect(await messageOf(reader.graphql, [])).toMatch(opener);
    expect(await messageOf(createGraphQLClient(jobferry.baseUrl, await anotherKey(api)), answers)).toMatch(opener);
    expect(await api.getJob(id)).toMatchObject({ status: 'processing', history: [] });
    await ask(api, ANSWER, { tunnelId, answers });
    await api.waitForStatus(id, 'completed');

    await blind.graphql.query(END, { tunnelId });
    expect(await tunnelsOf(api, queue.name)).toBe(0);
    const { auditLog } = await ask<{ auditLog: { nodes: object[] } }>(
      api,
      '{ auditLog(first: 50, action: "queue.end_tunnel") { nodes { actor targetName before } } }',
    );
    const before = { openedBy: expect.stringMatching(/^key-/) };
    expect(auditLog.nodes).toEqual([{ actor: blind.email, targetName: queue.name, before }]);
  });

  it('gets the jobs of a queue with an open breaker at once, one at a time, and leaves the breaker open', async () => {
    const { api, jobferry, databaseUrl } = await startService();
    const webhook = await openReceiver({ status: 500 });
    const local = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: webhook.url, backoffDelay: 0 });
    const set =
      'mutation ($id: ID!) { setBreaker(queueId: $id, breaker: { failures: 2 }) { ... on Error { message } } }';
    await ask(api, set, { id: queue.id });
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push((await api.publish(queue.name)).id);
    const breaker = async () => {
      const query = 'query ($name: String!) { queue(name: $name) { breaker { openedAt failedProbes } } }';
      return (await ask<{ queue: { breaker: { openedAt: string | null } } }>(api, query, queue)).queue.breaker;
    };
    await waitFor(async () => (await breaker()).openedAt !== null, { message: 'the breaker is open' });
    const db = await connect(databaseUrl);
    await db.query(`update queue set breaker_until = now() + interval '5 min', hold_until = now() + interval '5 min'`);
    const before = webhook.requests.length;
    await listening(jobferry.baseUrl, queue.name, local.url);
    for (const id of ids) await api.waitForStatus(id, 'completed');
    expect(local.requests).toHaveLength(5);
    expect(webhook.requests).toHaveLength(before);
    expect(await breaker()).toMatchObject({ openedAt: expect.any(String), failedProbes: 0 });
  });

  it('loses nothing when it is cut, and uses no attempt for what was not answered', async () => {
    const { api, jobferry } = await startService();
    const relay = await startTcpRelay({ host: '127.0.0.1', port: Number(new URL(jobferry.baseUrl).port) });
    const webhook = await openReceiver();
    const local = await openReceiver(() => new Promise((resolve) => setTimeout(resolve, 20, { status: 200 })));
    const queue = await api.createQueue({ webhookUrl: webhook.url, maxAttempts: 1, concurrency: 20 });
    const { seen } = await listening(`http://127.0.0.1:${relay.port}`, queue.name, local.url);
    const jobs: string[] = [];
    for (let cut = 0; cut < 10; cut += 1) {
      const more = await Promise.all(Array.from({ length: 20 }, () => api.publish(queue.name)));
      jobs.push(...more.map(({ id }) => id));
      await waitFor(() => local.requests.length > cut * 20, { message: 'deliveries of this round' });
      await relay.cut();
      await relay.heal();
    }
    for (const id of jobs) await api.waitForStatus(id, 'completed');
    expect(webhook.requests).toEqual([]);
    expect(seen.notes.filter((note) => note === 'connected again').length).toBeGreaterThanOrEqual(9);
  });

  it('ends when its client is silent, and the webhook gets the deliveries again', async () => {
    const { api, jobferry } = await startService();
    const webhook = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: webhook.url });
    const stream = subscribe(jobferry.baseUrl, queue.id);
    await stream.opened();
    const { id } = await api.publish(queue.name);
    await stream.firstDeliveries();
    const silentSince = performance.now();
    const job = await api.waitForStatus(id, 'completed');
    expect(performance.now() - silentSince).toBeGreaterThan(5000);
    expect(job.attempts).toBe(1);
    expect(webhook.requests.length).toBe(1);
  });

  it('is refused for a queue of production that is not forced, for a key without the scope, and for no queue', async () => {
    const { api, jobferry } = await startService();
    const local = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: local.url });
    const mark =
      'mutation ($id: ID!, $on: Boolean!) { markProduction(queueId: $id, production: $on) { ... on QueuePayload { queue { production } } } }';
    expect(await ask(api, mark, { id: queue.id, on: true })).toEqual({
      markProduction: { queue: { production: true } },
    });
    await expect(listening(jobferry.baseUrl, queue.name, local.url)).rejects.toThrow('marked as production');
    await listening(jobferry.baseUrl, queue.name, local.url, { isForced: true });
    const audit = await ask<{ auditLog: { nodes: { action: string; after: object | null }[] } }>(
      api,
      '{ auditLog(first: 5) { nodes { action after } } }',
    );
    expect(audit.auditLog.nodes).toContainEqual({ action: 'queue.open_tunnel', after: { forced: true } });

    const other = await api.createQueue({ webhookUrl: local.url });
    const open = await listening(jobferry.baseUrl, other.name, local.url);
    await ask(api, mark, { id: other.id, on: true });
    await expect(open.client.done).rejects.toThrow('marked as production');

    await expect(listening(jobferry.baseUrl, 'nowhere', local.url)).rejects.toThrow('queue nowhere does not exist');
    await expect(listening(jobferry.baseUrl, queue.name, local.url, { apiKey: 'wrong' })).rejects.toThrow('API key');
    const create = 'mutation { createApiKey(scopes: [READ, REPORT]) { ... on CreateApiKeyPayload { key } } }';
    const { createApiKey } = await ask<{ createApiKey: { key: string } }>(api, create);
    const weak = listening(jobferry.baseUrl, queue.name, local.url, { apiKey: createApiKey.key, isForced: true });
    await expect(weak).rejects.toThrow('OPERATOR');
  });

  it('leaves no place of the account behind when its client leaves while it is opened', async () => {
    const { api, jobferry, databaseUrl } = await startService();
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    const graphql = createGraphQLClient(jobferry.baseUrl, KEY);
    const db = await connect(databaseUrl);
    for (let round = 0; round < 3; round += 1) {
      await db.query('begin');
      await db.query('lock table tunnel in share mode');
      const streams = Array.from({ length: 40 }, () =>
        graphql.subscribe('subscription ($id: ID!) { tunnel(queueId: $id) { tunnelId } }', { id: queue.id }),
      );
      for (const { opened } of streams) opened.catch(() => undefined);
      await waitFor(async () => (await db.query(LOCK_WAITERS)).rows.length > 0, { message: 'openings that wait' });
      for (const stream of streams) stream.close();
      await db.query('commit');
    }
    // An account has a hundred places.
    for (let n = 0; n < 99; n += 1) await subscribe(jobferry.baseUrl, queue.id).opened();
    await waitFor(
      () =>
        subscribe(jobferry.baseUrl, queue.id)
          .opened()
          .then(
            ({ errors }) => errors === undefined,
            () => false,
          ),
      { message: 'the last place' },
    );
  });

  it('takes large answers that come together, and one with an odd status among them', async () => {
    const { api, jobferry } = await startService();
    let count = 0;
    const gate = createGate();
    // All at once, so that they are answered together. Each character takes six bytes of JSON.
    const local = await openReceiver(async () => {
      count += 1;
      const isLast = count === 60;
      if (isLast) gate.open();
      await gate.opened;
      return { status: isLast ? 999 : 200, body: '\u0001'.repeat(4096) };
    });
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/', maxAttempts: 1, concurrency: 100 });
    await listening(jobferry.baseUrl, queue.name, local.url);
    const jobs = await Promise.all(Array.from({ length: 60 }, () => api.publish(queue.name)));
    const states: string[] = [];
    for (const { id } of jobs) {
      const { status, lastError } = await api.waitForJob(
        id,
        (job) => job.status === 'completed' || job.status === 'dead',
      );
      states.push(lastError ?? status);
    }
    expect(states.filter((state) => state !== 'completed')).toEqual(['HTTP 999']);
  });

  it('uses no attempt while its client is suspended, however short the time limit', async () => {
    const { api, jobferry } = await startService({ WEBHOOK_TIMEOUT_SECONDS: '1' });
    const webhook = await openReceiver();
    // More attempts than one, because the webhook of a busy machine may not answer within a second.
    const queue = await api.createQueue({ webhookUrl: webhook.url, maxAttempts: 25, backoffDelay: 0 });
    const stream = subscribe(jobferry.baseUrl, queue.id);
    await stream.opened();
    const jobs = await Promise.all(Array.from({ length: 20 }, () => api.publish(queue.name)));
    for (const { id } of jobs) await api.waitForStatus(id, 'completed');
    const deliveries = webhook.requests.map((request) => request.json());
    const firsts = jobs.map(({ id }) => deliveries.find((delivery) => delivery.id === id)?.attempt);
    expect(firsts).toEqual(jobs.map(() => 1));
  });

  it('ends when its process may no longer work, and when the process stops, so that others deliver', async () => {
    const { url: databaseUrl } = await createTestDatabase();
    const env = { BOOTSTRAP_API_KEY: KEY };
    // It goes on answering for a time that no test waits for, and is killed.
    const stopping = await startJobferry({ databaseUrl, env: { ...env, SHUTDOWN_DELAY_SECONDS: '60' } });
    onTestFinished(async () => void (await stopping.kill('SIGKILL')));
    const other = await startInProcess({ databaseUrl, env });
    onTestFinished(async () => void (await other.stop()));
    const api = createApi(other.baseUrl, KEY);
    const webhook = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: webhook.url });
    await listening(stopping.baseUrl, queue.name, 'http://127.0.0.1:9/');
    process.kill(stopping.pid, 'SIGTERM');
    const { id } = await api.publish(queue.name);
    await api.waitForStatus(id, 'completed');
    expect(webhook.requests.length).toBe(1);
  });

  it('sends nothing to other processes for a tunnel that is not open', async () => {
    const { api, jobferry, databaseUrl } = await startService();
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    const db = await connect(databaseUrl);
    const heard: string[] = [];
    db.on('notification', ({ payload = '' }) => heard.push(payload));
    await db.query('listen jobferry_tunnel');
    const tunnelId = '00000000-0000-4000-8000-000000000000';
    await ask(api, ANSWER, { tunnelId, answers: [{ deliveryId: '1', statusCode: 200 }] });
    await ask(api, END, { tunnelId });
    const stream = subscribe(jobferry.baseUrl, queue.id);
    await stream.opened();
    await waitFor(() => heard.length > 0, { message: 'the notification of the tunnel that was opened' });
    expect(heard).toEqual(['changed']);
  });

  it('copies deliveries that the webhook answers', async () => {
    const { api, jobferry } = await startService();
    let fails = true;
    const webhook = await openReceiver(() => ({ status: fails ? 500 : 200 }));
    const local = await openReceiver({ status: 500 });
    const queue = await api.createQueue({ webhookUrl: webhook.url, backoffDelay: 1 });
    const { seen } = await listening(jobferry.baseUrl, queue.name, local.url, { isTap: true });
    const { id } = await api.publish(queue.name, { payload: { text: 'a' } });
    await waitFor(() => local.requests.length === 1, { message: 'a copy' });
    fails = false;
    await api.waitForStatus(id, 'completed');
    // An attempt is told when its copy has been answered.
    await waitFor(() => seen.attempts.length === 2, { message: 'a copy of the second attempt' });
    const rawOf = ({ requests }: typeof local) => requests.map(({ raw }) => raw.toString());
    expect(rawOf(local)).toEqual(rawOf(webhook));
    expect(local.requests[1]?.headers['x-service-signature']).toBe(webhook.requests[1]?.headers['x-service-signature']);
    expect(seen.attempts.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });
});

describe('jobferry listen', () => {
  it('prints a line for each delivery, signs with its own secret if it is to print one, and ends after one with --once', async () => {
    const { api, jobferry } = await startService();
    const local = await openReceiver({ status: 500, body: 'no' });
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/', backoffDelay: 0 });
    const env = { JOBFERRY_URL: jobferry.baseUrl, JOBFERRY_API_KEY: KEY };
    const args = ['listen', queue.name, '--forward', local.url, '--once', '--json', '--print-secret'];
    const running = runJobferry(args, env);
    await waitFor(async () => (await tunnelsOf(api, queue.name)) === 1, { message: 'the tunnel is open' });
    await api.publish(queue.name);
    const { code, stdout } = await running;
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toMatchObject([{ type: 'ready' }, { type: 'attempt', statusCode: 500, answer: 'no' }]);
    expect(code).toBe(1);
    const [request] = local.requests;
    const secret = String(lines[0]?.secret);
    expect(verifySignature(request?.raw as Buffer, request?.headers['x-service-signature'], secret)).toBe(true);
    expect(secret).not.toBe(queue.signingSecret);
    expect(await tunnelsOf(api, queue.name)).toBe(0);
  });

  it('says what is missing, and ends with the webhook as before when it gets a signal', async () => {
    const { api, jobferry } = await startService();
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    const nothing = await runJobferry(['listen', queue.name, '--forward', 'http://127.0.0.1:9/']);
    expect(nothing).toMatchObject({ code: 1, stderr: expect.stringContaining('JOBFERRY_URL') });
    const bad = await runJobferry(['listen', queue.name, '--forward', 'here']);
    expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining('--forward must be a URL') });
    const env = { JOBFERRY_URL: jobferry.baseUrl, JOBFERRY_API_KEY: KEY };
    const unknown = await runJobferry(['listen', 'nowhere', '--forward', 'http://127.0.0.1:9/'], env);
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('queue nowhere does not exist') });
    const running = beginJobferry(['listen', queue.name, '--forward', 'http://127.0.0.1:9/'], env);
    await waitFor(async () => (await tunnelsOf(api, queue.name)) === 1, { message: 'the tunnel is open' });
    running.kill('SIGINT');
    expect((await running.ended).code).toBe(0);
    await expect.poll(() => tunnelsOf(api, queue.name)).toBe(0);
  });
});

const ANSWER = `mutation ($tunnelId: ID!, $answers: [TunnelAnswerInput!]!) {
  answerTunnel(tunnelId: $tunnelId, answers: $answers) { tunnelId } }`;

const END = 'mutation ($tunnelId: ID!) { endTunnel(tunnelId: $tunnelId) { tunnelId } }';

/** A key of the same account that may do everything. */
async function anotherKey(api: Api): Promise<string> {
  const create = 'mutation { createApiKey { ... on CreateApiKeyPayload { key } } }';
  return (await ask<{ createApiKey: { key: string } }>(api, create)).createApiKey.key;
}

interface Event {
  tunnel: { tunnelId: string; deliveries: { id: string; jobId: string }[] };
}

/** A stream of a tunnel whose client never says that it is there. */
function subscribe(baseUrl: string, queueId: string) {
  const query = 'subscription ($id: ID!) { tunnel(queueId: $id) { tunnelId deliveries { id jobId } } }';
  const stream = createGraphQLClient(baseUrl, KEY).subscribe<Event>(query, { id: queueId });
  onTestFinished(() => stream.close());
  return {
    opened: () => stream.next(),
    async firstDeliveries(): Promise<Event['tunnel']> {
      const events = await stream.until(({ tunnel }) => tunnel.deliveries.length > 0);
      return events.at(-1)?.tunnel as Event['tunnel'];
    },
  };
}
