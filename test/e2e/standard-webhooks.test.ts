import { createHmac } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import type { Api, ApiQueue } from '../support/api.ts';
import { createGraphQLClient, type GraphQL } from '../support/graphql.ts';
import { type ReceivedRequest, type Receiver, verifySignature } from '../support/receiver.ts';
import { openReceiver, startService } from '../support/service.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';
import { always, waitFor } from '../support/wait-for.ts';

/** The headers of Standard Webhooks, verified by hand; rigs/packages/tools has a library of the standard. */

let api: Api;
let graphql: GraphQL;
/** Another process, without a worker. */
let other: TestServices;
let account: Account;

beforeAll(async () => {
  const service = await startService();
  ({ api } = service);
  graphql = createGraphQLClient(service.jobferry.baseUrl, service.apiKey);
  other = openServices(service.databaseUrl);
  account = await other.firstAccount();
});

const SET = `mutation ($id: ID!, $enabled: Boolean!) { setStandardWebhooks(queueId: $id, enabled: $enabled) {
  __typename ... on QueuePayload { queue { standardWebhooks } } ... on Error { message } } }`;
const set = async (id: string, enabled: boolean) =>
  (await graphql.query(SET, { id, enabled })).setStandardWebhooks as object;

const NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

/** Which of the secrets the signatures are of, in their order; null if the request has none of the headers. */
function signers(request: ReceivedRequest, secrets: Record<string, string>): string[] | null {
  const [id, seconds, signatures] = NAMES.map((name) => request.headers[name]);
  if ([id, seconds, signatures].every((value) => value === undefined)) return null;
  expect(id).toBe(request.json().id);
  expect(seconds).toMatch(/^\d+$/);
  expect(Math.abs(Number(seconds) - Date.now() / 1000)).toBeLessThan(300);
  const names = request.rawHeaders.map((name) => name.toLowerCase());
  for (const name of NAMES) expect(names.filter((one) => one === name)).toHaveLength(1);
  const signatureOf = (secret: string) => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.`).update(request.raw).digest('base64')}`;
  };
  const nameOf = (signature: string) =>
    Object.keys(secrets).find((name) => signatureOf(secrets[name] ?? '') === signature);
  return String(signatures)
    .split(' ')
    .map((signature) => nameOf(signature) ?? 'none');
}

/** Publishes a job, and returns its first delivery. */
async function deliver(queue: ApiQueue, receiver: Receiver): Promise<ReceivedRequest> {
  const { id } = await api.publish(queue.name);
  const requests = await receiver.waitFor((all) => all.some((request) => request.json().id === id));
  return requests.find((request) => request.json().id === id) as ReceivedRequest;
}

describe.concurrent('the headers of Standard Webhooks', () => {
  it.each(['standard', 'ack'] as const)('are on each delivery while they are switched on, in %s mode', async (mode) => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url, mode });
    const secrets = { own: queue.signingSecret };
    const requests: ReceivedRequest[] = [];
    const seen: unknown[] = [];
    for (const enabled of [null, true, true, false, true]) {
      if (enabled !== null) {
        const changed = { __typename: 'QueuePayload', queue: { standardWebhooks: enabled } };
        expect(await set(queue.id, enabled)).toEqual(changed);
      }
      const request = await deliver(queue, receiver);
      requests.push(request);
      seen.push(signers(request, secrets));
    }
    expect(seen).toEqual([null, ['own'], ['own'], null, ['own']]);
    // The contract's own signature is as ever.
    for (const { raw, headers } of requests) {
      expect(verifySignature(raw, headers['x-service-signature'], queue.signingSecret)).toBe(true);
    }
  });

  it('have the id of the job at each attempt, and its own time', async () => {
    const receiver = await openReceiver((request) => ({ status: request.json().attempt === 3 ? 200 : 500 }));
    // The second retry is in another second than the first attempt.
    const queue = await api.createQueue({ webhookUrl: receiver.url, backoffType: 'fixed', backoffDelay: 0.6 });
    await set(queue.id, true);
    const { id } = await api.publish(queue.name);
    const requests = await receiver.waitFor(3);
    expect(requests.map((request) => signers(request, { own: queue.signingSecret }))).toEqual([
      ['own'],
      ['own'],
      ['own'],
    ]);
    expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual([id, id, id]);
    const seconds = requests.map(({ headers }) => Number(headers['webhook-timestamp']));
    expect(seconds.toSorted()).toEqual(seconds);
    expect(seconds[2]).toBeGreaterThan(seconds[0] ?? Number.NaN);
  });

  it('have both signatures during a rotation, the present one first, and then that of the new secret alone', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    await set(queue.id, true);
    const { signingSecret: next } = await other.queues.rotateSigningSecret(account, queue.id, 3600);
    const secrets = { old: queue.signingSecret, next };
    expect(signers(await deliver(queue, receiver), secrets)).toEqual(['old', 'next']);
    await other.queues.finishSecretRotation(account, queue.id);
    expect(signers(await deliver(queue, receiver), secrets)).toEqual(['next']);
  });

  it('come and go with a change by another process, which the worker finds by polling', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const secrets = { own: queue.signingSecret };
    for (const enabled of [true, false]) {
      await other.queues.setStandardWebhooks(account, queue.id, enabled);
      const follows = async () => {
        const request = await deliver(queue, receiver);
        const found = signers(request, secrets);
        always(() => expect(found === null || found.join() === 'own').toBe(true));
        return (found !== null) === enabled;
      };
      await waitFor(follows, { message: `a delivery that follows the switch to ${enabled}` });
    }
  });

  it('are on test requests of the queue, too', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const check = () =>
      graphql.query('mutation ($id: ID!) { checkReceiver(queueId: $id) { __typename } }', { id: queue.id });
    await check();
    await set(queue.id, true);
    await check();
    const seen = receiver.requests.map((request) => signers(request, { own: queue.signingSecret }));
    expect(seen).toEqual([null, ['own']]);
  });

  it('are no part of the contract: REST does not show the switch', async () => {
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    await set(queue.id, true);
    expect((await api.call('GET', `/v1/queues/${queue.id}`)).text).not.toMatch(/standardWebhooks/i);
    expect(await set(UNKNOWN_ID, true)).toEqual({ __typename: 'NotFoundError', message: 'queue not found' });
  });
});
