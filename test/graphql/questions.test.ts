import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { TestQueue } from '../support/database-fixture.ts';
import type { GraphQL } from '../support/graphql.ts';
import { openGraphQL } from '../support/graphql-server.ts';
import { type JobRow, openSearchFixture } from '../support/search-fixture.ts';

/** Questions that people have about their jobs, over the wire, beside another account that has the same jobs. */

interface Page<Node> {
  nodes: Node[];
  pageInfo: { endCursor: string; hasNextPage: boolean };
}

const HOUR = 3_600_000;
let fixture: Awaited<ReturnType<typeof openSearchFixture>>;
let graphql: GraphQL;
let stranger: GraphQL;
/** A client of an account without jobs. */
let newcomer: GraphQL;
/** A client of an account whose receivers answer with text that looks like a ciphertext of ours. */
let deceived: GraphQL;
let orders: TestQueue;
let mails: TestQueue;
let theirs: TestQueue;
const ids: Record<string, string> = {};

/** Jobs of both accounts. Those of `late` are not yet indexed. */
const JOBS: Record<string, Omit<JobRow, 'queue'> & { of: 'orders' | 'mails' }> = {
  failedTwice: {
    of: 'orders',
    status: 'completed',
    attempts: 3,
    key: 'order-77',
    payload: '{"customer":{"id":42},"items":[{"sku":"A-1"},{"sku":"B-2"}],"total":420}',
    answers: [
      { code: 500, ms: 900, body: 'deadlock in row 3' },
      { code: 503, ms: 20, body: 'busy' },
      { code: 200, ms: 1500, body: 'ok' },
    ],
  },
  dead: {
    of: 'orders',
    status: 'dead',
    attempts: 2,
    key: 'order-771',
    payload: '{"customer":{"id":42},"items":[{"sku":"C-3"}],"note":"Ask \\"Ada\\" first"}',
    answers: [
      { code: 500, ms: 30, body: 'Deadlock in row 4' },
      { code: 500, ms: 40, body: '{\n "error": "out of stock"\n}' },
    ],
  },
  held: {
    of: 'mails',
    deferCount: 3,
    waitReason: 'hold',
    scheduledInMs: HOUR,
    payload: '{"customer":{"id":"42"},"to":"ada@example.com"}',
    answers: [{ code: 429, ms: 5, agoMs: 30 * HOUR }],
    ageMs: 31 * HOUR,
  },
  retrying: { of: 'mails', attempts: 1, waitReason: 'backoff', scheduledInMs: HOUR, payload: '{"customer":{"id":7}}' },
  late: { of: 'mails', ageMs: 1000, payload: '{"customer":{"id":7},"items":[{"sku":"B-2"}]}' },
};

beforeAll(async () => {
  fixture = await openSearchFixture();
  const server = await openGraphQL(fixture.url);
  graphql = await server.clientOf(fixture.accountId);
  const other = await server.newAccount();
  stranger = other.graphql;
  newcomer = (await server.newAccount()).graphql;
  deceived = (await server.newAccount()).graphql;
  [orders, mails] = [await fixture.createQueue(), await fixture.createQueue()];
  const { createQueue } = await stranger.query(
    `mutation { createQueue(input: { name: "theirs", webhookUrl: "http://127.0.0.1:9/" }) { ... on CreateQueuePayload { queue { id name } } } }`,
  );
  theirs = createQueue.queue;
  for (const [name, { of, ...row }] of Object.entries(JOBS)) {
    if (name === 'late') await fixture.indexAll();
    ids[name] = await fixture.insertJob({ ...row, queue: of === 'orders' ? orders : mails });
    await fixture.insertJob({ ...row, key: null, queue: theirs });
  }
  // As a settle writes it.
  await fixture.db.query(
    `insert into dead_letter (job_id, queue_id, reason, webhook_status_code, error, fingerprint, answer, dead_at)
     select j.id, j.queue_id, 'attempts_exhausted', 500, 'HTTP 500',
            jobferry_fingerprint('attempts_exhausted', 500, 'HTTP 500'), jobferry_answer_line(500, a.response_body), jobferry_now()
       from job j join attempt a on a.job_id = j.id and a.ordinal = j.history_count where j.status = 'dead'`,
  );
});

