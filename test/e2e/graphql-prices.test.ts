import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { createApi } from '../support/api.ts';
import { createGraphQLClient } from '../support/graphql.ts';
import { startInProcess } from '../support/in-process.ts';
import { openReceiver, startService } from '../support/service.ts';

/** The price of a request is known before it runs; costs that a price cannot know are bounded while it runs. */

const KEY = 'key-of-the-bootstrap-account';
const { api, jobferry, databaseUrl } = await startService({ BOOTSTRAP_API_KEY: KEY });
const graphql = createGraphQLClient(jobferry.baseUrl, KEY);

const thirty = (field: string) => `{ ${Array.from({ length: 30 }, (_, n) => `a${n}: ${field}`).join(' ')} }`;

describe('a price', () => {
  it.each([
    ['counts', 'count(filter: { idempotencyKeyContains: "zz1zz" }) { count }'],
    ['charts of jobs', 'jobTimeline { at }'],
    ['searches', 'jobs(first: 10, filter: { errorContains: "x" }) { nodes { id lastError } totalCount }'],
    ['pages with totals', 'jobs(first: 1, orderBy: { field: SCHEDULED_FOR, direction: ASC }) { nodes { id } }'],
    ['groups of errors with all queues', 'errorGroups(acrossQueues: true) { queues(first: 100) { count } }'],
    ['groups of errors with samples', 'errorGroups { sample { job { payload } } }'],
  ])('the price of thirty %s is above the limit, and is told', async (_name, field) => {
    const answer = await graphql.send(thirty(field));
    expect(answer.status).toBe(400);
    expect(answer.data).toBeUndefined();
    const [error] = answer.errors ?? [];
    const requestId = expect.any(String);
    expect(error?.extensions).toEqual({ code: 'TOO_COMPLEX', price: expect.any(Number), limit: 20_000, requestId });
    const price = Number(/costs (\d+), above the limit of 20000/.exec(error?.message ?? '')?.[1]);
    expect(price).toBeGreaterThan(20_000);
    expect(error?.extensions).toMatchObject({ price });
  });

  it('counts a total once, and not for each item of its page', async () => {
    expect(
      (await graphql.send('{ jobs(first: 100) { totalCount totalCountExact nodes { id } } }')).errors,
    ).toBeUndefined();
  });

  it('counts a fragment each time it is used', async () => {
    const spread = Array.from({ length: 25 }, (_, n) => `a${n}: jobs(first: 1, filter: { attempts: {} }) { ...Page }`);
    const answer = await graphql.send(
      `{ ${spread.join(' ')} } fragment Page on JobConnection { totalCount totalCountExact }`,
    );
    expect(answer.errors?.[0]?.extensions?.code).toBe('TOO_COMPLEX');
  });
});

describe('payloads', () => {
  beforeAll(async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const payload = { text: 'x'.repeat(1_000_000) };
    await Promise.all(Array.from({ length: 10 }, () => api.publish(queue.name, { payload, delay: 3600 })));
  });

  it('the payloads of an answer are 8 MiB at most', async () => {
    const few = await graphql.send('{ jobs(first: 8) { nodes { payloadText } } }');
    expect(few.errors).toBeUndefined();
    for (const field of ['payload', 'payloadText']) {
      const many = await graphql.send(`{ jobs(first: 10) { nodes { ${field} } } }`);
      expect(many.errors?.[0]).toMatchObject({
        message: expect.stringContaining('8 MiB'),
        extensions: { code: 'BAD_USER_INPUT' },
      });
      expect(many.text.length).toBeLessThan(10_000);
    }
    const repeated = await graphql.send(
      `{ jobs(first: 1) { nodes { ${Array.from({ length: 9 }, (_, n) => `a${n}: payloadText`).join(' ')} } } }`,
    );
    expect(repeated.errors?.[0]?.extensions?.code).toBe('BAD_USER_INPUT');
  });
});

describe('an answer states', () => {
  it('whether a total is all there is', async () => {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query(
      `insert into audit_entry (account_id, actor_type, actor_label, action, target_type, target_id)
       select id, 'operator', 'test', 'queue.update', 'queue', 'x' from account, generate_series(1, 10001)`,
    );
    await client.end();
    const total = '{ totalCount totalCountExact }';
    const { jobs, auditLog } = await graphql.query(`{ jobs ${total} auditLog ${total} }`);
    expect(jobs).toEqual({ totalCount: 10, totalCountExact: true });
    expect(auditLog).toEqual({ totalCount: 10_000, totalCountExact: false });
  });

  it('what a queue needs to be found', async () => {
    const answer = await graphql.send('{ queue { id } }');
    expect(answer.errors?.[0]).toMatchObject({
      message: 'give an id or a name',
      extensions: { code: 'BAD_USER_INPUT' },
    });
  });

  it('what is wrong with an input', async () => {
    const { createQueue } = await graphql.query(
      'mutation { createQueue(input: { name: "Not This", webhookUrl: "http://x.test/" }) { ... on Error { message } } }',
    );
    expect(createQueue.message).toBe('the input is not valid: name: must be 1 to 64 of a-z, 0-9, - and _');
  });
});

describe('a plan that PLANS does not name', () => {
  it('is logged at the start, and is as strict as the strictest', async () => {
    const { key } = await createAccount(databaseUrl, 'gold');
    const { baseUrl, logs } = await startInProcess({ databaseUrl, role: 'api' });
    expect(logs.filter(({ msg }) => msg.includes('PLANS'))).toEqual([
      expect.objectContaining({ level: 'warn', plan: 'gold', accounts: 1 }),
    ]);
    const gold = createGraphQLClient(baseUrl, key);
    const { account } = await gold.query('{ account { plan { name queues monthlyAttempts } } }');
    expect(account.plan).toEqual({ name: 'gold', queues: 5, monthlyAttempts: 30_000 });
    const queue = await createApi(baseUrl, key).createQueue({ webhookUrl: 'http://127.0.0.1:9/', maxAttempts: 1 });
    await createApi(baseUrl, key).publish(queue.name, { payload: {}, delay: 3600 });
  });
});
