import { createHmac } from 'node:crypto';
import express from 'express';
import { beforeAll, describe, expect, it } from 'vitest';
import { expressHandler } from '../../packages/client/src/webhook/index.ts';
import { createAccount } from '../support/account.ts';
import { type Api, createApi } from '../support/api.ts';
import { runJobferry } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { createGraphQLClient, type GraphQL } from '../support/graphql.ts';
import { startInProcess } from '../support/in-process.ts';
import { listen } from '../support/listen.ts';
import { startRawServer } from '../support/raw-server.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { createGate, openReceiver } from '../support/service.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';
import { waitFor } from '../support/wait-for.ts';

/** Test requests to receivers, which the API sends itself: there is no worker here. */

const HEADER = 'x-service-signature';
const TIMEOUT_SECONDS = 0.5;

let op: TestServices;
let url: string;
let baseUrl: string;

beforeAll(async () => {
  ({ url } = await createTestDatabase());
  op = openServices(url);
  ({ baseUrl } = await startInProcess({ databaseUrl: url, role: 'api', env: { SIGNATURE_HEADER: HEADER } }));
});

/** Each test has an account of its own, as the number of checks is limited by account. */
async function newAccount(): Promise<{ id: string; key: string; api: Api; graphql: GraphQL }> {
  const { id, key } = await createAccount(url);
  return { id, key, api: createApi(baseUrl, key), graphql: createGraphQLClient(baseUrl, key) };
}

const CHECK = `mutation C($id: ID!) {
  checkReceiver(queueId: $id) {
    __typename
    ... on CheckReceiverPayload { check { sentAt webhookStatusCode durationMs error responseBody signature } }
    ... on Error { message }
  }
}`;
const check = async (graphql: GraphQL, id: string) => (await graphql.query(CHECK, { id })).checkReceiver;

const isSigned = ({ raw, headers }: ReceivedRequest, secret: string, header = HEADER) =>
  headers[header] === `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`;