/** Names of the jobs that a filter finds, in the order of the list. */
async function find(filter: object, orderBy: object | null = null): Promise<string[]> {
  const { jobs } = await graphql.query(
    'query F($filter: JobFilter, $orderBy: JobOrder) { jobs(filter: $filter, orderBy: $orderBy) { nodes { id } } }',
    { filter, orderBy },
  );
  return jobs.nodes.map(({ id }: { id: string }) => Object.keys(ids).find((name) => ids[name] === id) ?? id);
}

describe('queues', () => {
  it('are searched by the characters of a text, also those that mean something to LIKE', async () => {
    for (const name of ['a_b', 'a-b']) {
      await newcomer.query(
        `mutation { createQueue(input: { name: "${name}", webhookUrl: "http://127.0.0.1:9/" }) { __typename } }`,
      );
    }
    const found = async (text: string) => {
      const { queues } = await newcomer.query('query ($text: String) { queues(search: $text) { nodes { name } } }', {
        text,
      });
      return queues.nodes.map(({ name }: { name: string }) => name);
    };
    expect(await found('A_')).toEqual(['a_b']);
    expect(await found('a_b')).toEqual(['a_b']);
    expect(await found('-b')).toEqual(['a-b']);
    for (const text of ['%', 'a%b', '\\', 'a\\_b']) expect(await found(text), text).toEqual([]);
  });
});

describe('answers that look as if they were encrypted', () => {
  const LOOKS = 'enc:v1:0123abcd:AAAA out of stock';
  const [PLAIN, OF_OTHER_KEY] = ['with the marker', 'that this process has no key for'];
  const jobOf: Record<string, string> = {};

  beforeAll(async () => {
    const { createQueue } = await deceived.query(
      `mutation { createQueue(input: { name: "q", webhookUrl: "http://127.0.0.1:9/" }) { ... on CreateQueuePayload { queue { id name } } } }`,
    );
    const dead: Omit<JobRow, 'queue'> = { status: 'dead', payload: '{}', answers: [{ code: 500, body: LOOKS }] };
    for (const name of [PLAIN, OF_OTHER_KEY])
      jobOf[name] = await fixture.insertJob({ ...dead, queue: createQueue.queue });
    await fixture.db.query(`update job set payload_key = '0123abcd' where id = $1`, [jobOf[OF_OTHER_KEY]]);
    await fixture.db.query(
      `insert into dead_letter (job_id, queue_id, reason, webhook_status_code, error, fingerprint, answer, dead_at)
       select id, queue_id, 'attempts_exhausted', 500, 'HTTP 500', '0123456789abcdef', 'out of stock', jobferry_now()
         from job where id = any ($1)`,
      [Object.values(jobOf)],
    );
  });

  it.each([
    [PLAIN, LOOKS],
    [OF_OTHER_KEY, null],
  ])('are shown if they are not: %s', async (name, responseBody) => {
    const { job } = await deceived.query(
      'query ($id: ID!) { job(id: $id) { attempts { responseBody } deadLetter { lastAttempt { responseBody } } } }',
      { id: jobOf[name] },
    );
    expect(job).toEqual({ attempts: [{ responseBody }], deadLetter: { lastAttempt: { responseBody } } });
  });

  it('do not keep a list or a group from being read, and are found by their text', async () => {
    const { attempts, some, errorGroups } = await deceived.query(`{
      attempts { nodes { responseBody } }
      some: attempts(filter: { responseContains: "OUT of stock" }) { nodes { job { id } } }
      errorGroups(by: ANSWER) { sample { lastAttempt { responseBody } } }
    }`);
    expect(attempts.nodes.map(({ responseBody }: { responseBody: string }) => responseBody)).toEqual([null, LOOKS]);
    expect(some.nodes).toEqual([{ job: { id: jobOf[PLAIN] } }]);
    expect(errorGroups).toEqual([{ sample: { lastAttempt: { responseBody: null } } }]);
  });
});

