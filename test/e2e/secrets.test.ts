import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { generateApiKey } from '../../src/services/accounts/api-key.ts';
import { type Api, createApi } from '../support/api.ts';
import { runJobferry } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { dumpDatabase } from '../support/dump.ts';
import { createGraphQLClient, type GraphQL } from '../support/graphql.ts';
import { type Jobferry, startJobferry } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { relayDatabase } from '../support/tcp-relay.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * Does everything that makes or uses a key or a secret, also in wrong ways, and then searches for each of
 * them in every row of the database, every line of the logs and every answer (I-32).
 */

/** Every answer that this process got, by REST and by GraphQL. */
const answers: string[] = [];
const plainFetch = globalThis.fetch;
globalThis.fetch = async (...args) => {
  const response = await plainFetch(...args);
  answers.push(JSON.stringify([...response.headers]) + (await response.clone().text()));
  return response;
};
// The next test file may be in this process.
afterAll(() => {
  globalThis.fetch = plainFetch;
});
afterEach(() => {
  answers.length = 0;
});

interface Made {
  /** By what made them. */
  apiKeys: Map<string, string>;
  signingSecrets: Map<string, string>;
  /** Keys that give no access, and were sent all the same. */
  wrongKeys: Map<string, string>;
}

const PAYLOAD = 'payload-that-stays-secret';
const ANSWER = 'answer-that-stays-secret';
const OVERLAP_SECONDS = 0.5;

/** The texts by which a secret could be recognised: all of it, most of it, or another way to write it. */
function traces(secret: string): string[] {
  const core = secret.replace(/^(jf_|whsec_)/, '');
  const bytes = /^[0-9a-f]{64}$/.test(core) ? [Buffer.from(core, 'hex').toString('base64')] : [];
  return [secret, core.slice(4, -4), Buffer.from(secret).toString('base64').slice(0, -4), ...bytes];
}

const findings = (lines: readonly string[], secret: string) =>
  lines.filter((line) => traces(secret).some((trace) => line.includes(trace)));

interface Service {
  databaseUrl: string;
  env: Record<string, string>;
  api: Api;
  graphql: GraphQL;
  baseUrl: string;
  made: Made;
}

const CREATE_KEY = 'mutation { createApiKey { ... on CreateApiKeyPayload { key apiKey { id } } } }';
const ROTATE = `mutation ($id: ID!, $seconds: Float!) { rotateSigningSecret(queueId: $id, overlapSeconds: $seconds) {
  __typename ... on RotateSigningSecretPayload { signingSecret } } }`;
const ENCRYPT = `mutation ($id: ID!) { setPayloadEncryption(queueId: $id, enabled: true) { __typename } }`;
const CREATE_QUEUE = `mutation ($input: CreateQueueInput!) { createQueue(input: $input) {
  ... on CreateQueuePayload { signingSecret queue { id name } } } }`;
/** Everything that GraphQL can show of what has to do with secrets. */
const LOOK = `{
  queues(first: 100) { nodes { name signingSecretRotatesAt payloadsEncrypted } }
  account { apiKeys(includeRevoked: true) { prefix lastFour } }
  auditLog(first: 100) { nodes { actor action before after } }
}`;

/** Keys by every way there is; each works, and two are revoked. */
async function makeKeys({ databaseUrl, env, baseUrl, graphql, made }: Service): Promise<void> {
  const admin = async (...args: string[]) => {
    const result = await runJobferry([...args, '--json'], { DATABASE_URL: databaseUrl, LOG_LEVEL: 'trace', ...env });
    if (result.code !== 0) throw new Error(result.stderr);
    return { answer: JSON.parse(result.stdout) as { id: string; key: string }, stderr: result.stderr };
  };
  const account = await admin('account', 'create', '--name', 'another', '--plan', 'pro');
  const byCommand = await admin('key', 'create', '--account', account.answer.id);
  const said = [account.stderr, byCommand.stderr].join();
  expect(findings([said], byCommand.answer.key)).toEqual([]);
  made.apiKeys.set('by command', byCommand.answer.key);
  const revoked = await admin('key', 'create', '--account', account.answer.id);
  made.apiKeys.set('by command, revoked', revoked.answer.key);
  await admin('key', 'revoke', revoked.answer.id);

  const [byGraphQL, gone] = [await graphql.query(CREATE_KEY), await graphql.query(CREATE_KEY)];
  made.apiKeys.set('by GraphQL', byGraphQL.createApiKey.key);
  made.apiKeys.set('by GraphQL, revoked', gone.createApiKey.key);
  await graphql.query('mutation ($id: ID!) { revokeApiKey(id: $id) { __typename } }', {
    id: gone.createApiKey.apiKey.id,
  });
  for (const [how, key] of made.apiKeys) {
    const { status } = await createApi(baseUrl, key).call('GET', '/v1/queues');
    expect(status, how).toBe(how.endsWith('revoked') ? 401 : 200);
  }
}

