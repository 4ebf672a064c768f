import { beforeAll, describe, expect, it } from 'vitest';
import { countJobs, newestJobs, searchJobs } from '../../src/db/search/jobs.ts';
import type { JobFilter, JobOrder, JobStateName } from '../../src/domain/job-filter.ts';
import type { Position } from '../../src/domain/page.ts';
import type { TestQueue } from '../support/database-fixture.ts';
import { type JobRow, NEWEST_FIRST, openSearchFixture } from '../support/search-fixture.ts';

const HOUR = 3_600_000;

let fixture: Awaited<ReturnType<typeof openSearchFixture>>;
let orders: TestQueue;
let mails: TestQueue;
const names = new Map<string, string>();

type Row = Omit<JobRow, 'queue'>;
/** In the queue `orders`, each a minute younger than the one before. */
const JOBS: Record<string, Row> = {
  due: { scheduledInMs: 0 },
  overdue: { scheduledInMs: -HOUR },
  scheduled: { scheduledInMs: HOUR, key: 'Order-1%' },
  retrying: { scheduledInMs: 2 * HOUR, waitReason: 'backoff', attempts: 1, lastError: 'HTTP 503', answers: [503] },
  held: { scheduledInMs: HOUR, waitReason: 'hold', lastError: 'HTTP 429', answers: [null, 429] },
  dueAgain: { scheduledInMs: -1000, waitReason: 'backoff', attempts: 2, lastError: 'timeout', answers: [500, null] },
  processing: { status: 'processing', attempts: 1 },
  awaiting: { status: 'awaiting_ack', attempts: 1, key: 'order-2' },
  completed: { status: 'completed', attempts: 1, answers: [200], completedAgoMs: HOUR, key: 'ÉCLAIR' },
  completedLate: {
    status: 'completed',
    attempts: 3,
    answers: [500, 404, 204],
    completedAgoMs: 1000,
    lastError: 'HTTP 404',
  },
  dead: { status: 'dead', attempts: 3, answers: [404, 404, 410], lastError: 'HTTP 410: gone\\_%' },
};

beforeAll(async () => {
  fixture = await openSearchFixture();
  orders = await fixture.createQueue();
  mails = await fixture.createQueue();
  const deleted = await fixture.createQueue();
  let ageMs = 10 * HOUR;
  for (const [name, row] of Object.entries(JOBS)) {
    names.set(await fixture.insertJob({ queue: orders, ageMs, ...row }), name);
    ageMs -= 60_000;
  }
  names.set(await fixture.insertJob({ queue: mails, ageMs: 5 * HOUR }), 'mail');
  names.set(await fixture.insertJob({ queue: mails, ageMs: 80 * HOUR, status: 'completed' }), 'past retention');
  names.set(await fixture.insertJob({ queue: deleted, ageMs: HOUR }), 'of a deleted queue');
  await fixture.db.query('update queue set deleted_at = jobferry_now() where id = $1', [deleted.id]);
});

async function found(filter: JobFilter): Promise<string[]> {
  return [...(await fixture.findEveryWay(filter))].map((id) => names.get(id) ?? id).sort();
}

const at = (ago: number) => new Date(fixture.now - ago);
const ofOrders = Object.keys(JOBS);