describe('jobs', () => {
  it.each<[what: string, filter: object, names: string[]]>([
    [
      'customer 42 that ever failed with a 5xx',
      { payload: is('customer.id', 42), anyWebhookStatusClasses: [5] },
      ['dead', 'failedTwice'],
    ],
    ['whose last answer was a 5xx', { webhookStatusClasses: [5] }, ['dead']],
    ['that ever got 503', { anyWebhookStatusCodes: [503] }, ['failedTwice']],
    ['that ever got a 2xx', { anyWebhookStatusClasses: [2] }, ['failedTwice']],
    ['some item with a SKU, indexed or not', { payload: is('items.*.sku', 'B-2') }, ['late', 'failedTwice']],
    ['no item with a SKU', { payload: { path: 'items.*.sku', op: 'NEQ', value: 'B-2' } }, ['retrying', 'dead', 'held']],
    ['an item whose SKU contains', { payload: { path: 'items.*.sku', op: 'CONTAINS', value: 'c-' } }, ['dead']],
    ['text anywhere in a payload', { payload: { anywhere: 'ADA@example' } }, ['held']],
    ['quoted text anywhere in a payload', { payload: { anywhere: '"Ada"' } }, ['dead']],
    ['held more than twice', { deferCount: { min: 3 } }, ['held']],
    ['held at most twice', { deferCount: { max: 2 }, queueIds: 'mails' }, ['late', 'retrying']],
    ['exactly this idempotency key', { idempotencyKey: 'order-77' }, ['failedTwice']],
    ['a part of an idempotency key', { idempotencyKeyContains: 'order-77' }, ['dead', 'failedTwice']],
    ['these ids', { ids: ['late', 'held'] }, ['late', 'held']],
    ['why they died', { deadReasons: ['NACKED'] }, ['dead']],
    ['why they died, of which there are none', { deadReasons: ['ACK_TIMEOUT'] }, []],
    ['waiting in back-off', { waitReasons: ['BACKOFF'] }, ['retrying']],
    ['waiting for a hold, or nothing', { waitReasons: ['HELD', 'DUE'] }, ['late', 'held']],
    ['waiting for a rate limit', { waitReasons: ['RATE_LIMIT'] }, []],
    ['that can be replayed', { replayable: true }, ['dead']],
    ['that were replayed', { replayed: true }, []],
    [
      'that were not replayed',
      { replayed: false, queueIds: 'orders', deadReasons: ['NACKED', 'ATTEMPTS_EXHAUSTED'] },
      ['dead'],
    ],
    ['that cannot', { replayable: false, queueIds: 'orders' }, ['failedTwice']],
  ])('jobs are found: %s', async (_what, filter, names) => {
    expect(await find(named(filter))).toEqual(names);
  });

  it('jobs are listed and counted as replayed after the replay of their dead letter', async () => {
    const replayAt = (at: string, job: string) =>
      fixture.db.query(`update dead_letter set replayed_at = ${at}, replayed_job_id = ${job} where job_id = $1`, [
        ids.dead,
      ]);
    onTestFinished(async () => {
      await replayAt('null', 'null');
    });
    await replayAt('jobferry_now()', `'b'`);
    const listed = (filter: object) =>
      graphql.query(
        `query R($filter: JobFilter) {
          jobs(filter: $filter) { nodes { id deadLetter { replayedAt } } } count(filter: $filter) { count }
        }`,
        { filter },
      );
    const replayed = { id: ids.dead, deadLetter: { replayedAt: expect.any(String) } };
    expect(await listed({ replayed: true })).toEqual({ jobs: { nodes: [replayed] }, count: { count: 1 } });
    expect(await listed({ states: ['DEAD'] })).toEqual({ jobs: { nodes: [replayed] }, count: { count: 1 } });
    expect(await listed({ states: ['DEAD'], replayed: false })).toEqual({ jobs: { nodes: [] }, count: { count: 0 } });
  });

  it('jobs are listed with the most attempts first', async () => {
    const descending = await find({}, { field: 'ATTEMPTS', direction: 'DESC' });
    expect(descending.slice(0, 3)).toEqual(['failedTwice', 'dead', 'retrying']);
    expect(await find({}, { field: 'ATTEMPTS', direction: 'ASC' })).toEqual(descending.toReversed());
    const pages: string[] = [];
    let after: string | null = null;
    do {
      const { jobs }: { jobs: Page<{ id: string }> } = await graphql.query(
        `query P($after: String) {
          jobs(first: 2, after: $after, orderBy: { field: ATTEMPTS, direction: DESC }) { nodes { id } pageInfo { endCursor hasNextPage } }
        }`,
        { after },
      );
      pages.push(...jobs.nodes.map(({ id }) => id));
      after = jobs.pageInfo.hasNextPage ? jobs.pageInfo.endCursor : null;
    } while (after !== null);
    expect(pages).toEqual(descending.map((name) => ids[name]));
  });

  it('waiting because of their queue', async () => {
    await fixture.db.query(`update queue set paused_at = jobferry_now(), paused_by = 'test' where id = $1`, [mails.id]);
    expect(await find({ waitReasons: ['PAUSED'] })).toEqual(['late', 'retrying', 'held']);
    await fixture.db.query(
      `update queue set paused_at = null, paused_by = null, hold_until = jobferry_now() + interval '30 min' where id = $1`,
      [mails.id],
    );
    expect(await find({ waitReasons: ['QUEUE_HELD'] })).toEqual(['late']);
    expect(await find({ waitReasons: ['BACKOFF', 'HELD'] })).toEqual(['retrying', 'held']);
    const { jobs } = await graphql.query(
      '{ jobs(filter: { states: [DUE, RETRYING, HELD] }) { nodes { id waiting { reason } } } }',
    );
    expect(Object.fromEntries(jobs.nodes.map((job: { id: string; waiting: object }) => [job.id, job.waiting]))).toEqual(
      {
        [ids.late ?? '']: { reason: 'QUEUE_HELD' },
        [ids.retrying ?? '']: { reason: 'BACKOFF' },
        [ids.held ?? '']: { reason: 'HELD' },
      },
    );
    await fixture.db.query('update queue set hold_until = null where id = $1', [mails.id]);
  });

  it('a search by a path that never occurred has a hint', async () => {
    const hintOf = async (path: string, value: unknown = 'x') => {
      const { jobs, deadLetters, count } = await graphql.query(
        `query H($payload: PayloadConditionInput) {
          jobs(filter: { payload: $payload }) { hint } deadLetters(filter: { payload: $payload }) { hint }
          count(filter: { payload: $payload }) { hint }
        }`,
        { payload: { path, value } },
      );
      expect(deadLetters.hint).toBe(jobs.hint);
      expect(count.hint).toBe(jobs.hint);
      return jobs.hint;
    };
    expect(await hintOf('items[0].sku')).toBe(
      'no recent payload has the path items[0].sku: did you mean items.0.sku, or items.*.sku for any element?',
    );
    expect(await hintOf('$.Customer.id', 9)).toBe(
      'no recent payload has the path $.Customer.id: did you mean customer.id?',
    );
    expect(await hintOf('customer')).toBeNull();
    expect(await hintOf('total', '420')).toBe(
      'in recent payloads total is a number, and the value of the condition is a text',
    );
    expect(await hintOf('total', 1)).toBeNull();
    expect(await hintOf('zzz')).toBe('no recent payload has the path zzz');
  });

  it('a search in a queue that there is not says so', async () => {
    const hintOf = async (name: string) => {
      const query =
        'query H($filter: JobFilter!) { jobs(filter: $filter) { hint totalCount } count(filter: $filter) { hint } }';
      const { jobs, count } = await graphql.query(query, { filter: { queueNames: [name], idempotencyKey: 'none' } });
      expect([jobs.totalCount, count.hint]).toEqual([0, jobs.hint]);
      return jobs.hint;
    };
    expect(await hintOf(`${mails.name}x`)).toBe(`there is no queue ${mails.name}x: did you mean ${mails.name}?`);
    expect(await hintOf('quite-another')).toBe('there is no queue quite-another');
    expect(await hintOf(mails.name)).toBeNull();
  });
});

