import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Cipher, keyIdOf } from '../../src/db/connection/cipher.ts';
import { type Api, type ApiQueue, createApi } from '../support/api.ts';
import { runJobferry } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { dumpDatabase } from '../support/dump.ts';
import { createGraphQLClient, type GraphQL } from '../support/graphql.ts';
import { startInProcess } from '../support/in-process.ts';
import type { Running } from '../support/process.ts';
import { type Receiver, verifySignature } from '../support/receiver.ts';
import { openReceiver } from '../support/service.ts';
import { openServices } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';

/** ENCRYPTION_KEY on real processes: turned on, rotated, missing; signatures hold all the while (decision 7). */

const API_KEY = 'key-of-the-bootstrap-account';
const newKey = () => randomBytes(32).toString('base64');
const idOf = (key: string) => new Cipher([Buffer.from(key, 'base64')]).keyId ?? '';

/** A service on one database that is started again and again with other variables. */
async function openInstallation() {
  const { url: databaseUrl } = await createTestDatabase();
  let running: Running | null = null;
  return {
    databaseUrl,
    async start(encryptionKey?: string, env: Record<string, string> = {}): Promise<{ api: Api; graphql: GraphQL }> {
      await running?.stop();
      const variables = encryptionKey === undefined ? {} : { ENCRYPTION_KEY: encryptionKey };
      running = await startInProcess({ databaseUrl, env: { BOOTSTRAP_API_KEY: API_KEY, ...variables, ...env } });
      return { api: createApi(running.baseUrl, API_KEY), graphql: createGraphQLClient(running.baseUrl, API_KEY) };
    },
    stop: async () => running?.stop(),
    keyIds: () => storedKeyIds(databaseUrl),
    serve: (env: Record<string, string>) => runJobferry(['serve'], { DATABASE_URL: databaseUrl, ...env }),
  };
}

/** Ids of the keys that stored signing secrets need; undefined stands for those that are not encrypted. */
async function storedKeyIds(databaseUrl: string): Promise<(string | undefined)[]> {
  const lines = await dumpDatabase(databaseUrl);
  const rows = lines.filter((line) => line.startsWith('public.queue ')).map((line) => JSON.parse(line.slice(13)));
  const secrets = rows.flatMap((row: Record<string, string | null>) => [row.signing_secret, row.next_signing_secret]);
  return [...new Set(secrets.flatMap((secret) => (secret == null ? [] : [keyIdOf(secret)])))];
}

const HEADER = 'x-service-signature';

/** Publishes one job, and returns by whose secrets its delivery is signed: the present header, and the `-next` one. */
async function signers(api: Api, receiver: Receiver, queue: ApiQueue, secrets: Record<string, string>) {
  const { id } = await api.publish(queue.name, { payload: { n: 1 } });
  const found = await receiver.waitFor((all) => all.some((request) => request.json().id === id));
  const request = found.find((one) => one.json().id === id);
  await api.waitForStatus(id, 'completed');
  const by = (header: string) =>
    request?.headers[header] === undefined
      ? null
      : (Object.keys(secrets).find((name) =>
          verifySignature(request.raw, request.headers[header], secrets[name] ?? ''),
        ) ?? 'none');
  return [by(HEADER), by(`${HEADER}-next`)];
}

const ROTATE = `mutation ($id: ID!, $seconds: Float!) { rotateSigningSecret(queueId: $id, overlapSeconds: $seconds) {
  ... on RotateSigningSecretPayload { signingSecret } ... on Error { message } } }`;
const ENCRYPT = `mutation ($id: ID!, $enabled: Boolean!) { setPayloadEncryption(queueId: $id, enabled: $enabled) {
  ... on QueuePayload { queue { payloadsEncrypted } } ... on Error { __typename message } } }`;

/** Starting a process takes seconds when the machine is busy, and these start many. */