describe('a filter', () => {
  const STATES: [JobStateName, string[]][] = [
    ['due', ['due', 'dueAgain', 'mail', 'overdue']],
    ['scheduled', ['scheduled']],
    ['retrying', ['retrying']],
    ['held', ['held']],
    ['processing', ['processing']],
    ['awaiting_ack', ['awaiting']],
    ['completed', ['completed', 'completedLate']],
    ['dead', ['dead']],
  ];
  it.each(STATES)('a filter by the state %s finds its jobs', async (state, expected) => {
    expect(await found({ states: [state] })).toEqual(expected);
  });

  const CASES: [string, () => JobFilter, string[]][] = [
    ['nothing', () => ({}), [...ofOrders, 'mail']],
    ['no queue', () => ({ queueIds: [] }), []],
    ['a queue', () => ({ queueIds: [mails.id] }), ['mail']],
    ['a queue that never was', () => ({ queueIds: ['0'.repeat(24), 'nonsense', 'a\0'] }), []],
    ['a name', () => ({ queueNames: [mails.name, 'unknown'] }), ['mail']],
    ['a name and another id', () => ({ queueNames: [mails.name], queueIds: [orders.id] }), []],
    ['no state', () => ({ states: [] }), []],
    [
      'several states',
      () => ({ states: ['dead', 'completed', 'held'] }),
      ['completed', 'completedLate', 'dead', 'held'],
    ],
    [
      'a status',
      () => ({ statuses: ['pending'] }),
      ['due', 'dueAgain', 'held', 'mail', 'overdue', 'retrying', 'scheduled'],
    ],
    ['state and status', () => ({ states: ['due', 'dead'], statuses: ['dead', 'completed'] }), ['dead']],
    ['created from', () => ({ created: { from: at(5 * HOUR) } }), ['mail']],
    ['created to', () => ({ created: { to: at(10 * HOUR) } }), ['due']],
    ['created at', () => ({ created: { from: at(10 * HOUR), to: at(10 * HOUR) } }), ['due']],
    ['created never', () => ({ created: { from: at(0), to: at(HOUR) } }), []],
    [
      'created within all time',
      () => ({ created: { from: new Date(-8.64e15), to: new Date(8.64e15) } }),
      [...ofOrders, 'mail'],
    ],
    ['scheduled for', () => ({ scheduled: { from: at(-HOUR), to: at(-HOUR) } }), ['held', 'scheduled']],
    ['completed since', () => ({ completed: { from: at(HOUR) } }), ['completed', 'completedLate']],
    ['completed until', () => ({ completed: { to: at(HOUR) } }), ['completed']],
    ['attempts', () => ({ attempts: { min: 2, max: 2 } }), ['dueAgain']],
    ['many attempts', () => ({ attempts: { min: 3 } }), ['completedLate', 'dead']],
    ['a key', () => ({ idempotencyKeyContains: 'ORDER-' }), ['awaiting', 'scheduled']],
    ['a literal key', () => ({ idempotencyKeyContains: '1%' }), ['scheduled']],
    ['a key in capital letters beyond ASCII', () => ({ idempotencyKeyContains: 'ÉCLAIR' }), ['completed']],
    ['a key in small letters beyond ASCII', () => ({ idempotencyKeyContains: 'éclair' }), ['completed']],
    ['a key that is not there', () => ({ idempotencyKeyContains: '_' }), []],
    ['an error', () => ({ errorContains: 'http 4' }), ['completedLate', 'dead', 'held']],
    ['a literal error', () => ({ errorContains: '\\_%' }), ['dead']],
    ['the last code', () => ({ webhookStatusCodes: [404, 410, 429] }), ['dead', 'held']],
    ['the last class', () => ({ webhookStatusClasses: [2] }), ['completed', 'completedLate']],
    ['no answer', () => ({ webhookStatusClasses: [0] }), ['dueAgain']],
    [
      'a code or a class',
      () => ({ webhookStatusClasses: [5], webhookStatusCodes: [204, 429] }),
      ['completedLate', 'held', 'retrying'],
    ],
    ['no code', () => ({ webhookStatusCodes: [] }), []],
    [
      'everything',
      () => ({
        queueIds: [orders.id],
        queueNames: [orders.name],
        states: ['dead'],
        statuses: ['dead'],
        created: { from: at(11 * HOUR), to: at(0) },
        scheduled: { to: at(0) },
        attempts: { min: 1, max: 3 },
        errorContains: 'GONE',
        webhookStatusCodes: [410],
        webhookStatusClasses: [4],
        payload: { kind: 'not', of: { kind: 'test', path: 'a', op: 'EXISTS', value: null } },
      }),
      ['dead'],
    ],
  ];
  it.each(CASES)('a filter by %s finds its jobs', async (_name, filter, expected) => {
    expect(await found(filter())).toEqual([...expected].sort());
  });
});

it('finds a job that outlasts its retention, in every way and order, and nothing else that is so old', async () => {
  const own = await openSearchFixture();
  const queue = await own.createQueue();
  const old = { queue, ageMs: 90 * HOUR, payload: '{"a":1}' };
  await own.insertJob({ ...old, status: 'completed', completedAgoMs: 60 * HOUR });
  const waiting = await own.insertJob(old);
  const lately = await own.insertJob({ ...old, status: 'completed', completedAgoMs: HOUR });
  const young = await own.insertJob({ queue });
  expect([...(await own.findEveryWay({}))].sort()).toEqual([waiting, lately, young].sort());
  const all = await searchJobs(own.db, own.select({}), NEWEST_FIRST, { limit: 10, inverted: false });
  expect(all.map(({ id }) => id)).toEqual([young, lately, waiting]);
  const payload = { kind: 'test', path: 'a', op: 'EXISTS', value: null } as const;
  expect([...(await own.findEveryWay({ payload }))].sort()).toEqual([waiting, lately].sort());
  expect([...(await own.findEveryWay({ states: ['due'] }))].sort()).toEqual([waiting, young].sort());
});