async function sendWrongKeys({ baseUrl, made }: Service): Promise<void> {
  const good = made.apiKeys.get('by GraphQL') ?? '';
  const unknown = generateApiKey();
  made.wrongKeys.set('unknown', unknown);
  made.wrongKeys.set('wrong checksum', `jf_${'x'.repeat(46)}`);
  made.wrongKeys.set('of another form', randomBytes(24).toString('base64url'));
  for (const key of made.wrongKeys.values()) {
    expect((await createApi(baseUrl, key).call('GET', '/v1/queues')).status).toBe(401);
    await createApi(baseUrl, key).call('POST', '/v1/queues/x/jobs', '{"payload":');
    await createGraphQLClient(baseUrl, key).send('{ queues { nodes { id } } }');
  }
  // Where a key does not belong, and is not looked for.
  await fetch(`${baseUrl}/v1/queues?key=${unknown}`);
  await fetch(`${baseUrl}/v1/queues`, { headers: { authorization: good } });
  await fetch(`${baseUrl}/v1/queues`, { headers: { authorization: `Basic ${good}` } });
  await fetch(`${baseUrl}/v1/queues`, { headers: { authorization: `Bearer ${good} ${good}` } });
}

/** Queues by both ways, with rotations in progress, carried out and refused; and what they do. */
async function useQueues({ api, graphql, made, env }: Service): Promise<void> {
  const receiver = await openReceiver((request) => {
    const status = request.json().queue.includes('failing') ? 500 : 200;
    return { status: request.json().attempt === 1 ? status : 200, body: ANSWER };
  });
  const settings = { webhookUrl: receiver.url, backoffDelay: 0 };
  const byRest = await api.createQueue({ ...settings, name: 'failing', maxAttempts: 1 });
  made.signingSecrets.set('by REST', byRest.signingSecret);
  const input = { ...settings, name: 'by-graphql', mode: 'ACK' };
  const byGraphQL = (await graphql.query(CREATE_QUEUE, { input })).createQueue;
  made.signingSecrets.set('by GraphQL', byGraphQL.signingSecret);
  const gone = await api.createQueue({ ...settings, name: 'gone' });
  made.signingSecrets.set('deleted', gone.signingSecret);

  const rotate = async (id: string, seconds: number) =>
    (await graphql.query(ROTATE, { id, seconds })).rotateSigningSecret as { signingSecret?: string };
  for (const [what, seconds] of Object.entries({ 'at once': 0, 'with overlap': OVERLAP_SECONDS })) {
    made.signingSecrets.set(what, (await rotate(byRest.id, seconds)).signingSecret ?? '');
  }
  made.signingSecrets.set('under way', (await rotate(byGraphQL.queue.id, 3600)).signingSecret ?? '');
  expect(await rotate(byGraphQL.queue.id, 1)).toEqual({ __typename: 'ConflictError' });

  if (env.ENCRYPTION_KEY !== undefined) {
    for (const id of [byRest.id, byGraphQL.queue.id, gone.id]) await graphql.query(ENCRYPT, { id });
  }
  const body = { payload: { text: PAYLOAD } };
  const dead = await api.publish('failing', body);
  await api.waitForStatus(dead.id, 'dead');
  const [letter] = (await api.listDeadLetters(byRest.id)).jobs;
  const replay = await api.call<{ id: string }>('POST', `/v1/queues/${byRest.id}/dlq/${letter?.id}/replay`);
  await api.waitForStatus(replay.body.id, 'dead');
  const acked = await api.publish('by-graphql', body);
  await api.waitForStatus(acked.id, 'awaiting_ack');
  await api.call('POST', `/v1/jobs/${acked.id}/ack`);
  // So late that the rotation with an overlap is carried out.
  const late = await api.publish('failing', { ...body, delay: OVERLAP_SECONDS });
  await api.waitForStatus(late.id, 'dead');
  await api.publish('gone', { ...body, delay: 60 });
  await api.call('DELETE', `/v1/queues/${gone.id}`);

  for (const path of ['/v1/queues', `/v1/queues/${byRest.id}`, `/v1/queues/${byRest.id}/jobs`])
    await api.call('GET', path);
  await api.call('PUT', `/v1/queues/${byRest.id}`, { maxAttempts: 2, signingSecret: 'mine' });
  await api.call('POST', '/v1/queues', { ...settings, name: 'failing' });
  expect((await graphql.send(LOOK)).errors).toBeUndefined();
  for (const field of ['signingSecret', 'nextSigningSecret']) await graphql.send(`{ queues { nodes { ${field} } } }`);
  for (const field of ['key', 'hash']) await graphql.send(`{ account { apiKeys { ${field} } } }`);
}

/** The first key of a database is printed once, on stdout. */
function greeted({ output }: Jobferry): string {
  const key = output.map((line) => line.trim()).find((line) => /^jf_\w{46}$/.test(line));
  if (key === undefined) throw new Error(`no key in ${output.join('\n')}`);
  return key;
}