describe('signing secrets', () => {
  it('sign the same through turning encryption on and through every rotation of its keys', async () => {
    const installation = await openInstallation();
    const receiver = await openReceiver();
    const [one, two] = [newKey(), newKey()];

    let { api, graphql } = await installation.start();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const rotating = await api.createQueue({ webhookUrl: receiver.url });
    const before = await graphql.query(ROTATE, { id: rotating.id, seconds: 3600 });
    const secrets: Record<string, string> = {
      queue: queue.signingSecret,
      present: rotating.signingSecret,
      next: before.rotateSigningSecret.signingSecret,
    };
    const expectSignatures = async () => {
      expect(await signers(api, receiver, queue, secrets)).toEqual(['queue', null]);
      expect(await signers(api, receiver, rotating, secrets)).toEqual(['present', 'next']);
    };
    await expectSignatures();
    expect(await installation.keyIds()).toEqual([undefined]);

    for (const [variable, expected] of [
      [one, one],
      [`${one},${two}`, one],
      [`${two},${one}`, two],
      [two, two],
    ] as const) {
      // Deliveries of jobs that waited over the restart are signed like all others.
      const waiting = await api.publish(rotating.name, { payload: {}, delay: 1 });
      ({ api, graphql } = await installation.start(variable));
      expect(await installation.keyIds()).toEqual([idOf(expected)]);
      await expectSignatures();
      await api.waitForStatus(waiting.id, 'completed');
      const delivered = receiver.requests.find((request) => request.json().id === waiting.id);
      expect(verifySignature(delivered?.raw ?? Buffer.of(), delivered?.headers[HEADER], secrets.present ?? '')).toBe(
        true,
      );
    }

    // Made and rotated under encryption.
    const late = await api.createQueue({ webhookUrl: receiver.url });
    secrets.late = late.signingSecret;
    expect(await signers(api, receiver, late, secrets)).toEqual(['late', null]);
    const after = await graphql.query(ROTATE, { id: late.id, seconds: 0 });
    secrets.latest = after.rotateSigningSecret.signingSecret;
    expect(await signers(api, receiver, late, secrets)).toEqual(['latest', null]);
    expect(await installation.keyIds()).toEqual([idOf(two)]);
  });

  it('are served by processes that have the same keys in another order, while keys are rotated', async () => {
    const { url: databaseUrl } = await createTestDatabase();
    const [one, two] = [newKey(), newKey()];
    const start = (role: 'api' | 'worker', key: string) =>
      startInProcess({ databaseUrl, role, env: { BOOTSTRAP_API_KEY: API_KEY, ENCRYPTION_KEY: key } });
    const front = await start('api', `${one},${two}`);
    const receiver = await openReceiver();
    const api = createApi(front.baseUrl, API_KEY);
    const early = await api.createQueue({ webhookUrl: receiver.url });
    await start('worker', `${two},${one}`);
    const late = await api.createQueue({ webhookUrl: receiver.url });
    const secrets = { early: early.signingSecret, late: late.signingSecret };
    expect(await signers(api, receiver, early, secrets)).toEqual(['early', null]);
    expect(await signers(api, receiver, late, secrets)).toEqual(['late', null]);
  });

  it('are left to the other workers by one that lacks their key, and stop no queue', async () => {
    const { url: databaseUrl } = await createTestDatabase();
    const env = { BOOTSTRAP_API_KEY: API_KEY };
    const key = newKey();
    const without = await startInProcess({ databaseUrl, role: 'worker', env });
    const front = await startInProcess({ databaseUrl, role: 'api', env: { ...env, ENCRYPTION_KEY: key } });
    const api = createApi(front.baseUrl, API_KEY);
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url, concurrency: 1 });
    // The worker still delivers: nothing is encrypted before it has the key.
    expect(front.logs.some(({ msg }) => msg.startsWith('a new key encrypts nothing yet'))).toBe(true);
    await api.waitForStatus((await api.publish(queue.name)).id, 'completed');
    expect(await storedKeyIds(databaseUrl)).toEqual([undefined]);

    // As after a heartbeat that did not come for half a minute: the secret is encrypted all the same.
    const { db } = openServices(databaseUrl);
    const cipher = new Cipher([Buffer.from(key, 'base64')]);
    const encrypted = cipher.encrypt(`signing-secret:${queue.id}`, queue.signingSecret);
    await db.query('update queue set signing_secret = $1 where id = $2', [encrypted, queue.id]);
    const { id } = await api.publish(queue.name);
    const checks = async () => (await (await fetch(new URL('/readyz', without.baseUrl))).json()).checks;
    await waitFor(async () => /^ENCRYPTION_KEY lacks [0-9a-f]{8}: /.test((await checks()).worker), {
      message: '/readyz of the worker to name the key',
    });
    const metrics = await (await fetch(new URL('/metrics', without.baseUrl))).text();
    expect(metrics).toMatch(/^jobferry_worker_delivers 0$/m);
    const { stdout } = await runJobferry(['doctor'], { DATABASE_URL: databaseUrl, ENCRYPTION_KEY: key });
    expect(stdout).toMatch(
      new RegExp(`^problem +fleet +a process \\(worker, .*, pid ${process.pid}\\) lacks the key ${cipher.keyId} `, 'm'),
    );

    // The lease is over a minute, and the queue has one slot: the other worker gets it at once.
    await startInProcess({ databaseUrl, role: 'worker', env: { ...env, ENCRYPTION_KEY: key } });
    const startedAt = performance.now();
    expect(await api.waitForStatus(id, 'completed')).toMatchObject({ attempts: 1, history: [{ status: 'success' }] });
    expect(performance.now() - startedAt).toBeLessThan(60_000);

    // As an operator would: that process is restarted, and refused until it has the key. The rest is then encrypted.
    await without.stop();
    const refused = await runJobferry(['serve', '--role', 'worker'], { DATABASE_URL: databaseUrl, ...env });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/^jobferry: ENCRYPTION_KEY: /m)]);
    const other = await api.createQueue({ webhookUrl: receiver.url });
    await waitFor(async () => (await storedKeyIds(databaseUrl)).every((keyId) => keyId === cipher.keyId), {
      message: 'all secrets to be encrypted',
    });
    expect(await signers(api, receiver, other, { other: other.signingSecret })).toEqual(['other', null]);
  });
});

