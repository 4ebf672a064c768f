import { beforeAll, describe, expect, it } from 'vitest';
import { hashApiKey } from '../../src/services/accounts/api-key.ts';
import { createAccount } from '../support/account.ts';
import { type Api, createApi } from '../support/api.ts';
import { createGraphQLClient, type GraphQL } from '../support/graphql.ts';
import { openCommands } from '../support/operator.ts';
import { startService } from '../support/service.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';

/** API keys with scopes, queues and an end, from the command line and from GraphQL, in a real process. */

let baseUrl: string;
let operator: ReturnType<typeof openCommands>;
let op: TestServices;
let accountId: string;
let full: Api;
let graphql: GraphQL;
let mails: string;
let other: string;

beforeAll(async () => {
  const { jobferry, databaseUrl } = await startService();
  baseUrl = jobferry.baseUrl;
  operator = openCommands(databaseUrl);
  op = openServices(databaseUrl);
  const made = await createAccount(databaseUrl);
  accountId = made.id;
  full = createApi(baseUrl, made.key);
  graphql = createGraphQLClient(baseUrl, made.key);
  mails = (await full.createQueue({ name: 'mails', webhookUrl: 'http://127.0.0.1:9/' })).id;
  other = (await full.createQueue({ name: 'other', webhookUrl: 'http://127.0.0.1:9/' })).id;
});

const create = (...limits: string[]) =>
  operator.json<{ id: string; key: string }>('key', 'create', '--account', accountId, ...limits);
const publish = (api: Api, queue: string) => api.call('POST', `/v1/queues/${queue}/jobs`, { payload: {}, delay: 3600 });

