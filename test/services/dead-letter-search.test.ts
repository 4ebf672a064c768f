import { beforeAll, describe, expect, it } from 'vitest';
import type { DeadLetterFilter } from '../../src/domain/job-filter.ts';
import type { Slice } from '../../src/domain/page.ts';
import type { JobEvent } from '../../src/domain/transition.ts';
import { settleAs } from '../support/activity.ts';
import { RETENTION_MS, type TestQueue, takeOverClock } from '../support/database-fixture.ts';
import { type Insight, openInsight } from '../support/insight.ts';

const START = Date.UTC(2026, 10, 21, 12);
const MINUTE = 60_000;
const DAY = 86_400_000;

interface Letter {
  id: string;
  job_id: string;
  fingerprint: string;
  at: number;
}

let insight: Insight;
let setClock: (ms: number) => Promise<void>;
let orders: TestQueue;
let mails: TestQueue;
let deleted: TestQueue;
/** Oldest first, a minute apart: five of `orders`, then three of `mails`. */
let letters: Letter[];

const failed = (statusCode: number | null, error: string): JobEvent => ({
  type: 'answered',
  outcome: { kind: 'failed', statusCode, error },
});

beforeAll(async () => {
  insight = await openInsight();
  setClock = await takeOverClock(insight.db, START);
  orders = await insight.createQueue({ max_attempts: 1 });
  mails = await insight.createQueue({ max_attempts: 1 });
  deleted = await insight.createQueue({ max_attempts: 1 });
  const deaths: [TestQueue, JobEvent][] = [
    [orders, failed(500, 'order 17 not found')],
    [orders, failed(500, 'order 4711 not found')],
    [orders, failed(null, 'timeout')],
    [orders, failed(500, 'Order 9 not found')],
    [orders, failed(404, 'order 9 not found')],
    [mails, failed(502, 'Bad 100%_gateway')],
    [mails, failed(null, 'timeout')],
    [mails, failed(null, 'timeout')],
    [deleted, failed(null, 'timeout')],
  ];
  letters = [];
  for (const [n, [queue, event]] of deaths.entries()) {
    const now = START + n * MINUTE;
    await setClock(now);
    await insight.publishJobs(queue, 1);
    for (const job of (await insight.claim(queue)).jobs) await settleAs(insight, job, event, now, 5);
    const newest =
      'select id, job_id, fingerprint, extract(epoch from dead_at)::float8 * 1000 as at from dead_letter order by id desc';
    const letter = await insight.db.one<Letter>(`${newest} limit 1`);
    if (letter !== null) letters.push(letter);
  }
  await insight.db.query('update queue set deleted_at = jobferry_now() where id = $1', [deleted.id]);
  // The newest of its group.
  await insight.db.query(`update dead_letter set replayed_at = jobferry_now(), replayed_job_id = 'b' where id = $1`, [
    letters[3]?.id,
  ]);
});

const first = (limit: number): Slice => ({ limit, inverted: false });

/** Numbers of the dead letters that are found, in the order of the answer. */
async function found(
  filter: DeadLetterFilter,
  slice: Slice = first(100),
  account = insight.account,
): Promise<number[]> {
  const positions = await insight.deadLetters.search(account, filter, slice);
  return positions.map(({ id }) => letters.findIndex((letter) => letter.id === id));
}

const idOf = (n: number) => letters[n]?.id ?? '';
const at = (n: number) => new Date(START + n * MINUTE);