describe.concurrent('a check of a receiver', () => {
  it('sends one signed request that is no job, and says what came back', async () => {
    const { id, api, graphql } = await newAccount();
    const receiver = await openReceiver({ status: 202, body: 'thanks' });
    const queue = await api.createQueue({ webhookUrl: `${receiver.url}/hook?x=1` });
    await graphql.query('mutation P($id: ID!) { pauseQueue(id: $id) { __typename } }', { id: queue.id });
    expect((await check(graphql, queue.id)).check).toEqual({
      sentAt: expect.any(String),
      webhookStatusCode: 202,
      durationMs: expect.any(Number),
      error: null,
      responseBody: 'thanks',
      signature: 'ACCEPTED',
    });
    const [request] = receiver.requests;
    expect(receiver.requests).toHaveLength(1);
    expect(request?.path).toBe('/hook?x=1');
    expect(request && isSigned(request, queue.signingSecret)).toBe(true);
    const { id: jobId, ...envelope } = request?.json() ?? {};
    expect(envelope).toEqual({
      queue: queue.name,
      payload: { jobferry: 'check' },
      attempt: 1,
      maxAttempts: 1,
      createdAt: expect.any(String),
    });
    const after = await graphql.query(
      `query A($id: ID!, $job: ID!) {
        job(id: $job) { id } attempts { totalCount } account { usage { attempts } }
        queue(id: $id) { depth { due completed processing } health { answered2xx } }
        auditLog(targetId: $id, action: "queue.check_receiver") { nodes { actor targetName after } }
        me { label }
      }`,
      { id: queue.id, job: jobId },
    );
    expect(after).toMatchObject({
      job: null,
      attempts: { totalCount: 0 },
      account: { usage: { attempts: 0 } },
      queue: { depth: { due: 0, completed: 0, processing: 0 }, health: { answered2xx: 0 } },
    });
    const entry = { actor: after.me.label, targetName: queue.name, after: { webhookUrl: `${receiver.url}/hook?x=1` } };
    expect(after.auditLog.nodes).toEqual([entry]);
    expect(await op.db.query('select from job where account_id = $1', [id])).toEqual([]);
  });

  it.each([
    [401, 'REJECTED', 'HTTP 401'],
    [403, 'UNKNOWN', 'HTTP 403'],
    [429, 'UNKNOWN', 'HTTP 429'],
    [500, 'UNKNOWN', 'HTTP 500'],
    [204, 'ACCEPTED', null],
  ])('takes an answer with %i for %s', async (status, signature, error) => {
    const { api, graphql } = await newAccount();
    const receiver = await openReceiver({ status });
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    expect((await check(graphql, queue.id)).check).toMatchObject({ webhookStatusCode: status, signature, error });
  });

  it('signs with both secrets during a rotation', async () => {
    const { api, graphql } = await newAccount();
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const { rotateSigningSecret: rotated } = await graphql.query(
      `mutation R($id: ID!) { rotateSigningSecret(queueId: $id) { ... on RotateSigningSecretPayload { signingSecret } } }`,
      { id: queue.id },
    );
    await check(graphql, queue.id);
    const [request] = receiver.requests as [ReceivedRequest];
    expect(isSigned(request, queue.signingSecret)).toBe(true);
    expect(isSigned(request, rotated.signingSecret, `${HEADER}-next`)).toBe(true);
  });

  it.each([
    ['a private address', 'http://169.254.169.254/latest/meta-data', 'address_not_allowed'],
    ['a private address in another form', 'http://[::ffff:10.0.0.1]/', 'address_not_allowed'],
    ['a name that does not exist', 'http://receiver.invalid/', 'dns_error'],
    ['a closed port', 'http://127.0.0.1:9/', 'connection_refused'],
  ])('does not reach %s', async (_name, webhookUrl, error) => {
    const { api, graphql } = await newAccount();
    const queue = await api.createQueue({ webhookUrl });
    expect((await check(graphql, queue.id)).check).toMatchObject({
      webhookStatusCode: null,
      error,
      responseBody: null,
      signature: 'UNKNOWN',
    });
  });

  it('follows no redirect', async () => {
    const { api, graphql } = await newAccount();
    const target = await openReceiver();
    const receiver = await openReceiver({ status: 307, headers: { location: target.url } });
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    expect((await check(graphql, queue.id)).check).toMatchObject({ webhookStatusCode: 307, error: 'HTTP 307' });
    expect(target.requests).toEqual([]);
  });

  it('gives up on a receiver that is silent', async () => {
    const { api, key } = await newAccount();
    const env = { WEBHOOK_TIMEOUT_SECONDS: String(TIMEOUT_SECONDS) };
    const impatient = await startInProcess({ databaseUrl: url, role: 'api', env });
    const graphql = createGraphQLClient(impatient.baseUrl, key);
    const silent = await startRawServer(() => undefined);
    try {
      const queue = await api.createQueue({ webhookUrl: silent.url });
      const { check: result } = await check(graphql, queue.id);
      expect(result).toMatchObject({ webhookStatusCode: null, error: 'timeout', signature: 'UNKNOWN' });
      expect(result.durationMs).toBeGreaterThanOrEqual(TIMEOUT_SECONDS * 1000 - 1);
    } finally {
      await silent.close();
    }
  });

  it('reads the beginning of an answer that never ends, and hangs up', async () => {
    const { api, graphql } = await newAccount();
    const block = `10000\r\n${'e'.repeat(0x10000)}\r\n`;
    const flood = await startRawServer((socket) => {
      const pour = () => {
        while (!socket.destroyed && socket.write(block));
      };
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
        socket.on('drain', pour);
        pour();
      });
    });
    try {
      const queue = await api.createQueue({ webhookUrl: flood.url });
      const { check: result } = await check(graphql, queue.id);
      expect(result).toMatchObject({ webhookStatusCode: 200, signature: 'ACCEPTED' });
      expect(result.responseBody).toBe('e'.repeat(4096));
      await flood.waitForClosed(1);
    } finally {
      await flood.close();
    }
  });

  it('is refused above ten a minute, also for several at once', async () => {
    const { api, graphql } = await newAccount();
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    for (let n = 0; n < 10; n += 1) expect((await check(graphql, queue.id)).check.webhookStatusCode).toBe(200);
    const more = await Promise.all([1, 2, 3].map(() => check(graphql, queue.id)));
    expect(more.map(({ __typename }) => __typename)).toEqual(Array(3).fill('ConflictError'));
    expect(more[0].message).toMatch(/at most 10 receivers a minute/);
    expect(receiver.requests).toHaveLength(10);
    // The limit is about the last minute.
    await op.db.query(
      `update audit_entry set id = jobferry_id(jobferry_now() - interval '61 s') where action = 'queue.check_receiver'
          and target_id = $1`,
      [queue.id],
    );
    expect((await check(graphql, queue.id)).check.webhookStatusCode).toBe(200);
  });

  it('takes five places of the process at once, and leaves the others to other accounts', async () => {
    const [greedy, other] = [await newAccount(), await newAccount()];
    const gate = createGate();
    const slow = await openReceiver(async () => {
      await gate.opened;
      return { status: 200 };
    });
    const queue = await greedy.api.createQueue({ webhookUrl: slow.url });
    const waiting = Array.from({ length: 5 }, () => check(greedy.graphql, queue.id));
    await waitFor(() => slow.requests.length === 5, { message: 'five checks that wait' });
    expect(await check(greedy.graphql, queue.id)).toMatchObject({
      __typename: 'ConflictError',
      message: 'the account is checking 5 receivers: try again in a moment',
    });
    const fast = await openReceiver();
    const { id } = await other.api.createQueue({ webhookUrl: fast.url });
    expect((await check(other.graphql, id)).check.webhookStatusCode).toBe(200);
    gate.open();
    for (const { check: result } of await Promise.all(waiting)) expect(result.webhookStatusCode).toBe(200);
    expect((await check(greedy.graphql, queue.id)).check.webhookStatusCode).toBe(200);
  });

  it('finds neither queues of other accounts nor deleted ones', async () => {
    const [{ api, graphql }, { graphql: stranger }] = [await newAccount(), await newAccount()];
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const deleted = await api.createQueue({ webhookUrl: receiver.url });
    await graphql.query('mutation D($id: ID!) { deleteQueue(id: $id) { __typename } }', { id: deleted.id });
    for (const [client, id] of [
      [stranger, queue.id],
      [graphql, deleted.id],
      [graphql, UNKNOWN_ID],
      [graphql, 'nonsense'],
    ] as const) {
      expect((await check(client, id)).__typename).toBe('NotFoundError');
    }
    expect(receiver.requests).toEqual([]);
  });
});

