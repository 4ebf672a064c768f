import { beforeAll, describe, expect, it } from 'vitest';
import { type Api, type ApiQueue, createApi } from '../support/api.ts';
import { runAdmin } from '../support/command.ts';
import { startInProcess } from '../support/in-process.ts';
import { assertDocumented } from '../support/openapi.ts';
import type { Running } from '../support/process.ts';
import { everyRoute, type Named, NEVER_MADE, routesOfNamed } from '../support/routes.ts';
import { openReceiver, startService } from '../support/service.ts';
import { refusal, UNKNOWN_ID } from '../support/shapes.ts';

/** Accounts do not see one another (I-31), and only live keys open anything (I-33). */

let api: Api;
let jobferry: Running;
let databaseUrl: string;
let stranger: Api;
let account: { id: string; key: string };

beforeAll(async () => {
  ({ api, jobferry, databaseUrl } = await startService());
  // As operators make them.
  const { id } = await runAdmin<{ id: string }>(
    databaseUrl,
    ...['account', 'create', '--name', 'stranger', '--plan', 'pro'],
  );
  const { key } = await runAdmin<{ key: string }>(databaseUrl, 'key', 'create', '--account', id);
  account = { id, key };
  stranger = createApi(jobferry.baseUrl, account.key);
});

/** A queue with a dead letter and a job that waits for its report. */
async function furnished(by = api): Promise<Named> {
  const receiver = await openReceiver((request) => ({ status: request.path === '/dead' ? 500 : 200 }));
  const queue = await by.createQueue({ webhookUrl: `${receiver.url}/dead`, maxAttempts: 1 });
  const { id: deadJobId } = await by.publish(queue.name, { payload: { secret: 1 } });
  await by.waitForStatus(deadJobId, 'dead');
  await by.updateQueue(queue.id, { webhookUrl: receiver.url, mode: 'ack' });
  const { id: jobId } = await by.publish(queue.name, { payload: { secret: 2 } });
  await by.waitForStatus(jobId, 'awaiting_ack');
  const deadLetterId = (await by.listDeadLetters(queue.id)).jobs[0]?.id ?? '';
  return { queueId: queue.id, queueName: queue.name, jobId, deadLetterId };
}

/** Everything that an owner can see of it. */
async function stateOf({ queueId, jobId }: Named): Promise<unknown> {
  const paths = [
    `/v1/queues/${queueId}`,
    `/v1/jobs/${jobId}`,
    `/v1/queues/${queueId}/jobs`,
    `/v1/queues/${queueId}/dlq`,
  ];
  const answers = await Promise.all(paths.map((path) => api.call<{ appliedFrom?: string }>('GET', path)));
  return answers.map(({ status, body }) => [status, { ...body, appliedFrom: null }]);
}

describe('what belongs to another account', () => {
  it('answers byte for byte what was never made, on every route, and stays as it is', async () => {
    const named = await furnished();
    const before = await stateOf(named);
    const ours = routesOfNamed(named);
    for (const [n, [method, path, body]] of routesOfNamed(NEVER_MADE).entries()) {
      const never = await stranger.call(method, path, body);
      const foreign = await stranger.call(...(ours[n] ?? ['GET', '/']));
      expect([foreign.status, foreign.text], `${method} ${path}`).toEqual([never.status, never.text]);
      expect(foreign.status).toBe(404);
    }
    expect(await stateOf(named)).toEqual(before);
  });

  it('answers the same once its queue is deleted', async () => {
    const named = await furnished();
    await api.call('DELETE', `/v1/queues/${named.queueId}`);
    expect((await api.call('GET', `/v1/queues/${named.queueId}/dlq`)).status).toBe(410);
    const never = routesOfNamed(NEVER_MADE);
    for (const [n, [method, path, body]] of routesOfNamed(named).entries()) {
      const [foreign, unknown] = [
        await stranger.call(method, path, body),
        await stranger.call(...(never[n] ?? ['', ''])),
      ];
      expect([foreign.status, foreign.text], path).toEqual([unknown.status, unknown.text]);
    }
  });

  it("cannot be replayed through a queue of one's own", async () => {
    const [theirs, own] = [await furnished(), await furnished(stranger)];
    const before = await stateOf(theirs);
    const replay = `/v1/queues/${own.queueId}/dlq`;
    const single = await stranger.call('POST', `${replay}/${theirs.deadLetterId}/replay`);
    const never = await stranger.call('POST', `${replay}/${UNKNOWN_ID}/replay`);
    expect([single.status, single.text]).toEqual([never.status, never.text]);
    const bulk = await stranger.call('POST', `${replay}/replay`, { jobIds: [theirs.deadLetterId] });
    const neverBulk = await stranger.call('POST', `${replay}/replay`, { jobIds: [UNKNOWN_ID] });
    expect(bulk.text.replace(theirs.deadLetterId, UNKNOWN_ID)).toBe(neverBulk.text);
    expect(bulk).toMatchObject({ status: 200, body: { replayed: 0, skipped: 1, remaining: 1 } });
    expect(await stateOf(theirs)).toEqual(before);
  });

  it('shares no names and no idempotency keys with what has the same ones here', async () => {
    const receiver = await openReceiver();
    const [mine, theirs] = await Promise.all(
      [api, stranger].map((by) => by.createQueue({ name: 'same', webhookUrl: receiver.url })),
    );
    expect(mine?.id).not.toBe(theirs?.id);
    const body = { payload: {}, idempotencyKey: 'same' };
    const answers = await Promise.all([api, stranger].map((by) => by.call('POST', '/v1/queues/same/jobs', body)));
    expect(answers.map((answer) => answer.status)).toEqual([201, 201]);
    expect((await api.listJobs(mine?.id ?? '')).total).toBe(1);
    const names = (await stranger.call<ApiQueue[]>('GET', '/v1/queues')).body.map(({ id }) => id);
    expect(names).toContain(theirs?.id);
    expect(names).not.toContain(mine?.id);
  });

  it('is not reachable in a race with its own making', async () => {
    const receiver = await openReceiver();
    const rounds = Array.from({ length: 20 }, async (_, n) => {
      const name = `race-${n}`;
      const [made, publish] = await Promise.all([
        api.createQueue({ name, webhookUrl: receiver.url }),
        stranger.call('POST', `/v1/queues/${name}/jobs`, { payload: {} }),
      ]);
      const read = await stranger.call('GET', `/v1/queues/${made.id}`);
      return [publish.status, read.status];
    });
    expect(await Promise.all(rounds)).toEqual(Array(20).fill([404, 404]));
    expect(receiver.requests).toHaveLength(0);
  });
});

