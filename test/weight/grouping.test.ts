import { expect, it, vi } from 'vitest';
import { Starts } from '../../src/pacing/starts.ts';
import { WaitingList } from '../../src/pacing/waiting-list.ts';
import { complaint } from './figures.ts';
import { BACKLOG, weighDispatcher, weighGrouping } from './grouping.ts';

/** Statements of a worker and an API on an event loop of fixed turns, compared with `weight.json`. */

const weighBacklog = async () => complaint({ 'worker: a backlog of 1000 jobs': await weighDispatcher(BACKLOG) });

it('jobs share statements as weight.json says', async () => {
  expect(await complaintOfAll()).toBe('');
});

const complaintOfAll = async () => complaint(await weighGrouping());

it('a worker is too heavy if the starts of its deliveries are torn apart', async () => {
  let last = Promise.resolve();
  const add = vi.spyOn(Starts.prototype, 'add').mockImplementation((_account, start) => {
    // One in each turn.
    last = last.then(() => new Promise((resolve) => setImmediate(resolve))).then(start);
  });
  expect(await weighBacklog()).toMatch(/settles: kept [\d.]+ per 1000 jobs, measured [\d.]+ per 1000 jobs/);
  add.mockRestore();
});

it('a process is too heavy if each item is flushed alone', async () => {
  const { take } = WaitingList.prototype;
  const alone = vi.spyOn(WaitingList.prototype, 'take').mockImplementation(function (this: never, _items, bytes) {
    return take.call(this, 1, bytes);
  });
  const text = await complaintOfAll();
  expect(text).toMatch(/worker: a backlog of 1000 jobs \/ settles: kept [\d.]+ per 1000 jobs, measured 1000 per/);
  expect(text).toMatch(/API: 32 callers \/ statements: kept [\d.]+ per 1000 jobs, measured 1000 per/);
  alone.mockRestore();
});