const EXAMINE = `mutation E($id: ID!, $payload: String! = "{}") {
  examineReceiver(queueId: $id, payload: $payload) {
    __typename
    ... on ExamineReceiverPayload { findings { name status text advice } }
    ... on Error { message }
  }
}`;

describe.concurrent('an examination', () => {
  it('judges a receiver by some thirty test requests', async () => {
    const { api, graphql } = await newAccount();
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url, mode: 'ack', ackTimeout: 7 });
    const { examineReceiver: result } = await graphql.query(EXAMINE, { id: queue.id });
    expect(result.findings.slice(0, 3)).toEqual([
      { name: 'reachable', status: 'OK', text: expect.stringMatching(/^answered 200 in \d+ ms$/), advice: null },
      { name: 'wrong signature', status: 'FAILED', text: expect.any(String), advice: expect.stringContaining(HEADER) },
      { name: 'missing signature', status: 'FAILED', text: expect.any(String), advice: expect.any(String) },
    ]);
    const [first] = receiver.requests as [ReceivedRequest];
    expect(first.headers['x-jobferry-ack-timeout']).toBe('7');
    expect(first.json()?.payload).toEqual({});
    expect(receiver.requests.length).toBeLessThanOrEqual(30);
    const { auditLog } = await graphql.query(
      'query ($id: ID!) { auditLog(targetId: $id, action: "queue.examine_receiver") { nodes { targetName } } }',
      { id: queue.id },
    );
    expect(auditLog.nodes).toEqual([{ targetName: queue.name }]);
  });

  it('is refused for a payload that is no object, and above three a minute', async () => {
    const { api, graphql } = await newAccount();
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const examine = async (payload: string) =>
      (await graphql.query(EXAMINE, { id: queue.id, payload })).examineReceiver;
    for (const payload of ['[]', '{', `{"a":"${'x'.repeat(100_000)}"}`]) {
      expect((await examine(payload)).__typename).toBe('ValidationError');
    }
    expect(receiver.requests).toEqual([]);
    for (let n = 0; n < 3; n += 1) expect((await examine('{}')).__typename).toBe('ExamineReceiverPayload');
    expect(await examine('{}')).toMatchObject({
      __typename: 'ConflictError',
      message: expect.stringMatching(/at most 3 receivers/),
    });
  });
});

describe.concurrent('queue check', () => {
  const runCheck = async (args: string[]) => {
    const env = { DATABASE_URL: url, SIGNATURE_HEADER: HEADER, LOG_LEVEL: 'error' };
    const { code, stdout, stderr } = await runJobferry(['queue', 'check', ...args], env);
    return { code, out: stdout + stderr };
  };

  it('judges a receiver on the command line, and fails for one with a flaw', async () => {
    const { api } = await newAccount();
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const { code, out } = await runCheck([queue.id, '--json']);
    expect(code).toBe(1);
    const { ok, findings } = JSON.parse(out);
    expect(ok).toBe(false);
    expect(findings.filter(({ status }: { status: string }) => status === 'failed')).toMatchObject([
      { name: 'wrong signature', text: 'accepted a wrong signature with 200' },
      { name: 'missing signature' },
    ]);
    expect(await op.db.query('select from job where queue_id = $1', [queue.id])).toEqual([]);
    const text = await runCheck([queue.name, '--payload', '{"to":"ada"}']);
    expect(text.out).toMatch(/^failed\s+wrong signature\s+accepted .+\n\s+→ Anyone who knows the address/m);
    expect(receiver.requests.at(-1)?.json()?.payload).toEqual({ to: 'ada' });
  });

  it('succeeds for a receiver without a flaw', async () => {
    const { api } = await newAccount();
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    const options = { secret: queue.signingSecret, signatureHeader: HEADER, onRefused: () => undefined };
    const webhookUrl = await listen(
      express().post(
        '/',
        expressHandler(options, () => undefined),
      ),
    );
    await api.updateQueue(queue.id, { webhookUrl });
    expect(await runCheck([queue.name])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^ok +at once +5 requests/m),
    });
  });

  it.each(['[]', '{', `{"a":"${'x'.repeat(100_000)}"}`])('refuses the payload %.10s', async (payload) => {
    const { api } = await newAccount();
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    expect(await runCheck([queue.id, '--payload', payload])).toMatchObject({
      code: 2,
      out: expect.stringContaining('--payload must'),
    });
  });
});
