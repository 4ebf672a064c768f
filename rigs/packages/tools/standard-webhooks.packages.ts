import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../../src/db/embedded/free-port.ts';
import type { Account } from '../../../src/domain/account.ts';
import type { Api, ApiQueue } from '../../../test/support/api.ts';
import { ROOT } from '../../../test/support/checkout.ts';
import { type ReceivedRequest, type Receiver, verifySignature } from '../../../test/support/receiver.ts';
import { openReceiver, startService } from '../../../test/support/service.ts';
import { openServices, type TestServices } from '../../../test/support/services.ts';
import { waitFor } from '../../../test/support/wait-for.ts';

/** Deliveries that the public library of Standard Webhooks verifies, by the secrets as Jobferry shows them. */

const MODULES = fileURLToPath(new URL('node_modules', import.meta.url));
/** Text that a parser would not give back as it is: the library gets the bytes. */
const PAYLOAD = '{ "big":9007199254740993, "z":1e400, "ä":"\\u0000 🔑", "a":1, "a":2 }';

let api: Api;
/** Another process, without a worker. */
let other: TestServices;
let account: Account;

beforeAll(async () => {
  const service = await startService();
  ({ api } = service);
  other = openServices(service.databaseUrl);
  account = await other.firstAccount();
});

/** A queue whose deliveries have the headers, as the worker knows already. */
async function setup(mode: 'standard' | 'ack'): Promise<{ queue: ApiQueue; receiver: Receiver }> {
  const receiver = await openReceiver();
  const queue = await api.createQueue({ webhookUrl: receiver.url, mode, concurrency: 100 });
  await other.queues.setStandardWebhooks(account, queue.id, true);
  const hasHeaders = async () => 'webhook-signature' in (await deliver(queue, receiver)).headers;
  await waitFor(hasHeaders, { message: 'a delivery with the headers' });
  return { queue, receiver };
}

async function deliver(queue: ApiQueue, receiver: Receiver): Promise<ReceivedRequest> {
  const { id } = (await api.publishRaw(queue.name, `{"payload":${PAYLOAD}}`)).body;
  const requests = await receiver.waitFor((all) => all.some((request) => request.json().id === id));
  return requests.find((request) => request.json().id === id) as ReceivedRequest;
}

const verify = (secret: string, { headers }: ReceivedRequest, body: Buffer | string) =>
  new Webhook(secret).verify(body, headers as Record<string, string>);

it.each(['standard', 'ack'] as const)(
  'verifies a delivery in %s mode, and none with another byte or id',
  async (mode) => {
    const { queue, receiver } = await setup(mode);
    const request = await deliver(queue, receiver);
    const { signingSecret: secret } = queue;
    expect(verify(secret, request, request.raw)).toMatchObject({ id: request.json().id, queue: queue.name });
    expect(verify(secret, request, request.raw.toString())).toEqual(verify(secret, request, request.raw));
    for (const at of [0, request.raw.indexOf('9007'), request.raw.length - 1]) {
      const changed = Buffer.from(request.raw);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(() => verify(secret, request, changed)).toThrow(WebhookVerificationError);
    }
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      const value = String(request.headers[name]);
      // The last digit of a time, and the last character of an id.
      const headers = { ...request.headers, [name]: value.slice(0, -1) + (value.endsWith('1') ? '2' : '1') };
      expect(() => verify(secret, { ...request, headers }, request.raw)).toThrow(WebhookVerificationError);
    }
    expect(() => verify(`whsec_${'0'.repeat(64)}`, request, request.raw)).toThrow(WebhookVerificationError);
    // The contract's signature is beside them.
    expect(verifySignature(request.raw, request.headers['x-service-signature'], secret)).toBe(true);
  },
);

it('verifies a delivery with the old and with the new secret during a rotation, and then with the new one alone', async () => {
  const { queue, receiver } = await setup('standard');
  const { signingSecret: old } = queue;
  const before = await deliver(queue, receiver);
  const { signingSecret: next } = await other.queues.rotateSigningSecret(account, queue.id, 3600);
  const during = await deliver(queue, receiver);
  await other.queues.finishSecretRotation(account, queue.id);
  const after = await deliver(queue, receiver);
  const isVerified = (secret: string) =>
    [before, during, after].map((request) => {
      try {
        verify(secret, request, request.raw);
        return true;
      } catch (error) {
        expect(error).toBeInstanceOf(WebhookVerificationError);
        return false;
      }
    });
  expect(isVerified(old)).toEqual([true, true, false]);
  expect(isVerified(next)).toEqual([false, true, true]);
});

it('signs the body as Jobferry does', async () => {
  const { queue, receiver } = await setup('standard');
  const { headers, raw } = await deliver(queue, receiver);
  const at = new Date(Number(headers['webhook-timestamp']) * 1000);
  const signature = new Webhook(queue.signingSecret).sign(String(headers['webhook-id']), at, raw);
  expect(signature).toBe(headers['webhook-signature']);
});

it('verifies deliveries in the receiver that docs/receivers.md has, which refuses forged ones', async () => {
  const { queue } = await setup('standard');
  const port = await startDocumented(queue.signingSecret);
  const webhookUrl = `http://127.0.0.1:${port}/`;
  await api.call('PUT', `/v1/queues/${queue.id}`, { webhookUrl, maxAttempts: 1 });
  const genuine = await api.publish(queue.name);
  await api.waitForStatus(genuine.id, 'completed');
  const forged = await fetch(webhookUrl, { method: 'POST', body: '{}', headers: { 'webhook-id': 'x' } });
  expect(forged.status).toBe(401);
  // Without the headers it takes no delivery, so it was they that were verified.
  await other.queues.setStandardWebhooks(account, queue.id, false);
  const isRefused = async () => {
    const { id } = await api.publish(queue.name);
    const { lastError } = await api.waitForJob(id, ({ status }) => status === 'completed' || status === 'dead');
    return lastError === 'HTTP 401';
  };
  await waitFor(isRefused, { message: 'a delivery without the headers' });
});

/** Starts the receiver of the document with this secret. @returns its port */
async function startDocumented(secret: string): Promise<number> {
  const text = await readFile(join(ROOT, 'docs/receivers.md'), 'utf8');
  const [, program = ''] = /^```js\n([\s\S]*?standardwebhooks[\s\S]*?)^```$/m.exec(text) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-standard-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const port = await freePort();
  await writeFile(join(folder, 'receiver.mjs'), program.replace('9003', String(port)));
  await symlink(MODULES, join(folder, 'node_modules'), 'junction');
  const env = { PATH: process.env.PATH, SIGNING_SECRET: secret };
  const child = spawn(process.execPath, [join(folder, 'receiver.mjs')], { env });
  onTestFinished(() => void child.kill());
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(String(chunk)));
  const isListening = () => output.join('').includes('receiver is listening');
  await waitFor(() => isListening() || child.exitCode !== null, { message: 'the receiver' });
  expect(isListening(), output.join('')).toBe(true);
  return port;
}