describe('attempts', () => {
  const LIST = `query A($filter: AttemptFilter, $orderBy: AttemptOrder, $first: Int, $after: String) {
    attempts(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
      totalCount nodes { durationMs webhookStatusCode responseBody job { id } } pageInfo { endCursor hasNextPage }
    }
  }`;
  const SLOWEST = { field: 'DURATION', direction: 'DESC' };
  const durations = async (variables: object, client = graphql): Promise<number[]> => {
    const { attempts } = await client.query(LIST, variables);
    return attempts.nodes.map(({ durationMs }: { durationMs: number }) => durationMs);
  };

  it('the slowest of today first', async () => {
    const filter = { at: { from: new Date(fixture.now - 24 * HOUR) }, queueIds: [orders.id, mails.id, theirs.id] };
    expect(await durations({ filter, orderBy: SLOWEST, first: 3 })).toEqual([1500, 900, 40]);
    expect(await durations({ orderBy: SLOWEST })).toEqual([1500, 900, 40, 30, 20, 5]);
    const pages: number[] = [];
    let after: string | null = null;
    do {
      const { attempts }: { attempts: Page<{ durationMs: number }> & { totalCount: number } } = await graphql.query(
        LIST,
        { orderBy: SLOWEST, first: 2, after },
      );
      expect(attempts.totalCount).toBe(6);
      pages.push(...attempts.nodes.map(({ durationMs }) => durationMs));
      after = attempts.pageInfo.hasNextPage ? attempts.pageInfo.endCursor : null;
    } while (after !== null);
    expect(pages).toEqual([1500, 900, 40, 30, 20, 5]);
  });

  it.each<[what: string, filter: object, durations: number[]]>([
    ['by text of the answer', { responseContains: 'DEADLOCK' }, [900, 30]],
    ['by duration', { durationMs: { min: 30, max: 900 } }, [900, 40, 30]],
    ['by status code', { webhookStatusCodes: [503, 429] }, [20, 5]],
    ['by class', { webhookStatusClasses: [2] }, [1500]],
    ['by outcome', { statuses: ['SUCCESS'] }, [1500]],
    ['of a queue', { queueIds: 'mails' }, [5]],
    ['of a queue of another account', { queueIds: 'theirs' }, []],
  ])('attempts are found: %s', async (_what, filter, expected) => {
    expect(await durations({ filter: named(filter), orderBy: SLOWEST })).toEqual(expected);
  });

  it('attempts are listed in the order of time, forward and backward, each once', async () => {
    const { attempts } = await graphql.query(LIST, {});
    expect(attempts.nodes.at(-1)).toMatchObject({ durationMs: 5, job: { id: ids.held } });
    expect(await durations({ orderBy: { field: 'ENDED_AT', direction: 'ASC' } })).toEqual(
      (await durations({})).toReversed(),
    );
    const last = await graphql.query('{ attempts(last: 2) { nodes { durationMs } } }');
    expect(last.attempts.nodes).toEqual(
      attempts.nodes.slice(-2).map(({ durationMs }: { durationMs: number }) => ({ durationMs })),
    );
  });

  it('refuses the cursor of another list', async () => {
    const { jobs } = await graphql.query('{ jobs(first: 1) { pageInfo { endCursor } } }');
    const { errors } = await graphql.send(LIST, { after: jobs.pageInfo.endCursor });
    expect(errors?.[0]?.message).toMatch(/not a cursor of a list of attempts/);
  });
});

