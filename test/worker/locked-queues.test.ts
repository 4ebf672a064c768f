import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { LockedQueues } from '../../src/worker/dispatch/locked-queues.ts';

const LOCKED = { waitMs: 0, jobs: [] } as never;
const FREE = { waitMs: Number.POSITIVE_INFINITY, jobs: [] } as never;
const warned: object[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  onTestFinished(() => void vi.restoreAllMocks());
  warned.length = 0;
});

it('are claimed again soon, less often the longer they are locked, and a person is told after 10 s and each minute', () => {
  const locked = new LockedQueues({ warn: (fields: object) => warned.push(fields) } as never);
  const delays = [0, 100, 5000, 4900, 50_000, 10_000].map((ms) => {
    vi.advanceTimersByTime(ms);
    return locked.delayOf('q', LOCKED);
  });
  expect(delays).toEqual([25, 25, 510, 1000, 1000, 1000]);
  expect(warned).toEqual([
    { queueId: 'q', lockedMs: 10_000 },
    { queueId: 'q', lockedMs: 70_000 },
  ]);
  expect(locked.delayOf('q', FREE)).toBeNull();
  expect(locked.delayOf('q', LOCKED)).toBe(25);
});
