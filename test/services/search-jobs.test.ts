import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { DEFAULT_PLANS } from '../../src/domain/plan.ts';
import { createJobSearch } from '../../src/services/jobs/search.ts';
import { RETENTION_MS, type TestQueue } from '../support/database-fixture.ts';
import { NEWEST_FIRST, openSearchFixture } from '../support/search-fixture.ts';

const HOUR = 3_600_000;

let fixture: Awaited<ReturnType<typeof openSearchFixture>>;
let search: ReturnType<typeof createJobSearch>;
let orders: TestQueue;
let mails: TestQueue;

function accountOf(plan: string, id = fixture.accountId): Account {
  return { id, name: 'test', plan, actor: { type: 'operator', id: null, label: 'test' } };
}

beforeAll(async () => {
  fixture = await openSearchFixture();
  const periods = { retentionMs: RETENTION_MS, lifetimeMs: 24 * HOUR };
  search = createJobSearch({ db: fixture.db, plans: DEFAULT_PLANS, periods });
  orders = await fixture.createQueue();
  mails = await fixture.createQueue();
  await fixture.insertJob({ queue: orders, ageMs: 30 * HOUR, payload: '{"customer":{"id":1}}', status: 'completed' });
  await fixture.insertJob({ queue: orders, ageMs: 2 * HOUR, payload: '{"customer":{"id":2},"tags":["a","b"]}' });
  await fixture.insertJob({
    queue: orders,
    ageMs: 2 * HOUR,
    payload: '{"customer":{"id":2},"Tags":[],"s":"\\u0000"}',
    status: 'dead',
  });
  await fixture.insertJob({ queue: mails, ageMs: HOUR, payload: '{"customer":{"id":"x"},"to":"ada@example.com"}' });
});

const slice = { limit: 100, inverted: false };

describe('searching jobs', () => {
  it('reaches as far back as the plan allows', async () => {
    expect(await search.search(accountOf('pro'), {}, NEWEST_FIRST, slice)).toHaveLength(4);
    expect(await search.search(accountOf('free'), {}, NEWEST_FIRST, slice)).toHaveLength(3);
    const created = { from: new Date(0) };
    expect(await search.count(accountOf('free'), { created }, 100)).toEqual({ count: 3, exact: true });
  });

  it('returns whether a count is exact', async () => {
    expect(await search.count(accountOf('pro'), {}, 4)).toEqual({ count: 4, exact: true });
    expect(await search.count(accountOf('pro'), {}, 3)).toEqual({ count: 3, exact: false });
  });

  it.each([[0], [-1], [1.5], [10_001], [Number.NaN]])('refuses to count to %d', async (max) => {
    await expect(search.count(accountOf('pro'), {}, max)).rejects.toMatchObject({ kind: 'invalid_request' });
  });

  it('gives positions by id for the order of creation, else with the time', async () => {
    const [byId] = await search.search(accountOf('pro'), {}, NEWEST_FIRST, slice);
    expect(Object.keys(byId ?? {})).toEqual(['id']);
    const order = { field: 'completed_at', descending: true } as const;
    const byTime = await search.search(accountOf('pro'), {}, order, slice);
    expect(byTime.map(({ at }) => at)).toEqual([expect.any(Number), null, null, null]);
  });

  it('answers no jobs for no limit', async () => {
    expect(await search.search(accountOf('pro'), {}, NEWEST_FIRST, { limit: 0, inverted: false })).toEqual([]);
  });

  it('refuses a filter beyond the bounds on each of its ways', async () => {
    const filter = { errorContains: '\0' };
    const account = accountOf('pro');
    const input = { from: new Date(fixture.now - HOUR), to: new Date(fixture.now), bucketSeconds: 300 };
    for (const asked of [
      search.search(account, filter, NEWEST_FIRST, slice),
      search.count(account, filter, 10),
      search.newest(account, [orders.id], filter, 10),
      search.timeline(account, filter, input),
    ]) {
      await expect(asked).rejects.toMatchObject({ kind: 'invalid_request' });
    }
  });
});