describe('counts', () => {
  const GROUPS = `query G($by: [JobDimension!]!, $path: String, $filter: JobFilter) {
    jobGroups(by: $by, path: $path, filter: $filter) {
      groupCount jobCount groups { count queue { id } state status deadReason value }
    }
  }`;

  it('jobs are counted by queue and state, by index and by reading', async () => {
    const expected = [
      [mails.id, 'DUE', 1],
      [mails.id, 'HELD', 1],
      [mails.id, 'RETRYING', 1],
      [orders.id, 'COMPLETED', 1],
      [orders.id, 'DEAD', 1],
    ];
    for (const filter of [{}, { created: { from: new Date(fixture.now - 48 * HOUR) } }, { attempts: { min: 0 } }]) {
      const { jobGroups } = await graphql.query(GROUPS, { by: ['QUEUE', 'STATE'], filter });
      expect(jobGroups).toMatchObject({ groupCount: 5, jobCount: 5 });
      const found = jobGroups.groups.map(
        ({ queue, state, count }: { queue: { id: string }; state: string; count: number }) => [queue.id, state, count],
      );
      expect(found.sort()).toEqual(expected.sort());
    }
  });

  it('jobs are counted by status of the last hour', async () => {
    const filter = { created: { from: new Date(fixture.now - HOUR) } };
    const { jobGroups } = await graphql.query(GROUPS, { by: ['STATUS'], filter });
    expect(jobGroups.groups).toEqual([
      expect.objectContaining({ status: 'PENDING', count: 2, queue: null, state: null }),
      expect.objectContaining({ count: 1 }),
      expect.objectContaining({ count: 1 }),
    ]);
  });

  it('counts by a path that never occurred have a hint', async () => {
    const hintOf = async (input: object) => {
      const { jobGroups } = await graphql.query(
        `query G($by: [JobDimension!]!, $path: String, $filter: JobFilter) {
          jobGroups(first: 1000, by: $by, path: $path, filter: $filter) { hint groups { value } }
        }`,
        { by: ['PAYLOAD'], ...input },
      );
      return jobGroups.hint;
    };
    expect(await hintOf({ path: 'Customer.id' })).toBe(
      'no recent payload has the path Customer.id: did you mean customer.id?',
    );
    expect(await hintOf({ path: 'zzz' })).toBe('no recent payload has the path zzz');
    // An object: it is there, but has no text, number or boolean.
    expect(await hintOf({ path: 'customer' })).toBeNull();
    expect(await hintOf({ path: 'customer.id' })).toBeNull();
    expect(await hintOf({ path: 'customer.id', filter: { payload: { path: 'kunde', value: 1 } } })).toBe(
      'no recent payload has the path kunde',
    );
    expect(await hintOf({ by: ['STATE'], filter: { payload: { path: 'kunde', value: 1 } } })).toBe(
      'no recent payload has the path kunde',
    );
    expect(await hintOf({ by: ['STATE'] })).toBeNull();
  });

  it('failures by customer', async () => {
    const by = { by: ['PAYLOAD'], path: 'customer.id' };
    const dead = await graphql.query(GROUPS, { ...by, filter: { states: ['DEAD'] } });
    expect(dead.jobGroups.groups).toEqual([expect.objectContaining({ value: '42', count: 1 })]);
    const all = await graphql.query(GROUPS, by);
    const values = all.jobGroups.groups.map(({ value, count }: { value: string; count: number }) => [value, count]);
    expect(values.sort()).toEqual([
      ['"42"', 1],
      ['42', 2],
      ['7', 2],
    ]);
  });

  it.each([
    ['no dimension', { by: [] }],
    ['a payload without a path', { by: ['PAYLOAD'] }],
    ['a path without a payload', { by: ['QUEUE'], path: 'a' }],
    ['a path with *', { by: ['PAYLOAD'], path: 'items.*.sku' }],
  ])('refuse %s', async (_what, variables) => {
    expect((await graphql.send(GROUPS, variables)).errors?.[0]?.extensions?.code).toBe('BAD_USER_INPUT');
  });
});

