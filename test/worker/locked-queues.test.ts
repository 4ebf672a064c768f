import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import type { LockHolder } from '../../src/domain/doctor-locks.ts';
import { LockedQueues } from '../../src/worker/dispatch/locked-queues.ts';

const LOCKED = { waitMs: 0, jobs: [] } as never;
const FREE = { waitMs: Number.POSITIVE_INFINITY, jobs: [] } as never;
const warned: object[] = [];
/** Meanwhile the holders of locks are read. */
const read = () => new Promise(setImmediate);
const log = { warn: (...line: [object, string]) => warned.push(line) } as never;
const holder: LockHolder = {
  pid: 7,
  prepared: null,
  user: 'ann',
  program: 'psql',
  isActive: false,
  isWaiting: false,
  seconds: 12,
  waiting: 0,
  tables: ['queue'],
};
const named = { lockedBy: [expect.stringMatching(/^a transaction of ann .* select pg_terminate_backend\(7\)$/)] };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  onTestFinished(() => void vi.restoreAllMocks());
  warned.length = 0;
});

it('are claimed again soon, less often the longer they are locked, and a person is told after 10 s and each minute', async () => {
  const locked = new LockedQueues(log, async () => [holder]);
  const delays = [0, 100, 4900, 4900, 100, ...Array<number>(15).fill(4000)].map((ms) => {
    vi.advanceTimersByTime(ms);
    return locked.delayOf('q', LOCKED);
  });
  expect(delays).toEqual([25, 25, 500, 990, ...Array<number>(16).fill(1000)]);
  await read();
  expect(warned).toEqual([
    [{ queueId: 'q', lockedMs: 10_000, ...named }, expect.any(String)],
    [{ queueId: 'q', lockedMs: 70_000, ...named }, expect.any(String)],
  ]);
  expect(locked.count).toBe(1);
  vi.advanceTimersByTime(5000);
  expect(locked.count).toBe(0);
  expect(locked.delayOf('q', FREE)).toBeNull();
  expect(locked.delayOf('q', LOCKED)).toBe(25);
});

it('tell that the role may not see the session that locks them', async () => {
  const locked = new LockedQueues(
    log,
    async () => [],
    async () => 'jobferry_run',
  );
  for (const ms of [0, 100, 4900, 4900, 100]) {
    vi.advanceTimersByTime(ms);
    locked.delayOf('q', LOCKED);
  }
  await read();
  await read();
  const lockedBy = [
    expect.stringMatching(/^the role jobferry_run cannot see .*grant pg_read_all_stats to jobferry_run$/),
  ];
  expect(warned).toEqual([[expect.objectContaining({ lockedBy }), expect.any(String)]]);
});

it('are told apart from locked tables, for which claims fail: at once if a session has them, and then once a minute', async () => {
  let holders: LockHolder[] = [];
  let reads = 0;
  const locked = new LockedQueues(log, async () => {
    reads += 1;
    return holders;
  });
  const fail = async (afterMs: number) => {
    vi.advanceTimersByTime(afterMs);
    locked.claimFailed();
    await read();
    return warned.length;
  };
  expect([await fail(0), await fail(250), await fail(4000)]).toEqual([0, 0, 0]);
  expect(reads).toBe(1);
  holders = [holder];
  expect([await fail(1000), await fail(30_000), await fail(30_000)]).toEqual([1, 1, 2]);
  expect(warned[0]).toEqual([named, 'claims fail while another session has locks on the tables']);
});
