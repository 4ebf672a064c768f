import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { SearchBudget } from '../../src/db/search/budget.ts';
import type { Account } from '../../src/domain/account.ts';
import { DEFAULT_PLANS } from '../../src/domain/plan.ts';
import { createJobSearch } from '../../src/services/jobs/search.ts';
import { RETENTION_MS } from '../support/database-fixture.ts';
import { NEWEST_FIRST, openSearchFixture } from '../support/search-fixture.ts';
import { occupyTurns } from '../support/turns.ts';

let fixture: Awaited<ReturnType<typeof openSearchFixture>>;
let account: Account;
let context: Parameters<typeof createJobSearch>[0];

beforeAll(async () => {
  fixture = await openSearchFixture();
  account = { id: fixture.accountId, name: 'test', plan: 'pro', actor: { type: 'operator', id: null, label: 'test' } };
  context = { db: fixture.db, plans: DEFAULT_PLANS, periods: { retentionMs: RETENTION_MS, lifetimeMs: 86_400_000 } };
  const queue = await fixture.createQueue();
  const payload = JSON.stringify({ kind: 'big', text: 'x'.repeat(20_000) });
  for (let n = 0; n < 60; n += 1) await fixture.insertJob({ queue, payload });
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe('suggestions', () => {
  it('suggestions for four requests at once are made in slices, between which others are served', async () => {
    const parse = JSON.parse;
    let sinceTurn = 0;
    let most = 0;
    let total = 0;
    vi.spyOn(JSON, 'parse').mockImplementation((text: string) => {
      sinceTurn += text.length;
      total += text.length;
      most = Math.max(most, sinceTurn);
      return parse(text) as unknown;
    });
    let isOver = false;
    const turns = (async () => {
      while (!isOver) {
        await new Promise((resolve) => setImmediate(resolve));
        sinceTurn = 0;
      }
    })();
    await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const search = createJobSearch(context, { budget: new SearchBudget() });
        const [paths, values] = await Promise.all([
          search.payloadPaths(account, null, '', 10),
          search.payloadValues(account, null, 'kind', '', 10),
        ]);
        expect(paths).toEqual([
          { value: 'kind', count: 60, isNumber: false },
          { value: 'text', count: 60, isNumber: false },
        ]);
        expect(values).toEqual([{ value: 'big', count: 60 }]);
      }),
    );
    isOver = true;
    await turns;
    // Each request has parsed its sample once, for both fields.
    expect(total).toBeGreaterThan(4 * 60 * 20_000);
    expect(total).toBeLessThan(5 * 60 * 20_100);
    // A slice is 64 KiB and the payload that fills it; two may fall between two checks.
    expect(most).toBeLessThan(200_000);
  });

  it('suggestions for a path that does not occur are looked for in slices, too', async () => {
    const search = createJobSearch(context, { budget: new SearchBudget() });
    const filter = { payload: { kind: 'test', path: 'Kind', op: 'EQ', value: 1 } } as const;
    const { entries } = Object;
    let sinceTurn = 0;
    let most = 0;
    // Each payload is an object, whose members are listed to find its paths.
    vi.spyOn(Object, 'entries').mockImplementation((value: object) => {
      sinceTurn += 'kind' in value && 'text' in value ? 1 : 0;
      most = Math.max(most, sinceTurn);
      return entries(value);
    });
    let isOver = false;
    const turns = (async () => {
      while (!isOver) {
        await new Promise((resolve) => setImmediate(resolve));
        sinceTurn = 0;
      }
    })();
    const hint = await search.payloadHint(account, filter);
    isOver = true;
    await turns;
    expect(hint).toBe('no recent payload has the path Kind: did you mean kind?');
    expect(most).toBeGreaterThan(0);
    // Four payloads fill a slice; two slices may fall between two checks.
    expect(most).toBeLessThan(10);
  });

  it('come with the most frequent first, and among equals by the alphabet', async () => {
    const queue = await fixture.createQueue();
    for (const tags of [['b', 'a'], ['c', 'b'], ['d']]) {
      await fixture.insertJob({ queue, payload: JSON.stringify({ tags }) });
    }
    const search = createJobSearch(context);
    const values = await search.payloadValues(account, queue.id, 'tags', '', 3);
    expect(values.map(({ value }) => value)).toEqual(['b', 'a', 'c']);
    expect(await search.payloadValues(account, queue.id, 'tags', '', 0)).toEqual([]);
  });
});

it('a hint says how many of the newest jobs are not searched', async () => {
  const queue = await fixture.createQueue();
  const filter = {
    queueIds: [queue.id],
    payload: { kind: 'not', of: { kind: 'test', path: 'a', op: 'EQ', value: 1 } },
  } as const;
  const hint = () => createJobSearch(context).payloadHint(account, filter);
  await fixture.insertJob({ queue, payload: '{"a":1}' });
  expect(await hint()).toBeNull();
  for (const bytes of [65_536, 65_537]) {
    await fixture.insertJob({ queue, payload: JSON.stringify({ a: 'x'.repeat(bytes - 8) }) });
  }
  const left = 'payloads that are encrypted or larger than 64 KiB are not searched: 1 of the newest 3';
  expect(await hint()).toBe(left);
  const payload = { kind: 'test', path: 'A', op: 'EQ', value: 1 } as const;
  const both = await createJobSearch(context).payloadHint(account, { ...filter, payload });
  expect(both).toBe(`no recent payload has the path A: did you mean a?; ${left}`);
});

describe('the searches of one request', () => {
  const slice = { limit: 10, inverted: false };

  it('share what they may take of the database, and are refused beyond it', async () => {
    const search = createJobSearch(context, { budget: new SearchBudget(undefined, 1) });
    const rounds = async () => {
      for (let n = 0; n < 1000; n += 1) await search.search(account, {}, NEWEST_FIRST, slice);
    };
    await expect(rounds()).rejects.toMatchObject({ kind: 'invalid_request', message: expect.stringContaining('2 s') });
    for (const asked of [
      search.count(account, {}, 10),
      search.payloadPaths(account, null, '', 10),
      search.newest(account, [], {}, 10),
    ]) {
      await expect(asked).rejects.toMatchObject({ kind: 'invalid_request' });
    }
    // Another request has its own.
    await createJobSearch(context, { budget: new SearchBudget() }).search(account, {}, NEWEST_FIRST, slice);
  });

  it('end when no client waits for them any more', async () => {
    const gone = new AbortController();
    const search = createJobSearch(context, { budget: new SearchBudget(gone.signal) });
    await search.search(account, {}, NEWEST_FIRST, slice);
    gone.abort();
    await expect(search.search(account, {}, NEWEST_FIRST, slice)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('are not made when no client waits for them by the time their turn comes', async () => {
    const gone = new AbortController();
    const search = createJobSearch(context, { budget: new SearchBudget(gone.signal) });
    const letGo = occupyTurns(context.db, account);
    const asked = search.search(account, {}, NEWEST_FIRST, slice);
    // By then it waits for its turn.
    await new Promise((resolve) => setImmediate(resolve));
    let statements = 0;
    context.db.readingPool.on('acquire', () => {
      statements += 1;
    });
    gone.abort();
    letGo();
    await expect(asked).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('does not wait'),
    });
    expect(statements).toBe(0);
  });
});