describe.concurrent('a key', () => {
  it('a key of one queue publishes there, and finds no other', async () => {
    const { key } = await create('--scopes', 'publish,read', '--queues', 'mails', '--name', 'shop');
    const api = createApi(baseUrl, key);
    const published = await publish(api, 'mails');
    expect(published.status).toBe(201);
    expect((await publish(api, 'other')).status).toBe(404);
    const hidden = (await publish(full, 'other')).body as { id: string };
    expect((await api.call('GET', `/v1/jobs/${(published.body as { id: string }).id}`)).status).toBe(200);
    expect(await api.call('GET', `/v1/jobs/${hidden.id}`)).toMatchObject({
      status: 404,
      body: { error: 'job not found' },
    });
    expect((await api.call('GET', `/v1/queues/${mails}/jobs`)).status).toBe(200);
    expect((await api.call('GET', `/v1/queues/${other}/jobs`)).status).toBe(404);
    expect((await api.call('GET', '/v1/queues')).body).toMatchObject([{ name: 'mails' }]);
    expect((await api.call('POST', `/v1/jobs/${hidden.id}/ack`)).status).toBe(403);
    expect(await createGraphQLClient(baseUrl, key).send('{ me { label } }')).toMatchObject({ status: 403 });
  });

  it('a key that may read queries GraphQL, changes nothing, and does not see members', async () => {
    const { key } = await create('--scopes', 'read');
    const reader = createGraphQLClient(baseUrl, key);
    expect((await reader.query('{ queues(first: 9) { nodes { name } } me { role mayViewPayloads } }')).me).toEqual({
      role: 'VIEWER',
      mayViewPayloads: true,
    });
    for (const change of [
      `mutation { pauseQueue(id: "${mails}") { __typename } }`,
      'mutation { createApiKey { __typename } }',
      'mutation { publishJob(queue: "mails", input: { payload: {} }) { __typename } }',
      '{ members(first: 1) { nodes { id } } }',
    ]) {
      expect(await reader.send(change), change).toMatchObject({ errors: [{ extensions: { code: 'FORBIDDEN' } }] });
    }
  });

  it('a key that may also manage changes queues, and creates no keys', async () => {
    const { key } = await create('--scopes', 'read,manage');
    const manager = createGraphQLClient(baseUrl, key);
    const made = await manager.query(
      'mutation { createQueue(input: { name: "managed", webhookUrl: "http://127.0.0.1:9/" }) { __typename ... on CreateQueuePayload { queue { name } } } }',
    );
    expect(made.createQueue).toEqual({ __typename: 'CreateQueuePayload', queue: { name: 'managed' } });
    const refused = await manager.send('mutation { createApiKey { __typename } }');
    expect(refused).toMatchObject({ errors: [{ message: expect.stringContaining('needs the scope admin') }] });
  });

  it('a key with limits is unknown to processes of the release before, and cannot sign in', async () => {
    const { id, key } = await create('--scopes', 'admin');
    const before = await op.db.query('select id from api_key where hash = $1 and revoked_at is null', [
      hashApiKey(key),
    ]);
    expect(before).toEqual([]);
    const signIn = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ apiKey: key }),
    };
    expect((await fetch(`${baseUrl}/session`, signIn)).status).toBe(403);
    expect((await createGraphQLClient(baseUrl, key).query('{ me { apiKeyId role } }')).me).toEqual({
      apiKeyId: id,
      role: 'ADMIN',
    });
  });

  it('an expired key is refused within a second, its streams end, and no list has it', async () => {
    const { id, key } = await create('--expires', '12h');
    const reader = createGraphQLClient(baseUrl, key);
    const stream = reader.subscribe('subscription { queueStats(everySeconds: 1) { queues { id } } }');
    await stream.next();
    await op.db.query('update api_key set expires_at = jobferry_now() where id = $1', [id]);
    await waitFor(async () => (await publish(createApi(baseUrl, key), 'mails')).status === 401);
    await expect(
      (async () => {
        for (;;) {
          const { errors } = await stream.next();
          if (errors !== undefined) throw new Error(errors[0]?.message);
        }
      })(),
    ).rejects.toThrow(/key/);
    expect(await operator.text('key', 'list', '--account', accountId)).not.toContain(id);
    expect(await operator.text('key', 'list', '--account', accountId, '--revoked')).toContain(id);
  });

  it('is created and shown by GraphQL with its limits, which the audit log has, too', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { createApiKey } = await graphql.query(
      `mutation ($end: DateTime) { createApiKey(name: "ci", scopes: [REPORT, PUBLISH], queues: ["mails"], expiresAt: $end) {
         ... on CreateApiKeyPayload { apiKey { id scopes queues expiresAt } } } }`,
      { end: expiresAt },
    );
    const limits = { scopes: ['PUBLISH', 'REPORT'], queues: ['mails'], expiresAt };
    expect(createApiKey.apiKey).toMatchObject(limits);
    const { id } = createApiKey.apiKey;
    const { account } = await graphql.query('{ account { apiKeys { id scopes queues expiresAt } } }');
    const shown = account.apiKeys as { id: string; queues: string[] | null }[];
    expect(shown.find((key) => key.id === id)).toMatchObject(limits);
    expect(shown.at(-1)).toMatchObject({ scopes: ['ADMIN'], queues: null, expiresAt: null });
    await operator.run('key', 'revoke', id);
    const facts = { scopes: ['publish', 'report'], queues: ['mails'], expiresAt };
    expect(await op.auditOf(id)).toMatchObject([{ after: facts }, { before: facts }]);
    const refused = await graphql.query('mutation { createApiKey(queues: ["mails"]) { __typename } }');
    expect(refused.createApiKey).toEqual({ __typename: 'ValidationError' });
  });

  it('a key that expires creates no key that outlives it', async () => {
    const { key } = await create('--expires', '1h');
    const expiring = createGraphQLClient(baseUrl, key);
    const asked = 'mutation ($end: DateTime) { createApiKey(expiresAt: $end) { __typename } }';
    expect((await expiring.query(asked)).createApiKey).toEqual({ __typename: 'ForbiddenError' });
    const end = new Date(Date.now() + 1_800_000).toISOString();
    expect((await expiring.query(asked, { end })).createApiKey).toEqual({ __typename: 'CreateApiKeyPayload' });
  });

  it.each([
    [['--scopes', 'write'], '--scopes must be of publish, read, report, manage, admin'],
    [['--queues', 'mails'], '--scopes must be given'],
    [['--expires', 'soon'], '--expires must be like 90d'],
    [['--expires', '2020-01-01'], 'expiresAt: must be in the future'],
    [['--name', 'x'.repeat(65)], '--name must have 1 to 64 characters'],
  ])('is refused by the command line with %j', async (limits, said) => {
    await expect(create(...limits)).rejects.toThrow(said);
  });
});