describe('an order', () => {
  const FIELDS: JobOrder['field'][] = ['created_at', 'scheduled_for', 'completed_at'];
  const ORDERS = FIELDS.flatMap((field) => [true, false].map((descending): JobOrder => ({ field, descending })));

  beforeAll(async () => {
    // Ties in every order, and most without a completion.
    for (let n = 0; n < 24; n += 1) {
      await fixture.insertJob({
        queue: n % 3 === 0 ? mails : orders,
        ageMs: 2 * HOUR + (n % 4) * 1000,
        scheduledInMs: -HOUR + (n % 5) * 1000,
        ...(n % 2 === 0 ? { status: 'completed' as const, completedAgoMs: (n % 3) * 1000 } : {}),
      });
    }
  });

  /** The expected result, by another query of the table. */
  async function inOrder({ field, descending }: JobOrder): Promise<string[]> {
    const direction = descending ? 'desc' : 'asc';
    const by = field === 'created_at' ? '' : `j.${field} ${direction} nulls last,`;
    const rows = await fixture.db.query<{ id: string }>(
      `select j.id from job j join queue q on q.id = j.queue_id
        where q.deleted_at is null and j.created_at > jobferry_now() - interval '72 hours' order by ${by} j.id ${direction}`,
    );
    return rows.map(({ id }) => id);
  }

  it.each(ORDERS)('$field, descending: $descending, is that of the list', async (order) => {
    const expected = await inOrder(order);
    expect(expected).toHaveLength(36);
    expect(await fixture.find({}, order)).toEqual(expected);
  });

  it.each(ORDERS)('$field, descending: $descending, reads each job once, in pages from either end', async (order) => {
    const expected = await inOrder(order);
    for (const inverted of [false, true]) {
      const pages: string[] = [];
      let position: Position | undefined;
      for (;;) {
        const slice = { limit: 5, inverted, ...(inverted ? { before: position } : { after: position }) };
        const page = await searchJobs(fixture.db, fixture.select({}), order, slice);
        pages.push(...page.map(({ id }) => id));
        position = page.at(-1);
        if (page.length < 5) break;
      }
      expect(pages).toEqual(inverted ? expected.toReversed() : expected);
    }
  });

  it.each(ORDERS)('$field, descending: $descending, has a piece between two positions', async (order) => {
    const whole = await searchJobs(fixture.db, fixture.select({}), order, { limit: 100, inverted: false });
    for (const [first, last] of [
      [3, 20],
      [15, 34],
      [30, 31],
    ] as const) {
      const slice = { limit: 100, after: whole[first], before: whole[last] };
      const piece = whole.slice(first + 1, last);
      expect(await searchJobs(fixture.db, fixture.select({}), order, { ...slice, inverted: false })).toEqual(piece);
      expect(await searchJobs(fixture.db, fixture.select({}), order, { ...slice, limit: 3, inverted: true })).toEqual(
        piece.toReversed().slice(0, 3),
      );
    }
  });

  it('refuses the position of a list in another order', async () => {
    const order: JobOrder = { field: 'completed_at', descending: true };
    const slice = { limit: 5, after: { id: '0'.repeat(24) }, inverted: false };
    await expect(searchJobs(fixture.db, fixture.select({}), order, slice)).rejects.toMatchObject({
      kind: 'invalid_request',
    });
  });
});

describe('other accounts', () => {
  it('see nothing of it, by any filter', async () => {
    const other = await fixture.db.one<{ id: string }>(
      `insert into account (name, plan) values ('other', 'pro') returning id`,
    );
    const filter = { queueIds: [orders.id], queueNames: [orders.name] };
    const selection = { ...fixture.select(filter), accountId: other?.id ?? '' };
    expect(await searchJobs(fixture.db, selection, NEWEST_FIRST, { limit: 10, inverted: false })).toEqual([]);
    expect(await countJobs(fixture.db, selection, 10)).toBe(0);
    expect(await newestJobs(fixture.db, selection, 10)).toEqual(new Map());
  });
});

describe('the newest jobs of each queue', () => {
  it.each<[string, JobFilter]>([
    ['all', {}],
    ['of a state', { states: ['due'] }],
    ['of a payload', { payload: { kind: 'test', path: 'none', op: 'NEQ', value: 1 } }],
  ])('the newest jobs of each queue are found: %s', async (_name, filter) => {
    const newest = await newestJobs(fixture.db, fixture.select(filter), 3);
    for (const queue of [orders, mails]) {
      const expected = await fixture.find({ ...filter, queueIds: [queue.id] }, NEWEST_FIRST, 3);
      expect(expected.length).toBeGreaterThan(0);
      expect(newest.get(queue.id)?.map(({ id }) => id)).toEqual(expected);
    }
    expect(newest.size).toBe(2);
  });
});