describe('a start', () => {
  it('a start without the needed key is refused, in a line that names the variable', async () => {
    const installation = await openInstallation();
    const [one, two] = [newKey(), newKey()];
    const { api, graphql } = await installation.start(one);
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    await graphql.query(ENCRYPT, { id: queue.id, enabled: true });
    await installation.stop();

    const missing = `jobferry: ENCRYPTION_KEY: the key with the id ${idOf(one)} is missing: the signing secrets of 1 queue(s) are encrypted with it\n`;
    for (const env of [{}, { ENCRYPTION_KEY: two }, { ENCRYPTION_KEY: '' }] as Record<string, string>[]) {
      const { code, stdout, stderr } = await installation.serve(env);
      expect([code, stdout, stderr.endsWith(missing)], stderr).toEqual([1, '', true]);
      expect(stderr).not.toContain(two);
    }
    const malformed = await installation.serve({ ENCRYPTION_KEY: `${one}x` });
    expect([malformed.code, malformed.stderr]).toEqual([
      1,
      'jobferry: ENCRYPTION_KEY: must be 32 bytes as base64 or as 64 hexadecimal digits\n',
    ]);
    await installation.start(`${two},${one}`);
    await installation.stop();
  });

  it('a start without a key that payloads need is refused until they are gone', async () => {
    const installation = await openInstallation();
    const [one, two] = [newKey(), newKey()];
    const { api, graphql } = await installation.start(one);
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    await graphql.query(ENCRYPT, { id: queue.id, enabled: true });
    await api.publish(queue.name, { payload: {}, delay: 3600 });
    await installation.start(`${two},${one}`);
    await installation.stop();
    const { code, stderr } = await installation.serve({ ENCRYPTION_KEY: two });
    const said = new RegExp(
      `jobferry: ENCRYPTION_KEY: the key with the id ${idOf(one)} is missing: payloads are encrypted with it, the last of which is kept until \\d{4}-\\d\\d-\\d\\dT`,
    );
    expect([code, stderr]).toEqual([1, expect.stringMatching(said)]);
  });

  it('refuses a BOOTSTRAP_API_KEY that looks like one of ours and would be refused as a typing error', async () => {
    const installation = await openInstallation();
    const { code, stderr } = await installation.serve({ BOOTSTRAP_API_KEY: `jf_${'a'.repeat(46)}` });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^jobferry: BOOTSTRAP_API_KEY: .*checksum/m)]);
  });
});