describe('the list of dead letters', () => {
  it('has those of all live queues, most recently dead first', async () => {
    expect(letters).toHaveLength(9);
    expect(await found({})).toEqual([7, 6, 5, 4, 3, 2, 1, 0]);
  });

  it.each<[string, () => DeadLetterFilter, number[]]>([
    ['one queue', () => ({ queueIds: [mails.id] }), [7, 6, 5]],
    ['both queues', () => ({ queueIds: [mails.id, orders.id] }), [7, 6, 5, 4, 3, 2, 1, 0]],
    ['no queue', () => ({ queueIds: [] }), []],
    ['a deleted queue', () => ({ queueIds: [deleted.id] }), []],
    ['what is no queue', () => ({ queueIds: ['no id', '\0'] }), []],
    ['a time', () => ({ dead: { from: at(2), to: at(4) } }), [4, 3, 2]],
    ['a time without end', () => ({ dead: { from: new Date(START + 5 * MINUTE + 1) } }), [7, 6]],
    ['a time without beginning', () => ({ dead: { to: at(1) } }), [1, 0]],
    ['all time', () => ({ dead: { from: new Date(-8.64e15), to: new Date(8.64e15) } }), [7, 6, 5, 4, 3, 2, 1, 0]],
    ['a reason', () => ({ reasons: ['attempts_exhausted'] }), [7, 6, 5, 4, 3, 2, 1, 0]],
    ['another reason', () => ({ reasons: ['nacked', '\0'] }), []],
    ['an error group', () => ({ fingerprints: [letters[0]?.fingerprint ?? ''] }), [3, 1, 0]],
    ['what was replayed', () => ({ replayed: true }), [3]],
    ['what was not replayed', () => ({ replayed: false, queueIds: [orders.id] }), [4, 2, 1, 0]],
    ['a text', () => ({ errorContains: 'ORDER' }), [4, 3, 1, 0]],
    ['a text, literally', () => ({ errorContains: '0%_' }), [5]],
    ['a text that cannot be stored', () => ({ errorContains: 'order\0' }), []],
    ['status codes', () => ({ webhookStatusCodes: [404, 502] }), [5, 4]],
    [
      'all at once',
      () => ({ queueIds: [orders.id], errorContains: 'order', webhookStatusCodes: [500], replayed: false }),
      [1, 0],
    ],
  ])('finds %s', async (_what, filter, expected) => {
    expect(await found(filter())).toEqual(expected);
    const count = expected.length;
    expect(await insight.deadLetters.count(insight.account, filter(), 100)).toEqual({ count, exact: true });
  });

  it.each<[string, () => Slice, number[]]>([
    ['from its beginning', () => first(3), [7, 6, 5]],
    ['after an entry', () => ({ ...first(3), after: { id: idOf(5) } }), [4, 3, 2]],
    ['before an entry', () => ({ ...first(9), before: { id: idOf(5) } }), [7, 6]],
    ['between two', () => ({ ...first(9), after: { id: idOf(6) }, before: { id: idOf(2) } }), [5, 4, 3]],
    ['from its end', () => ({ limit: 3, inverted: true }), [0, 1, 2]],
    ['from the end of what is before an entry', () => ({ limit: 2, inverted: true, before: { id: idOf(2) } }), [3, 4]],
    ['after an entry that is gone', () => ({ ...first(2), after: { id: `${idOf(5).slice(0, -1)}g` } }), [5, 4]],
    ['nothing of it', () => first(0), []],
  ])('is read %s', async (_what, slice, expected) => {
    expect(await found({}, slice())).toEqual(expected);
  });

  it('is counted up to a maximum', async () => {
    expect(await insight.deadLetters.count(insight.account, {}, 8)).toEqual({ count: 8, exact: true });
    expect(await insight.deadLetters.count(insight.account, {}, 7)).toEqual({ count: 7, exact: false });
    expect(await insight.deadLetters.count(insight.account, {}, 0)).toEqual({ count: 0, exact: false });
    expect(await insight.deadLetters.count(insight.account, {}, 1e12)).toEqual({ count: 8, exact: true });
  });

  it.each<[string, DeadLetterFilter]>([
    ['101 queues', { queueIds: Array(101).fill('a') }],
    ['101 fingerprints', { fingerprints: Array(101).fill('a') }],
    ['a long text', { errorContains: 'x'.repeat(1001) }],
    ['a time from its end to its start', { dead: { from: new Date(2), to: new Date(1) } }],
  ])('refuses a filter with %s', async (_what, filter) => {
    await expect(insight.deadLetters.search(insight.account, filter, first(1))).rejects.toMatchObject({
      kind: 'invalid_request',
    });
  });
});

const GROUPS = { limit: 10, byAnswer: false };