it('lists queues by trouble, page by page', async () => {
  await fixture.db.query(`update queue set paused_at = jobferry_now(), paused_by = 'test' where id = $1`, [orders.id]);
  const well = await fixture.createQueue();
  const names: string[] = [];
  let after: string | null = null;
  do {
    const { queues }: { queues: Page<{ id: string }> } = await graphql.query(
      `query Q($after: String) {
        queues(first: 1, after: $after, orderBy: TROUBLE) { nodes { id } pageInfo { endCursor hasNextPage } }
      }`,
      { after },
    );
    names.push(...queues.nodes.map(({ id }) => id));
    after = queues.pageInfo.hasNextPage ? queues.pageInfo.endCursor : null;
  } while (after !== null);
  // A job of the mails has been due for a second.
  expect(names).toEqual([orders.id, mails.id, well.id]);
  const last = await graphql.query('{ queues(last: 1, orderBy: TROUBLE) { nodes { id } } }');
  expect(last.queues.nodes).toEqual([{ id: well.id }]);
  const theirQueues = await stranger.query('{ queues(orderBy: TROUBLE) { nodes { id } } }');
  expect(theirQueues.queues.nodes).toEqual([{ id: theirs.id }]);
  await fixture.db.query('update queue set paused_at = null, paused_by = null where id = $1', [orders.id]);
});