describe.each([
  ['with an ENCRYPTION_KEY', randomBytes(32).toString('base64')],
  ['without one', undefined],
])('%s', (_title, encryptionKey) => {
  it('no key and no secret is in the database, in the logs, or in a second answer', async () => {
    const { url } = await createTestDatabase();
    const relayed = await relayDatabase(url);
    const env: Record<string, string> = encryptionKey === undefined ? {} : { ENCRYPTION_KEY: encryptionKey };
    const known = `known-in-advance-${randomBytes(16).toString('hex')}`;
    const first = await startJobferry({ databaseUrl: relayed.url, env: { ...env, LOG_LEVEL: 'trace' } });
    // Another process, with a key that was known in advance.
    const second = await startJobferry({
      databaseUrl: url,
      role: 'worker',
      env: { ...env, LOG_LEVEL: 'trace', BOOTSTRAP_API_KEY: known },
    });
    const key = greeted(first);
    const apiKeys = new Map([
      ['made at the first start', key],
      ['known in advance', known],
    ]);
    const service: Service = {
      databaseUrl: url,
      env,
      baseUrl: first.baseUrl,
      api: createApi(first.baseUrl, key),
      graphql: createGraphQLClient(first.baseUrl, key),
      made: { apiKeys, signingSecrets: new Map(), wrongKeys: new Map() },
    };
    await makeKeys(service);
    await sendWrongKeys(service);
    await useQueues(service);
    // A wrong checksum is refused without the database, which a good key needs.
    await relayed.relay.cut();
    const { made, baseUrl, api } = service;
    expect(
      (await createApi(baseUrl, made.wrongKeys.get('wrong checksum') ?? '').call('GET', '/v1/queues')).status,
    ).toBe(401);
    expect((await createApi(baseUrl, generateApiKey()).call('GET', '/v1/queues')).status).toBe(503);
    for (const body of [{ name: 'x', webhookUrl: 'http://127.0.0.1:9/' }, '{'])
      await api.call('POST', '/v1/queues', body);
    await relayed.relay.heal();
    await waitFor(async () => (await fetch(`${baseUrl}/readyz`)).ok, { message: 'readiness' });
    await Promise.all([first.kill('SIGTERM'), second.kill('SIGTERM')]);

    expect([made.apiKeys.size, made.signingSecrets.size, made.wrongKeys.size]).toEqual([6, 6, 3]);
    const logs = [first, second].flatMap(({ logs: lines }) => lines.map((line) => JSON.stringify(line)));
    const notJson = [...second.output, ...first.output.filter((line) => !line.includes(key))];
    const dump = await dumpDatabase(url);
    // The searches find what is there.
    expect(logs.some((line) => line.includes('"msg":"attempt"'))).toBe(true);
    expect(dump.some((line) => line.startsWith('public.api_key ') && line.includes(known.slice(-4)))).toBe(true);
    expect(dump.filter((line) => line.startsWith('public.queue '))).toHaveLength(3);

    for (const [what, secret] of [...made.apiKeys, ...made.wrongKeys, ...made.signingSecrets]) {
      expect(findings([...logs, ...notJson], secret), `${what}: in the logs`).toEqual([]);
    }
    for (const [what, secret] of [...made.apiKeys, ...made.wrongKeys]) {
      expect(findings(dump, secret), `${what}: in the database`).toEqual([]);
    }
    for (const [what, secret] of made.signingSecrets) {
      const tables = findings(dump, secret).map((line) => line.slice(0, line.indexOf(' ')));
      // Those of queues that were rotated are gone; the others are where they are used and nowhere else.
      const isStored = encryptionKey === undefined && !['by REST', 'at once'].includes(what);
      expect(tables, `${what}: in the database`).toEqual(isStored ? ['public.queue'] : []);
    }
    if (encryptionKey !== undefined) {
      for (const text of [PAYLOAD, ANSWER]) expect(dump.filter((line) => line.includes(text))).toEqual([]);
      const bytes = Buffer.from(encryptionKey, 'base64');
      for (const form of [encryptionKey, bytes.toString('hex'), bytes.toString('base64url')]) {
        expect([...dump, ...logs, ...notJson, ...answers].filter((line) => line.includes(form))).toEqual([]);
      }
    }

    // A secret that was created over the network is in that one answer, and other secrets are in none.
    expect(answers.length).toBeGreaterThan(50);
    for (const [what, secret] of [...made.apiKeys, ...made.wrongKeys, ...made.signingSecrets]) {
      const told = made.signingSecrets.has(what) || what.startsWith('by GraphQL') ? 1 : 0;
      expect(findings(answers, secret), `${what}: in answers`).toHaveLength(told);
    }
    expect(
      answers.filter((answer) => /enc:v1:|[0-9a-f]{64}/.test(answer)).map((answer) => /whsec_/.test(answer)),
    ).toEqual(Array(6).fill(true));
  });
});
