import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { idleBulkActions, startBulkAction } from '../../src/db/bulk/actions.ts';
import { nextReplayable } from '../../src/db/bulk/selection.ts';
import { SearchTooSlow } from '../../src/db/search/budget.ts';
import { unavailable } from '../../src/domain/errors.ts';
import { DEFAULT_PLANS } from '../../src/domain/plan.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { BulkActions } from '../../src/worker/bulk/actions.ts';
import * as running from '../../src/worker/bulk/run.ts';
import { insertDeadLetters } from '../support/bulk.ts';
import { connect } from '../support/database.ts';
import { type Fixture, openFixture, PERIODS } from '../support/database-fixture.ts';
import { waitFor } from '../support/wait-for.ts';

vi.mock('../../src/worker/bulk/run.ts', { spy: true });

let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.openConnections();
});

function contextOf({ db }: Fixture) {
  return { db, plans: DEFAULT_PLANS, periods: PERIODS, wake: () => true, changes: { changed: () => {} } };
}

function open(): BulkActions {
  const bulkActions = new BulkActions(contextOf(fixture), createLog({ level: 'silent' }));
  onTestFinished(() => bulkActions.stop());
  return bulkActions;
}

/** Replays of an account of its own, each over `letters` dead letters. */
async function startReplays(actions: number, letters: number): Promise<string[]> {
  const row = await fixture.db.one<{ id: string }>(
    `insert into account (name, plan) values ('one', 'pro') returning id`,
  );
  const id = row?.id ?? '';
  const by = { accountId: id, actor: { type: 'api_key', id: 'a'.repeat(24), label: 'test' } } as const;
  const ids: string[] = [];
  for (let n = 0; n < actions; n += 1) {
    const queue = await fixture.createQueue();
    await fixture.db.query('update queue set account_id = $2 where id = $1', [queue.id, id]);
    await insertDeadLetters(fixture.db, queue.id, letters);
    const action = { ratePerSecond: null, canary: false, matched: letters, selection: {}, queueId: queue.id };
    ids.push((await startBulkAction(fixture.db, by, { ...action, kind: 'replay_dead_letters' })) ?? '');
  }
  return ids;
}

async function status(id: string): Promise<string | undefined> {
  return (await fixture.db.one<{ status: string }>('select status from bulk_action where id = $1', [id]))?.status;
}

describe('bulk actions', () => {
  it('the bulk actions of one account keep no other account waiting', async () => {
    const many = await startReplays(12, 1500);
    const [quiet = ''] = await startReplays(1, 1500);
    const batches = vi.mocked(running.runBulkAction).mock.calls;
    const before = batches.length;
    const bulkActions = open();
    for (const id of [...many, quiet]) await bulkActions.run(id);
    await waitFor(async () => (await status(quiet)) === 'completed');
    // Accounts take turns: four batches of the one, and not 48 of the other before or between.
    const order = batches.slice(before).map(([, id]) => id);
    expect(order.lastIndexOf(quiet)).toBeGreaterThanOrEqual(3);
    expect(order.lastIndexOf(quiet)).toBeLessThan(20);
  });

  it('a bulk action that waits for its turn is not idle', async () => {
    const [id = ''] = await startReplays(1, 10);
    const bulkActions = open();
    const blocker = await connect(fixture.url);
    await blocker.query('begin');
    await blocker.query('select from bulk_action where id = $1 for update', [id]);
    await bulkActions.run(id);
    await blocker.query(`update bulk_action set kept_at = jobferry_now() - interval '1 hour' where id = $1`, [id]);
    const kept = bulkActions.keep();
    await blocker.query('commit');
    await kept;
    const row = await fixture.db.one<{ idle: boolean }>(
      `select kept_at < jobferry_now() - interval '30 min' as idle from bulk_action where id = $1`,
      [id],
    );
    expect(row?.idle).toBe(false);
  });

  it('go on when the clock of the database has gone back, also those of a dead process', async () => {
    const [id = ''] = await startReplays(1, 10);
    await fixture.db.query(
      `update bulk_action set rate_per_second = 50, position = '', updated_at = jobferry_now() + interval '1 hour',
                              kept_at = jobferry_now() + interval '1 hour' where id = $1`,
      [id],
    );
    const idle = await idleBulkActions(fixture.db, 5000);
    expect(idle.map((action) => action.id)).toContain(id);
    await open().run(id);
    await waitFor(async () => (await status(id)) === 'completed');
  });

  it('wait while their searches take too long, say so, and go on', async () => {
    const [id = ''] = await startReplays(1, 3);
    const { db } = fixture;
    await db.query(`update bulk_action set kind = 'cancel_jobs', queue_id = null where id = $1`, [id]);
    const error = async () =>
      (await db.one<{ error: string | null }>('select error from bulk_action where id = $1', [id]))?.error;
    // Searches read this table, and nothing else of an action does.
    const blocker = await connect(fixture.url);
    await blocker.query('begin; lock table follower');
    await open().run(id);
    await waitFor(async () => (await error()) != null).finally(() => blocker.query('commit'));
    expect([await status(id), await error()]).toEqual([
      'running',
      'the search for its next jobs took too long; it is repeated after 1 s',
    ]);
    await waitFor(async () => (await status(id)) === 'completed');
    expect(await error()).toBeNull();
  });

  it('do less at once after a batch that took too long', async () => {
    const [id = ''] = await startReplays(1, 600);
    const { db } = fixture;
    const query = db.query.bind(db);
    const sizes: number[] = [];
    db.query = (async (...args: Parameters<typeof query>) => {
      const [statement, values] = args;
      if (typeof statement === 'object' && statement.name === 'bulk-replay') {
        const size = Array.isArray(values?.[2]) ? values[2].length : 0;
        sizes.push(size);
        if (size > 400) throw unavailable('planted', 'unknown');
      }
      return query(...args);
    }) as typeof query;
    onTestFinished(() => {
      db.query = query;
    });
    await open().run(id);
    await waitFor(async () => (await status(id)) === 'completed');
    expect(sizes.slice(0, 3)).toEqual([500, 250, 300]);
  });
});

