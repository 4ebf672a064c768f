import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/connection/database.ts';
import { FollowedQueues } from '../../src/worker/dispatch/followed-queues.ts';
import { type Fixture, openFixture } from '../support/database-fixture.ts';

/** The settings of queues that a worker process follows. */

let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture();
});

/** The database, and what is read over it: for each statement the settings, or null if only the digest came. */
function noted() {
  const answers: (string | null)[] = [];
  let failure: Error | null = null;
  const db = Object.create(fixture.db) as Database;
  db.one = (async (statement: never, values: unknown[]) => {
    if (failure !== null) throw failure;
    const row = await fixture.db.one<{ settings: string | null }>(statement, values);
    answers.push(row?.settings ?? null);
    return row;
  }) as Database['one'];
  return {
    db,
    answers,
    fail: (error: Error | null) => {
      failure = error;
    },
  };
}

async function createQueue(enabled: boolean): Promise<string> {
  const { id } = await fixture.createQueue();
  await set(id, enabled);
  return id;
}

const isOn = (queues: FollowedQueues, id: string) => queues.of(id).standardWebhooks;

const set = (id: string, enabled: boolean) =>
  fixture.db.query('update queue set standard_webhooks = $2 where id = $1', [id, enabled]);

describe('the set', () => {
  it('has the live queues that are switched on, and after a change another read has them', async () => {
    const [on, off, deleted] = [await createQueue(true), await createQueue(false), await createQueue(true)];
    const queues = new FollowedQueues(fixture.db);
    expect(isOn(queues, on)).toBe(false);
    await queues.read();
    expect([on, off, deleted].map((id) => isOn(queues, id))).toEqual([true, false, true]);
    await set(on, false);
    await set(off, true);
    await fixture.db.query('update queue set deleted_at = jobferry_now() where id = $1', [deleted]);
    await queues.read();
    expect([on, off, deleted].map((id) => isOn(queues, id))).toEqual([false, true, false]);
    await set(off, false);
    await queues.read();
    expect(isOn(queues, off)).toBe(false);
  });

  it('has the breakers of queues beside', async () => {
    const [both, one] = [await createQueue(true), await createQueue(false)];
    await fixture.db.query('update queue set breaker_failures = 5 where id = any ($1)', [[both, one]]);
    const queues = new FollowedQueues(fixture.db);
    await queues.read();
    expect(queues.of(both)).toEqual({ standardWebhooks: true, breaker: true });
    expect(queues.of(one)).toEqual({ standardWebhooks: false, breaker: true });
    await fixture.db.query('update queue set breaker_failures = null, breaker_seconds = 60 where id = $1', [one]);
    await fixture.db.query('update queue set breaker_failures = null where id = $1', [both]);
    await queues.read();
    expect([both, one].map((id) => queues.of(id).breaker)).toEqual([false, true]);
  });

  it('is sent only if it has changed', async () => {
    const id = await createQueue(true);
    const { db, answers } = noted();
    const queues = new FollowedQueues(db);
    for (let n = 0; n < 3; n += 1) await queues.read();
    await set(id, false);
    for (let n = 0; n < 2; n += 1) await queues.read();
    expect(answers).toEqual([expect.stringContaining(id), null, null, expect.not.stringContaining(id), null]);
  });

  it('stays as it was while the database does not answer, and is right afterwards', async () => {
    const [before, during] = [await createQueue(true), await createQueue(false)];
    const { db, fail } = noted();
    const queues = new FollowedQueues(db);
    await queues.read();
    fail(new Error('on purpose'));
    await set(during, true);
    for (let n = 0; n < 2; n += 1) await expect(queues.read()).rejects.toThrow('on purpose');
    expect([before, during].map((id) => isOn(queues, id))).toEqual([true, false]);
    fail(null);
    await queues.read();
    expect([before, during].map((id) => isOn(queues, id))).toEqual([true, true]);
  });

  it('a call during a read waits for another one, which calls share', async () => {
    const { db, answers } = noted();
    const queues = new FollowedQueues(db);
    const first = queues.read();
    // The first one is sent before anything is changed.
    await Promise.resolve();
    const id = await createQueue(true);
    const calls = [1, 2, 3].map(() => queues.read());
    await Promise.all([first, ...calls]);
    expect(isOn(queues, id)).toBe(true);
    expect(answers.length).toBeLessThanOrEqual(2);
  });
});