describe('the newest jobs of queues', () => {
  it('are those of the selected queues that match the filter and belong to the account', async () => {
    const account = accountOf('pro');
    const asked = [orders.id, mails.id, '0'.repeat(24), 'nonsense'];
    const counts = async (filter = {}) =>
      [...(await search.newest(account, asked, filter, 2))].map(([id, jobs]) => [id, jobs.length]).sort();
    expect(await counts()).toEqual(
      [
        [orders.id, 2],
        [mails.id, 1],
      ].sort(),
    );
    expect(await counts({ queueIds: [mails.id] })).toEqual([[mails.id, 1]]);
    expect(await counts({ queueIds: [] })).toEqual([]);
    expect(await search.newest(accountOf('pro', 'f'.repeat(24)), asked, {}, 2)).toEqual(new Map());
  });
});

describe('the timeline of jobs', () => {
  it('counts by time of creation and present status, and has every point', async () => {
    const from = new Date(fixture.now - 3 * HOUR);
    const input = { from, to: new Date(fixture.now), bucketSeconds: 3600 };
    const points = await search.timeline(accountOf('pro'), { queueIds: [orders.id] }, input);
    expect(points.length).toBeGreaterThanOrEqual(3);
    expect(points.every(({ at }, n) => at.getTime() === (points[0]?.at.getTime() ?? 0) + n * HOUR)).toBe(true);
    const bucket = points.find(({ at }) => at.getTime() === Math.floor((fixture.now - 2 * HOUR) / HOUR) * HOUR);
    expect(bucket).toMatchObject({ pending: 1, processing: 0, awaitingAck: 0, completed: 0, dead: 1 });
    expect(points.reduce((sum, { pending, dead }) => sum + pending + dead, 0)).toBe(2);
  });

  it.each([[0], [299], [450], [-300]])('refuses buckets of %d s', async (bucketSeconds) => {
    const input = { from: new Date(fixture.now - HOUR), to: new Date(fixture.now), bucketSeconds };
    await expect(search.timeline(accountOf('pro'), {}, input)).rejects.toMatchObject({ kind: 'invalid_request' });
  });
});

describe('suggestions', () => {
  const values = (found: readonly { value: string; count: number }[]) =>
    found.map(({ value, count }) => [value, count]);

  it('are the paths of recent payloads, most frequent first', async () => {
    const account = accountOf('pro');
    expect(values(await search.payloadPaths(account, null, '', 100))).toEqual([
      ['customer.id', 4],
      ['s', 1],
      ['tags', 1],
      ['tags.0', 1],
      ['to', 1],
    ]);
    expect(values(await search.payloadPaths(account, mails.id, '', 100))).toEqual([
      ['customer.id', 1],
      ['to', 1],
    ]);
    expect(values(await search.payloadPaths(account, null, 'T', 2))).toEqual([
      ['tags', 1],
      ['tags.0', 1],
    ]);
  });

  it('are the values at a path', async () => {
    const account = accountOf('pro');
    expect(values(await search.payloadValues(account, null, 'customer.id', '', 100))).toEqual([
      ['2', 2],
      ['1', 1],
      ['x', 1],
    ]);
    expect(values(await search.payloadValues(account, orders.id, 'tags', 'B', 100))).toEqual([['b', 1]]);
    expect(values(await search.payloadValues(accountOf('free'), orders.id, 'customer.id', '', 100))).toEqual([
      ['2', 2],
    ]);
  });

  it('show nothing of another account, nor of what is no queue', async () => {
    const other = accountOf('pro', 'f'.repeat(24));
    expect(await search.payloadPaths(other, orders.id, '', 100)).toEqual([]);
    expect(await search.payloadValues(other, null, 'customer.id', '', 100)).toEqual([]);
    expect(await search.payloadPaths(accountOf('pro'), 'nonsense\0', '', 100)).toEqual([]);
  });

  it('refuse what cannot be', async () => {
    const account = accountOf('pro');
    await expect(search.payloadPaths(account, null, '\0', 1)).rejects.toMatchObject({ kind: 'invalid_request' });
    await expect(search.payloadValues(account, null, '', '', 1)).rejects.toMatchObject({ kind: 'invalid_request' });
    await expect(search.payloadValues(account, null, 'a', '\ud800', 1)).rejects.toMatchObject({
      kind: 'invalid_request',
    });
  });
});