describe('a queue that encrypts its payloads', () => {
  const PAYLOAD = '{"big":9007199254740993,"a":1,"a":1e400,"text":"to-be-encrypted \\u0000"}';

  it('delivers and shows what was published, and the database has it nowhere', async () => {
    const installation = await openInstallation();
    const { api, graphql } = await installation.start(newKey());
    const receiver = await openReceiver((request) => ({
      status: request.json().attempt === 1 ? 500 : 200,
      body: 'to-be-encrypted-answer',
    }));
    const queue = await api.createQueue({ webhookUrl: receiver.url, backoffDelay: 0 });
    expect(await graphql.query(ENCRYPT, { id: queue.id, enabled: true })).toEqual({
      setPayloadEncryption: { queue: { payloadsEncrypted: true } },
    });
    const published = await api.publishRaw(queue.name, `{"payload":${PAYLOAD}}`);
    const { id } = published.body;
    await api.waitForStatus(id, 'completed');
    for (const request of receiver.requests) {
      expect(request.raw.toString()).toContain(`"payload":${PAYLOAD},`);
      expect(verifySignature(request.raw, request.headers[HEADER], queue.signingSecret)).toBe(true);
    }
    expect(receiver.requests).toHaveLength(2);
    for (const path of [`/v1/jobs/${id}`, `/v1/queues/${queue.id}/jobs`]) {
      expect((await api.call('GET', path)).text).toContain(`"payload":${PAYLOAD}`);
    }
    const { job } = await graphql.query(
      `query ($id: ID!) { job(id: $id) { payload payloadText attempts { responseBody } queue { payloadsEncrypted } } }`,
      { id },
    );
    expect(job).toMatchObject({
      payload: { text: 'to-be-encrypted \0' },
      payloadText: PAYLOAD,
      attempts: Array(2).fill({ responseBody: 'to-be-encrypted-answer' }),
      queue: { payloadsEncrypted: true },
    });
    const listed = await api.call('GET', '/v1/queues');
    expect(listed.text).not.toMatch(/encrypt/i); // a field that the contract does not have

    await installation.stop();
    const dump = await dumpDatabase(installation.databaseUrl);
    expect(dump.some((line) => line.includes(id))).toBe(true);
    expect(dump.filter((line) => line.includes('to-be-encrypted'))).toEqual([]);
  });

  it('is refused by a service without a key', async () => {
    const installation = await openInstallation();
    const { api, graphql } = await installation.start();
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    expect(await graphql.query(ENCRYPT, { id: queue.id, enabled: true })).toEqual({
      setPayloadEncryption: { __typename: 'InvalidRequestError', message: expect.stringContaining('ENCRYPTION_KEY') },
    });
    expect(await graphql.query(ENCRYPT, { id: 'f'.repeat(24), enabled: false })).toMatchObject({
      setPayloadEncryption: { __typename: 'NotFoundError' },
    });
  });
});
