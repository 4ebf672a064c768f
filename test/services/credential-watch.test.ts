import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Database } from '../../src/db/connection/database.ts';
import { CredentialWatch } from '../../src/services/accounts/credential-watch.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A database in which these keys are in force, and the number of its queries. */
function databaseWith(...inForce: string[]) {
  const asked: string[][] = [];
  const query = async (_statement: unknown, [ids]: [string[]]) => {
    asked.push(ids);
    // Answers take a moment: a loop that queries without a pause would otherwise never let this test go on.
    await new Promise((resolve) => setTimeout(resolve, 1));
    return inForce.filter((id) => ids.includes(id)).map((id) => ({ id }));
  };
  return { db: { query } as unknown as Database, asked };
}

describe('the watch of keys', () => {
  it('confirms keys in force while a stream of a revoked one has not left yet', async () => {
    const { db, asked } = databaseWith('good');
    const keys = new CredentialWatch(db);
    const revoked = vi.fn();
    const leave = [keys.follow('revoked', revoked), keys.follow('good', () => expect.unreachable())];
    let isConfirmed = false;
    const ending = new AbortController();
    void keys.confirmed(ending.signal).then(() => {
      isConfirmed = true;
    });
    await vi.advanceTimersByTimeAsync(100);
    ending.abort();
    expect(isConfirmed).toBe(true);
    expect(revoked).toHaveBeenCalled();
    expect(asked.length).toBe(1);
    for (const end of leave) end();
    await vi.advanceTimersByTimeAsync(2000);
    expect(asked.length).toBe(1);
  });

  it('queries again for a key that was added during its query', async () => {
    const { db, asked } = databaseWith('one', 'two');
    const keys = new CredentialWatch(db);
    const leave = [keys.follow('one', () => expect.unreachable())];
    const { signal } = new AbortController();
    const first = keys.confirmed(signal);
    leave.push(keys.follow('two', () => expect.unreachable()));
    const second = keys.confirmed(signal);
    await vi.advanceTimersByTimeAsync(100);
    await Promise.all([first, second]);
    expect(asked).toEqual([['one'], ['one', 'two']]);
    for (const end of leave) end();
  });
});