/** As `api.call` does it, with any authorization. */
async function callWith(authorization: string | null, method: string, path: string, body?: object, base = jobferry) {
  const response = await fetch(`${base.baseUrl}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(authorization === null ? {} : { authorization }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { status, headers } = response;
  const text = await response.text();
  assertDocumented(method, response.url, { status, headers, text });
  return { status, text, challenge: headers.get('www-authenticate') };
}

describe('keys', () => {
  it.each(everyRoute(NEVER_MADE))('are required by %s %s', async (method, path, body) => {
    const changed = `${account.key.slice(0, -1)}${account.key.endsWith('0') ? '1' : '0'}`;
    for (const authorization of [null, `Bearer ${changed}`, 'Bearer key-of-no-account', `Basic ${account.key}`]) {
      const { status, text, challenge } = await callWith(authorization, method, path, body);
      expect({ status, challenge, body: JSON.parse(text) }).toEqual({
        status: 401,
        challenge: 'Bearer',
        body: refusal,
      });
    }
  });

  it('wrong keys all get one answer, wherever the mistake is', async () => {
    const { key } = account;
    const middle = Math.floor(key.length / 2);
    const wrong = [
      key.slice(0, -1),
      `${key}0`,
      key.toUpperCase(),
      `x${key}`,
      key.slice(3),
      `${key.slice(0, middle)}${key[middle] === 'a' ? 'b' : 'a'}${key.slice(middle + 1)}`,
      'jf_',
    ];
    const answers = await Promise.all(wrong.map((text) => callWith(`Bearer ${text}`, 'GET', '/v1/queues')));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]?.status).toBe(401);
    expect((await callWith(`Bearer ${key}`, 'GET', '/v1/queues')).status).toBe(200);
  });

  it('the keys of an account are equal, and each process refuses a revoked one within a second', async () => {
    const second = await startInProcess({ databaseUrl, role: 'api' });
    const create = () => runAdmin<{ id: string; key: string }>(databaseUrl, 'key', 'create', '--account', account.id);
    const [doomed, kept] = await Promise.all([create(), create()]);
    const processes = [jobferry, second];
    const use = (key: string) =>
      Promise.all(processes.map((p) => callWith(`Bearer ${key}`, 'GET', '/v1/queues', undefined, p)));
    const statuses = async (key: string) => (await use(key)).map((answer) => answer.status);
    expect([await statuses(doomed.key), await statuses(kept.key)]).toEqual([
      [200, 200],
      [200, 200],
    ]);

    // It is in use all the time, so that every process remembers it as good up to the last moment.
    let revokedAt = Number.POSITIVE_INFINITY;
    const seen: { sinceRevoked: number; statuses: number[] }[] = [];
    const using = (async () => {
      do {
        const sinceRevoked = performance.now() - revokedAt;
        seen.push({ sinceRevoked, statuses: await statuses(doomed.key) });
      } while ((seen.at(-1)?.sinceRevoked ?? 0) < 1100);
    })();
    await runAdmin(databaseUrl, 'key', 'revoke', doomed.id);
    revokedAt = performance.now();
    await using;
    expect(seen[0]?.statuses).toEqual([200, 200]);
    const late = seen.filter(({ sinceRevoked }) => sinceRevoked >= 1000);
    expect(late.length).toBeGreaterThan(0);
    expect(late.flatMap((round) => round.statuses).filter((status) => status !== 401)).toEqual([]);
    expect(await statuses(kept.key)).toEqual([200, 200]);
  });
});
