import { beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import type { GraphQL } from '../support/graphql.ts';
import { openGraphQL } from '../support/graphql-server.ts';

/** Tags of queues, and copies of queues, over the wire, each test with an account of its own. */

let server: Awaited<ReturnType<typeof openGraphQL>>;

beforeAll(async () => {
  server = await openGraphQL((await createTestDatabase()).url);
});

const SHOWN = `id name webhookUrl tags mode ackTimeout concurrency rateLimitMax maxAttempts backoffType
  standardWebhooks payloadsEncrypted production`;
const CREATE = `mutation ($input: CreateQueueInput!) { result: createQueue(input: $input) {
  ... on CreateQueuePayload { signingSecret queue { ${SHOWN} } } ... on Error { message } } }`;
const UPDATE = `mutation ($id: ID!, $input: UpdateQueueInput!) { result: updateQueue(id: $id, input: $input) {
  ... on QueuePayload { queue { tags } } ... on Error { message } } }`;

async function create(graphql: GraphQL, name: string, more: object = {}) {
  return (await graphql.query(CREATE, { input: { name, webhookUrl: 'http://127.0.0.1:9/', ...more } })).result;
}

const namesOf = (page: { nodes: { name: string }[] }) => page.nodes.map(({ name }) => name);

describe('tags of queues', () => {
  it('are kept once and in order, and each change is in the audit log', async () => {
    const { graphql } = await server.newAccount();
    const { queue } = await create(graphql, 'one', { tags: ['mail', 'eu-1', 'mail'] });
    expect(queue.tags).toEqual(['eu-1', 'mail']);
    const change = async (tags: string[] | null) =>
      (await graphql.query(UPDATE, { id: queue.id, input: { tags } })).result.queue.tags;
    expect(await change(['v1.2_x'])).toEqual(['v1.2_x']);
    expect(await change(['v1.2_x'])).toEqual(['v1.2_x']);
    expect(await change(null)).toEqual(['v1.2_x']);
    expect(await change([])).toEqual([]);
    const { auditLog } = await graphql.query('{ auditLog(first: 10) { nodes { action before after } } }');
    expect(auditLog.nodes).toMatchObject([
      { action: 'queue.update', before: { tags: ['v1.2_x'] }, after: { tags: [] } },
      { action: 'queue.update', before: { tags: ['eu-1', 'mail'] }, after: { tags: ['v1.2_x'] } },
      { action: 'queue.create', after: { tags: ['eu-1', 'mail'] } },
    ]);
  });

  it.each([
    [['Mail'], /^tags: must be 1 to 32 of a-z, 0-9, -, _ and \. each, which “Mail” is not$/],
    [[''], /“” is not$/],
    [['x'.repeat(33)], /“x{32}” is not$/],
    [Array.from({ length: 11 }, (_, n) => `t${n}`), /^tags: must be at most 10 tags$/],
  ])('tags such as %j are refused', async (tags, message) => {
    const { graphql } = await server.newAccount();
    expect(await create(graphql, 'one', { tags })).toEqual({ message: expect.stringMatching(message) });
    const { queue } = await create(graphql, 'one');
    const { result } = await graphql.query(UPDATE, { id: queue.id, input: { tags } });
    expect(result).toEqual({ message: expect.stringMatching(message) });
  });

  it('find queues and their jobs, those of the account alone', async () => {
    const [{ graphql }, stranger] = [await server.newAccount(), await server.newAccount()];
    await create(graphql, 'a', { tags: ['mail'] });
    await create(graphql, 'b', { tags: ['eu', 'mail'] });
    await create(graphql, 'c', { tags: ['us'] });
    await create(graphql, 'd');
    await create(stranger.graphql, 'e', { tags: ['mail', 'secret'] });
    const publish = 'mutation ($queue: String!) { publishJob(queue: $queue, input: { payload: {} }) { __typename } }';
    for (const queue of ['a', 'b', 'c', 'd']) await graphql.query(publish, { queue });

    const asked = await graphql.query(`{
      mail: queues(tags: ["mail"]) { totalCount nodes { name } }
      troubled: queues(tags: ["mail"], orderBy: TROUBLE) { nodes { name } }
      either: queues(tags: ["eu", "us"]) { nodes { name } }
      none: queues(tags: ["nope"]) { nodes { name } }
      all: queueTags some: queueTags(search: "u")
      jobs(filter: { queueTags: ["eu", "us"] }, orderBy: { field: CREATED_AT, direction: ASC }) { nodes { queue { name } } }
      no: jobs(filter: { queueTags: ["nope"] }) { nodes { id } }
      typo: jobs(filter: { queueTags: ["eu", "mial"], idempotencyKey: "none" }) { hint }
      typos: count(filter: { queueTags: ["nope"], payload: { path: "a", value: 1 } }) { hint }
      elsewhere: deadLetters(filter: { receivers: ["nowhere.example"] }) { hint }
      count(filter: { queueTags: ["mail"] }) { count }
      groups: jobGroups(by: [QUEUE], filter: { queueTags: ["us"] }) { groups { count queue { name } } }
    }`);
    expect(namesOf(asked.mail)).toEqual(['a', 'b']);
    expect(asked.mail.totalCount).toBe(2);
    expect(namesOf(asked.troubled)).toEqual(['a', 'b']);
    expect(namesOf(asked.either)).toEqual(['b', 'c']);
    expect(namesOf(asked.none)).toEqual([]);
    expect([asked.all, asked.some]).toEqual([
      ['eu', 'mail', 'us'],
      ['eu', 'us'],
    ]);
    expect(asked.jobs.nodes).toEqual([{ queue: { name: 'b' } }, { queue: { name: 'c' } }]);
    expect(asked.no.nodes).toEqual([]);
    expect(asked.typo.hint).toBe('no queue has the tag mial: did you mean mail?');
    expect(asked.typos.hint).toBe('no queue has the tag nope');
    expect(asked.elsewhere.hint).toBe('no queue delivers to nowhere.example');
    expect(asked.count).toEqual({ count: 2 });
    expect(asked.groups.groups).toEqual([{ count: 1, queue: { name: 'c' } }]);
  });

  it('choose the jobs of a bulk action, and none if no queue has them', async () => {
    const { graphql } = await server.newAccount();
    await create(graphql, 'a', { tags: ['mail'] });
    await create(graphql, 'b');
    const publish =
      'mutation ($queue: String!) { publishJob(queue: $queue, input: { payload: {}, delay: 600 }) { __typename } }';
    for (const queue of ['a', 'a', 'b']) await graphql.query(publish, { queue });
    const cancel = `mutation ($tags: [String!]) { cancelJobs(filter: { queueTags: $tags }, dryRun: true) {
      ... on BulkActionPayload { matched } ... on Error { message } } }`;
    expect((await graphql.query(cancel, { tags: ['mail'] })).cancelJobs).toEqual({ matched: 2 });
    expect((await graphql.query(cancel, { tags: ['nope'] })).cancelJobs).toEqual({ matched: 0 });
    expect((await graphql.query(cancel, { tags: ['No'] })).cancelJobs).toEqual({
      message: expect.stringMatching(/^tags must be/),
    });
  });

  it('an empty list of them is as any other: it matches no job, and a bulk action needs another condition', async () => {
    const { graphql } = await server.newAccount();
    const { queue } = await create(graphql, 'a', { tags: ['mail'] });
    await graphql.query('mutation { publishJob(queue: "a", input: { payload: {}, delay: 600 }) { __typename } }');
    const query = `mutation ($filter: JobFilter!) { result: cancelJobs(filter: $filter, dryRun: true) {
      ... on BulkActionPayload { matched } ... on Error { message } } }`;
    const cancel = async (filter: object) => (await graphql.query(query, { filter })).result;
    for (const member of ['queueTags', 'receivers', 'queueIds', 'ids', 'statuses']) {
      expect(await cancel({ [member]: [] }), member).toEqual({
        message: expect.stringMatching(/only empty lists.*all: true/),
      });
      expect(await cancel({ [member]: [], attempts: { min: 0 } }), member).toEqual({ matched: 0 });
      const count = 'query ($filter: JobFilter) { count(filter: $filter) { count } }';
      expect(await graphql.query(count, { filter: { [member]: [] } }), member).toEqual({ count: { count: 0 } });
    }
    expect(await cancel({ queueTags: [], queueIds: [queue.id], attempts: { min: 0 } })).toEqual({ matched: 0 });
    expect(await cancel({ queueTags: ['mail'] })).toEqual({ matched: 1 });
  });

  it('choose no jobs if more than 100 queues have them', async () => {
    const { graphql, id } = await server.newAccount();
    await create(graphql, 'one', { tags: ['many'] });
    await server.op.db.query(
      `insert into queue (account_id, name, webhook_url, signing_secret, max_attempts, max_defers, concurrency, dlq_enabled, mode,
                          rate_limit_window, ack_timeout, ack_timeout_action, backoff_type, backoff_delay, tags)
       select account_id, 'other-' || n, webhook_url, signing_secret, max_attempts, max_defers, 1, dlq_enabled, mode,
              rate_limit_window, ack_timeout, ack_timeout_action, backoff_type, backoff_delay, tags
         from queue, generate_series(1, 100) n where account_id = $1`,
      [id],
    );
    await expect(graphql.query('{ count(filter: { queueTags: ["many"] }) { count } }')).rejects.toThrow(
      'more than 100 queues have one of these tags',
    );
  });
});

describe('a copy of a queue', () => {
  it('has all settings but name and secret, and those that are given', async () => {
    const { graphql } = await server.newAccount();
    const settings = {
      mode: 'ACK',
      ackTimeout: 7,
      concurrency: 2,
      rateLimitMax: 9,
      maxAttempts: 4,
      backoffType: 'FIXED',
    };
    const first = await create(graphql, 'first', { ...settings, tags: ['mail'] });
    const on = `mutation ($id: ID!) { setStandardWebhooks(queueId: $id, enabled: true) { __typename }
      markProduction(queueId: $id, production: true) { __typename } }`;
    await graphql.query(on, { id: first.queue.id });
    await server.op.db.query('update queue set breaker_failures = 7 where id = $1', [first.queue.id]);
    const copy = await create(graphql, 'copy', { copyOf: first.queue.id, concurrency: 3 });
    const { id: _, ...expected } = first.queue;
    expect(copy.queue).toMatchObject({
      ...expected,
      name: 'copy',
      concurrency: 3,
      standardWebhooks: true,
      production: true,
    });
    expect(copy.signingSecret).not.toBe(first.signingSecret);
    const { auditLog } = await graphql.query('{ auditLog(first: 1) { nodes { action after } } }');
    expect(auditLog.nodes[0]).toMatchObject({
      action: 'queue.create',
      after: { name: 'copy', ackTimeout: 7, tags: ['mail'], standardWebhooks: true, production: true },
    });
    const breakerOf = await server.op.db.one('select breaker_failures as n from queue where id = $1', [copy.queue.id]);
    expect(breakerOf).toEqual({ n: 7 });
    const untagged = await create(graphql, 'untagged', { copyOf: first.queue.id, tags: [] });
    expect(untagged.queue.tags).toEqual([]);
  });

  it('is refused of the queue of another account, beside a template, and with a secret that its headers cannot use', async () => {
    const [{ graphql }, stranger] = [await server.newAccount(), await server.newAccount()];
    const theirs = (await create(stranger.graphql, 'theirs')).queue.id;
    const own = (await create(graphql, 'own')).queue.id;
    const refusal = (text: string) => ({ message: expect.stringContaining(text) });
    for (const copyOf of [theirs, '0'.repeat(24), 'own'])
      expect(await create(graphql, 'copy', { copyOf })).toEqual(refusal('copyOf: must be the id of a live queue'));
    expect(await create(graphql, 'copy', { copyOf: own, template: 'openai' })).toEqual(
      refusal('copyOf: cannot be given together with a template'),
    );
    await graphql.query('mutation ($id: ID!) { setStandardWebhooks(queueId: $id, enabled: true) { __typename } }', {
      id: own,
    });
    expect(await create(graphql, 'copy', { copyOf: own, signingSecret: 'no-base64-because-of-hyphens!' })).toEqual(
      refusal('signingSecret: must be base64'),
    );
  });
});