describe('error groups', () => {
  it('have what differs in ids and numbers only, the largest first', async () => {
    const groups = await insight.deadLetters.errorGroups(insight.account, {}, GROUPS);
    expect([...groups.keys()].sort()).toEqual([orders.id, mails.id].sort());
    expect(groups.get(orders.id)).toEqual([
      {
        queues: [{ id: orders.id, count: 3 }],
        queueCount: 1,
        answer: null,
        fingerprint: letters[0]?.fingerprint,
        reason: 'attempts_exhausted',
        webhookStatusCode: 500,
        error: 'Order 9 not found',
        count: 3,
        firstSeen: at(0),
        lastSeen: at(3),
        // The newest was replayed.
        sample: expect.objectContaining({ id: idOf(1) }),
        lastAttempt: null,
      },
      expect.objectContaining({ webhookStatusCode: 404, count: 1, sample: expect.objectContaining({ id: idOf(4) }) }),
      expect.objectContaining({
        webhookStatusCode: null,
        error: 'timeout',
        count: 1,
        sample: expect.objectContaining({ id: idOf(2) }),
      }),
    ]);
    expect(groups.get(mails.id)?.map(({ error, count }) => [error, count])).toEqual([
      ['timeout', 2],
      ['Bad 100%_gateway', 1],
    ]);
  });

  it('are as old as their oldest member, also when only the latest time is selected', async () => {
    const dead = { from: new Date(START + 3 * MINUTE) };
    const groups = await insight.deadLetters.errorGroups(insight.account, { queueIds: [orders.id], dead }, GROUPS);
    // The one that died at minutes 0, 1 and 3, and the one of minute 4; not the timeout of minute 2.
    expect(groups.get(orders.id)).toEqual([
      expect.objectContaining({
        count: 1,
        firstSeen: new Date(START + 4 * MINUTE),
        lastSeen: new Date(START + 4 * MINUTE),
      }),
      expect.objectContaining({ count: 1, firstSeen: new Date(START), lastSeen: new Date(START + 3 * MINUTE) }),
    ]);
  });

  it('are of the selected queues and dead letters, and no more than `limit`', async () => {
    const open = await insight.deadLetters.errorGroups(
      insight.account,
      { queueIds: [orders.id], replayed: false },
      { ...GROUPS, limit: 1 },
    );
    expect([...open.entries()].map(([id, groups]) => [id, groups.map(({ count }) => count)])).toEqual([
      [orders.id, [2]],
    ]);
    const replayed = await insight.deadLetters.errorGroups(insight.account, { replayed: true }, GROUPS);
    expect(replayed.get(orders.id)).toMatchObject([{ count: 1, sample: expect.objectContaining({ id: idOf(3) }) }]);
    expect(await insight.deadLetters.errorGroups(insight.account, { errorContains: '\0' }, GROUPS)).toEqual(new Map());
  });
});

it('shows nothing to another account', async () => {
  const filter = { queueIds: [orders.id, mails.id], fingerprints: letters.map(({ fingerprint }) => fingerprint) };
  for (const asked of [{}, filter]) {
    expect(await found(asked, first(10), insight.other)).toEqual([]);
    expect(await insight.deadLetters.count(insight.other, asked, 10)).toEqual({ count: 0, exact: true });
    expect(await insight.deadLetters.errorGroups(insight.other, asked, GROUPS)).toEqual(new Map());
  }
});

describe('the end of retention', () => {
  it('is that of the job, however late it died', async () => {
    const queue = await insight.createQueue({ max_attempts: 1 });
    const published = START + 20 * MINUTE;
    await setClock(published);
    await insight.publishJobs(queue, 1);
    const death = published + DAY - MINUTE;
    await setClock(death);
    for (const job of (await insight.claim(queue)).jobs) await settleAs(insight, job, failed(500, 'late'), death, 5);
    const filter = { queueIds: [queue.id] };
    for (const [now, count] of [
      [published + RETENTION_MS, 1],
      [published + RETENTION_MS + 1, 0],
    ] as const) {
      await setClock(now);
      expect(await insight.deadLetters.count(insight.account, filter, 10)).toEqual({ count, exact: true });
      expect((await insight.deadLetters.errorGroups(insight.account, filter, GROUPS)).size).toBe(count);
    }
    await insight.db.query('update queue set deleted_at = jobferry_now() where id = $1', [queue.id]);
  });

  it('is no later than that of the plan’s window', async () => {
    await setClock(START + 2 * MINUTE + DAY);
    expect(await found({}, first(10), { ...insight.account, plan: 'free' })).toEqual([7, 6, 5, 4, 3, 2]);
    await setClock(START + 2 * MINUTE + RETENTION_MS);
    expect(await found({})).toEqual([7, 6, 5, 4, 3, 2]);
    await setClock(START + 3 * MINUTE + RETENTION_MS);
    expect(await found({})).toEqual([7, 6, 5, 4, 3]);
    expect(await insight.deadLetters.count(insight.account, {}, 10)).toEqual({ count: 5, exact: true });
    expect(
      (await insight.deadLetters.errorGroups(insight.account, {}, GROUPS)).get(orders.id)?.map(({ count }) => count),
    ).toEqual([1, 1]);
  });
});
