import { expect, it } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { RecentChanges } from '../../src/services/server/recent-changes.ts';

function client(n: number): Account {
  return { id: 'a', name: 'a', plan: 'pro', actor: { type: 'api_key', id: String(n), label: '' } };
}

it('remembers the last change of each client', () => {
  const changes = new RecentChanges(1000);
  changes.note(client(1), 10);
  changes.note(client(2), 20);
  changes.note(client(1), 30);
  expect([1, 2, 3].map((n) => changes.lastOf(client(n)))).toEqual([30, 20, Number.NEGATIVE_INFINITY]);
});

it('takes too late a time for a client that it has forgotten, and never too early a one', () => {
  const changes = new RecentChanges(1000);
  for (let n = 0; n < 10_005; n += 1) changes.note(client(n), n / 100);
  // The first five are not kept any more.
  expect(changes.lastOf(client(0))).toBe(0.04);
  expect(changes.lastOf(client(4))).toBe(0.04);
  expect(changes.lastOf(client(5))).toBe(0.05);
  changes.note(client(1), 5000);
  expect(changes.lastOf(client(9))).toBe(100.04);
});