it('a bulk action whose searches always take too long fails after some minutes', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const failed: string[] = [];
  const action = { id: 'a', accountId: 'b' };
  const db = { query: async () => [action], one: async () => action } as unknown as Fixture['db'];
  const search = vi.spyOn(running, 'runBulkAction').mockRejectedValue(new SearchTooSlow());
  vi.spyOn(running, 'failBulkAction').mockImplementation(async (_context, _id, error) => {
    failed.push(error);
  });
  const bulkActions = new BulkActions({ ...contextOf(fixture), db }, createLog({ level: 'silent' }));
  const before = search.mock.calls.length;
  await bulkActions.run('a');
  await vi.advanceTimersByTimeAsync(7 * 60_000);
  expect(failed).toEqual([]);
  await vi.advanceTimersByTimeAsync(3 * 60_000);
  expect(search.mock.calls.length - before).toBe(20);
  expect(failed).toEqual([expect.stringContaining('20 times in a row: narrow')]);
  await bulkActions.stop();
});

it('a bulk action of a later build is left to it', async () => {
  const [id = ''] = await startReplays(1, 3);
  await fixture.db.query(
    `update bulk_action set revision = revision + 1, kept_at = kept_at - interval '1 hour' where id = $1`,
    [id],
  );
  expect((await idleBulkActions(fixture.db, 1000)).map((action) => action.id)).not.toContain(id);
});

it('a bulk action does whole batches again soon after a long outage', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  let isAway = true;
  const shares: number[] = [];
  const action = { id: 'a', accountId: 'b' };
  const db = { query: async () => [action], one: async () => action } as unknown as Fixture['db'];
  vi.spyOn(running, 'runBulkAction').mockImplementation(async (_context, _id, share = 1) => {
    if (isAway) throw unavailable('planted', 'unknown');
    shares.push(share);
    return 1;
  });
  const context = { db, plans: DEFAULT_PLANS, periods: PERIODS, wake: () => true, changes: { changed: () => {} } };
  const bulkActions = new BulkActions(context, createLog({ level: 'silent' }));
  await bulkActions.run('a');
  // A thousand halvings and some more are 0.
  await vi.advanceTimersByTimeAsync(1200 * 1000);
  isAway = false;
  await vi.advanceTimersByTimeAsync(5000);
  await bulkActions.stop();
  expect(shares[50]).toBe(1);
});

it('the next dead letters are found in steps when hardly any meets the filter', async () => {
  const queue = await fixture.createQueue();
  await insertDeadLetters(fixture.db, queue.id, 20_000, { error: 'other' });
  const [wanted] = await insertDeadLetters(fixture.db, queue.id, 1, { error: 'wanted' });
  const { accountId } = fixture;
  const filter = { errorContains: 'wanted' };
  const selection = { accountId, queueId: queue.id, filter, jobs: null, periods: PERIODS };
  const first = await nextReplayable(fixture.db, selection, { after: '', before: 'g', limit: 500 });
  expect(first.ids).toEqual([]);
  const second = await nextReplayable(fixture.db, selection, {
    after: first.position ?? 'g',
    before: 'g',
    limit: 500,
  });
  expect(second.ids).toEqual([wanted]);
  expect(await nextReplayable(fixture.db, selection, { after: wanted ?? '', before: 'g', limit: 500 })).toEqual({
    ids: [],
    position: null,
  });
});
