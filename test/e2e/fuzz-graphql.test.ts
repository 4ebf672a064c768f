import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { buildSchema } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRule } from '../support/alerts.ts';
import type { ApiQueue } from '../support/api.ts';
import { FUZZ_TIMEOUT_MS, type FuzzClient, fuzz, openClient, outOf2000 } from '../support/fuzz.ts';
import { createGraphQLClient } from '../support/graphql.ts';
import { type GeneratedOperation, type Known, operationsOf } from '../support/graphql-operations.ts';
import { KEY, startVictim } from '../support/hostile.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';

/**
 * Operations generated from the schema (I-39): queries and mutations with values that fit and
 * values that do not. Whatever comes, the answer is 200 or 400 in GraphQL's shape, nothing is masked
 * because it was our own mistake, and the log has no error. REST is in fuzz.
 */

const victim = startVictim({ ENCRYPTION_KEY: 'ab'.repeat(32) });
const schema = buildSchema(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'));
let client: FuzzClient;
let known: Known;

const quoted = (texts: readonly string[]) => texts.map((text) => JSON.stringify(text));

const createQueue = (settings: object) => victim.api.createQueue({ webhookUrl: victim.receiver.url, ...settings });
const createFailingQueue = (concurrency: number) =>
  createQueue({ webhookUrl: 'http://127.0.0.1:9/', concurrency, maxAttempts: 1 });
const createAckQueue = (concurrency: number) => createQueue({ mode: 'ack', concurrency, ackTimeout: 86_400 });

async function publishLater({ name }: ApiQueue, count: number): Promise<string[]> {
  const publish = () => victim.api.publish(name, { payload: { a: 1 }, delay: 3600 });
  return (await Promise.all(Array.from({ length: count }, publish))).map(({ id }) => id);
}

async function publishUntil(status: 'dead' | 'awaiting_ack', { name }: ApiQueue, count: number): Promise<string[]> {
  const jobs = await Promise.all(Array.from({ length: count }, () => victim.api.publish(name)));
  await Promise.all(jobs.map(({ id }) => victim.api.waitForStatus(id, status)));
  return jobs.map(({ id }) => id);
}

/** The ids of dead letters, which are not those of their jobs. */
async function createDeadLetters(failing: ApiQueue, count: number): Promise<string[]> {
  await publishUntil('dead', failing, count);
  return (await victim.api.listDeadLetters(failing.id, '?limit=100')).jobs.map(({ id }) => id);
}

/**
 * Brings back jobs for the mutations that have not succeeded yet: one bulk action may have taken the jobs of every
 * queue away from them. The queues are new, so nothing has paused or held them.
 */
async function bringBackJobs(undone: readonly string[]): Promise<void> {
  const bring = async (fields: readonly string[], publish: () => Promise<string[]>) => {
    const missing = fields.filter((field) => undone.includes(field));
    if (missing.length === 0) return;
    const ids = quoted(await publish());
    for (const field of missing) known[`${field}.id`] = ids;
  };
  await bring(['replayDeadLetter'], async () => createDeadLetters(await createFailingQueue(1), 5));
  await bring(['runNow', 'cancelJob'], async () => publishLater(await createQueue({ concurrency: 1 }), 20));
  await bring(['ackJob', 'nackJob', 'deferJob', 'extendAck'], async () =>
    publishUntil('awaiting_ack', await createAckQueue(5), 5),
  );
}

/** A little of everything that an id can name. */
beforeAll(async () => {
  client = openClient(victim.jobferry.baseUrl);
  const { queue, receiver, jobId } = victim;
  const made: ApiQueue[] = [];
  while (made.length < 50) made.push(await createQueue({ concurrency: 1 }));
  const named = made.slice(0, 10);
  const doomed = made.slice(10);
  const failing = await createFailingQueue(10);
  const letters = await createDeadLetters(failing, 60);
  const waiting = await publishUntil('awaiting_ack', await createAckQueue(100), 100);
  const delayed = await publishLater(queue, 60);
  // No operation names these queues, so no purge takes their jobs, and no report ends them.
  const runnable = await publishLater(await createQueue({}), 60);
  const extendable = await publishUntil('awaiting_ack', await createAckQueue(40), 40);
  const graphql = createGraphQLClient(victim.jobferry.baseUrl, KEY);
  const key = await graphql.query('mutation { createApiKey { ... on CreateApiKeyPayload { apiKey { id } } } }');
  const rules: string[] = [];
  // One for each queue, because few may watch all of them.
  for (const { id } of made.slice(0, 40)) {
    rules.push((await createRule(graphql, { kind: 'HOLD', queueId: id, webhookUrl: receiver.url })).id);
  }
  const views: string[] = [];
  for (let view = 0; view < 20; view += 1) {
    const saved = await graphql.query(
      'mutation ($input: SaveViewInput!) { saveView(input: $input) { ... on SaveViewPayload { view { id } } } }',
      { input: { name: `view ${view}`, page: 'JOBS', query: 'q=state:dead' } },
    );
    views.push(saved.saveView.view.id);
  }
  const { errorGroups } = await graphql.query('{ errorGroups { fingerprint } }');
  const jobs = [...waiting, ...delayed];
  const queues = [queue, failing, ...named].map(({ id }) => id);
  known = {
    ID: quoted([...jobs, ...queues, ...letters.slice(0, 20), UNKNOWN_ID, 'x', '']),
    'deleteQueue.id': quoted(doomed.map(({ id }) => id)),
    'replayDeadLetter.id': quoted(letters),
    'deleteAlertRule.id': quoted(rules.slice(20)),
    'deleteSavedView.id': quoted(views),
    ...Object.fromEntries(
      ['rotateAlertRuleSecret', 'silenceAlertRule', 'testAlertRule', 'updateAlertRule'].map((field) => [
        `${field}.id`,
        quoted(rules.slice(0, 20)),
      ]),
    ),
    'revokeApiKey.id': quoted([key.createApiKey.apiKey.id, UNKNOWN_ID]),
    queueId: quoted(queues),
    queueIds: quoted(queues),
    ...Object.fromEntries(
      ['queue.id', 'pauseQueue.id', 'resumeQueue.id', 'purgeQueue.id', 'updateQueue.id'].map((at) => [
        at,
        quoted(queues),
      ]),
    ),
    ...Object.fromEntries(
      ['job', 'ackJob', 'nackJob', 'deferJob', 'cancelJob'].map((at) => [`${at}.id`, quoted([...jobs, jobId])]),
    ),
    'extendAck.id': quoted([...extendable, jobId]),
    // Other jobs have nothing to run.
    'runNow.id': quoted([...delayed, ...runnable, jobId]),
    fingerprint: quoted([errorGroups[0].fingerprint, 'f'.repeat(16), '']),
    queue: quoted([queue.name, ...named.map(({ name }) => name)]),
    // Mostly good ones: a queue is created only if both are.
    name: quoted([queue.name, 'fresh-1', 'fresh-2', 'fresh-3', 'fresh-4', 'fresh-5', 'fresh-6', '-']),
    webhookUrl: quoted([
      ...[receiver.url, 'https://example.com/', 'https://example.org/a', 'https://example.net/b?c'],
      ...['http:127.0.0.1', 'ftp://x/'],
    ]),
    template: quoted(['openai', 'anthropic', 'constructor']),
    payloadText: quoted(['{}', '{"a":1e400}', '[]', '{"a":']),
    payload: ['{}', '{"a":1,"b":{"c":[null]}}'],
    path: quoted(['a', 'a.b', 'items.0.sku', '', '\\', '..', 'a'.repeat(300)]),
    first: ['1', '5', '100', '101', '0', '-1'],
    after: quoted(['nonsense', '', 'MTIz']),
    attempt: ['1', '1', 'null', '2'],
    retryAfter: ['0', '0.5', '1e9', '-1'],
    seconds: ['1', '0.001', '86400', '0'],
    bucketSeconds: ['60', '300', '3600', '7', '0'],
  };
}, FUZZ_TIMEOUT_MS);

afterAll(() => client.close());

interface GraphQLBody {
  data?: Record<string, { __typename?: string } | null> | null;
  errors?: { message: string; extensions?: { code?: string } }[];
}

/** Fails for what no client should ever see of a service that is well. */
async function ask(body: string): Promise<GraphQLBody> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const { status, headers: answered, text } = await client.send('POST', '/graphql', headers, body);
  expect([200, 400], text).toContain(status);
  expect(answered.get('content-type'), text).toMatch(/^application\/(graphql-response\+)?json/);
  const answer = JSON.parse(text) as GraphQLBody;
  expect(text).not.toMatch(/internal error|INTERNAL_SERVER_ERROR|UNAVAILABLE|"UnavailableError"|prisma|Invalid `/i);
  if (typeof (answer as { error?: unknown }).error === 'string') return answer; // the HTTP shell's own refusal
  expect(answer.data !== undefined || (answer.errors?.length ?? 0) > 0, text).toBe(true);
  for (const { message } of answer.errors ?? []) expect(message, text).toMatch(/\S/);
  return answer;
}

const bodyOf = ({ query, variables }: GeneratedOperation) =>
  `{"query":${JSON.stringify(query)},"variables":${variables}}`;

describe('generated operations', { timeout: FUZZ_TIMEOUT_MS }, () => {
  it('queries', async () => {
    const seen = { answered: new Set<string>(), taken: 0, refused: 0 };
    const all = Object.keys(schema.getQueryType()?.getFields() ?? {});
    const ofQuery = async (operation: GeneratedOperation) => {
      const { errors } = await ask(bodyOf(operation));
      seen[errors === undefined ? 'taken' : 'refused'] += 1;
      if (errors === undefined) seen.answered.add(operation.field);
    };
    await fuzz(operationsOf(schema, 'query', known), ofQuery, {
      until: () => all.every((field) => seen.answered.has(field)),
    });
    // Each field got as far as the database, and much was refused as well.
    expect([...seen.answered].sort()).toEqual(all.sort());
    expect(seen.taken).toBeGreaterThan(outOf2000(500));
    expect(seen.refused).toBeGreaterThan(outOf2000(100));
  });

  it('mutations', async () => {
    const seen = { reached: new Set<string>(), done: new Set<string>(), refused: 0 };
    const all = Object.keys(schema.getMutationType()?.getFields() ?? {});
    // A bulk action that runs and limits within their bounds are hard to guess, there are no sessions here, and the
    // clock of this server cannot be moved.
    const hard = [
      ...['cancelBulkAction', 'pauseBulkAction', 'resumeBulkAction'],
      ...['endSession', 'endSessionsOfMember', 'resetClock', 'travelInTime', 'restoreQueueLimits'],
    ];
    const undone = () => all.filter((field) => !seen.done.has(field) && !hard.includes(field));
    const ofMutation = async (operation: GeneratedOperation) => {
      const { data, errors } = await ask(bodyOf(operation));
      const typename = data?.[operation.field]?.__typename;
      if (typename !== undefined) seen.reached.add(operation.field);
      if (typename?.endsWith('Error') === false) seen.done.add(operation.field);
      if (errors !== undefined || typename?.endsWith('Error') === true) seen.refused += 1;
    };
    await fuzz(operationsOf(schema, 'mutation', known), ofMutation, {
      until: async () => {
        await bringBackJobs(undone());
        return undone().length === 0 && all.every((field) => seen.reached.has(field));
      },
    });
    expect([...seen.reached].sort()).toEqual(all.sort());
    // The others succeeded at least once.
    expect(undone()).toEqual([]);
    expect(seen.refused).toBeGreaterThan(outOf2000(100));
  });

  it('documents that were damaged', async () => {
    const damage = fc.record({
      at: fc.nat(),
      cut: fc.nat({ max: 5 }),
      piece: fc.constantFrom(
        '',
        '{',
        '}',
        '(',
        '$',
        '@skip(if: true)',
        '...',
        '\0',
        '"',
        '"""',
        '\ud800',
        '#',
        '\u202e',
      ),
    });
    const damaged = fc
      .tuple(operationsOf(schema, 'query', known), fc.array(damage, { minLength: 1, maxLength: 3 }))
      .map(([operation, damages]) => ({
        ...operation,
        query: damages.reduce((query, { at, cut, piece }) => {
          const start = at % (query.length + 1);
          return query.slice(0, start) + piece + query.slice(start + cut);
        }, operation.query),
      }));
    let refused = 0;
    await fuzz(damaged, async (operation) => {
      if ((await ask(bodyOf(operation))).errors !== undefined) refused += 1;
    });
    expect(refused).toBeGreaterThan(outOf2000(500));
  });
});
