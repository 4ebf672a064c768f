import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Arrivals } from '../../src/pacing/arrivals.ts';

it('does work at once while no connection arrives', () => {
  const arrivals = new Arrivals();
  let isDone = false;
  arrivals.run(() => {
    isDone = true;
  });
  expect([isDone, arrivals.goFirst]).toEqual([true, false]);
});

it('does the work that waited, in order, in the turn after the last connection', async () => {
  const arrivals = new Arrivals();
  arrivals.note();
  arrivals.note();
  await nextTurn();
  const done: number[] = [];
  for (const n of [1, 2, 3]) arrivals.run(() => done.push(n));
  expect([arrivals.goFirst, done]).toEqual([true, []]);
  await nextTurn();
  expect([arrivals.goFirst, done]).toEqual([false, [1, 2, 3]]);
});

it('has a turn of work after 32 turns, although each of them brings a connection', async () => {
  const arrivals = new Arrivals();
  let [turns, done] = [0, 0];
  while (done < 10) {
    arrivals.note();
    arrivals.run(() => {
      done += 1;
    });
    turns += 1;
    await nextTurn();
    if (turns > 1000) break;
  }
  expect(turns).toBeLessThanOrEqual(10 * 33);
  expect(done).toBeGreaterThanOrEqual(10);
});