it('adds up the attempts of all queues', async () => {
  const { account, queues } = await graphql.query(
    `query T($from: DateTime!) {
      account { timeline(from: $from) { success failed } }
      queues { nodes { timeline(from: $from) { success failed } } }
    }`,
    { from: new Date(fixture.now - HOUR) },
  );
  type Point = { success: number; failed: number };
  const total = (points: Point[]) => points.reduce((sum, { success, failed }) => sum + success + failed, 0);
  expect(total(account.timeline)).toBe(5);
  const parts = queues.nodes.map(({ timeline }: { timeline: Point[] }) => total(timeline));
  expect(parts.reduce((sum: number, part: number) => sum + part, 0)).toBe(5);
});

it('counts jobs by time and state', async () => {
  const { jobTimeline } = await graphql.query(
    `query T($from: DateTime!) {
      jobTimeline(from: $from, bucketSeconds: 3600) { pending due scheduled retrying held completed dead }
    }`,
    { from: new Date(fixture.now - 48 * HOUR) },
  );
  const sum = (state: string) =>
    jobTimeline.reduce((total: number, point: Record<string, number>) => total + (point[state] ?? 0), 0);
  expect(['pending', 'due', 'scheduled', 'retrying', 'held', 'completed', 'dead'].map(sum)).toEqual([
    3, 1, 0, 1, 1, 1, 1,
  ]);
});

describe('error groups', () => {
  it('error groups are made by the first line of the answer', async () => {
    await addLetter(orders, 'Deadlock in row 17', 2 * HOUR);
    await addLetter(orders, 'Deadlock in row 18', 3 * HOUR);
    await addLetter(orders, null, 4 * HOUR);
    const { byError, byAnswer } = await graphql.query(
      '{ byError: errorGroups { count answer } byAnswer: errorGroups(by: ANSWER) { count answer fingerprint } }',
    );
    expect(byError).toEqual([{ count: 4, answer: null }]);
    expect(byAnswer.map(({ count, answer }: { count: number; answer: string }) => [count, answer]).sort()).toEqual([
      [1, null],
      [1, '"error": "out of stock"'],
      [2, 'deadlock in row <n>'],
    ]);
    const { deadLetters } = await graphql.query(
      '{ deadLetters(filter: { answers: ["deadlock in row <n>", ""] }) { totalCount } }',
    );
    expect(deadLetters.totalCount).toBe(3);
  });

  it('error groups that are new since a time are found', async () => {
    const since = async (hours: number, more = '') => {
      const { errorGroups } = await graphql.query(
        `query N($since: DateTime!) { errorGroups(by: ANSWER, newSince: $since ${more}) { answer firstSeen } }`,
        { since: new Date(fixture.now - hours * HOUR) },
      );
      return errorGroups.map(({ answer }: { answer: string | null }) => answer).sort();
    };
    for (const more of ['', ', acrossQueues: true']) {
      expect(await since(1, more)).toEqual(['"error": "out of stock"']);
      expect(await since(3.5, more)).toEqual(['"error": "out of stock"', 'deadlock in row <n>']);
      // A group is as old as its oldest member, also when only the newest are asked for.
      expect(await since(2.5, `${more}, filter: { replayed: false }`)).toEqual(['"error": "out of stock"']);
    }
  });

  async function addLetter(queue: TestQueue, body: string | null, agoMs: number): Promise<void> {
    const job = await fixture.insertJob({ queue, status: 'dead', ageMs: agoMs + 1000, answers: [{ code: 500 }] });
    await fixture.db.query(
      `insert into dead_letter (id, job_id, queue_id, reason, webhook_status_code, error, fingerprint, answer, dead_at)
       values (jobferry_id($3), $1, $2, 'attempts_exhausted', 500, 'HTTP 500',
               jobferry_fingerprint('attempts_exhausted', 500, 'HTTP 500'), jobferry_answer_line(500, $4), $3)`,
      [job, queue.id, new Date(fixture.now - agoMs), body],
    );
  }
});

function is(path: string, value: unknown) {
  return { path, value };
}

/** Puts the ids of queues and jobs into a filter that names them. */
function named(filter: object): object {
  const { queueIds, ids: jobs, ...rest } = filter as { queueIds?: string; ids?: string[] };
  const queues: Record<string, TestQueue> = { orders, mails, theirs };
  return {
    ...rest,
    ...(queueIds === undefined ? {} : { queueIds: [queues[queueIds]?.id] }),
    ...(jobs === undefined ? {} : { ids: jobs.map((name) => ids[name]) }),
  };
}
