import { expect, it, vi } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import type { QueueInsight } from '../../src/services/insight/queues.ts';
import { sharingStatistics } from '../../src/services/insight/shared-statistics.ts';

const account = (id: string): Account => ({ id, name: id, plan: 'pro', actor: { type: 'api_key', id, label: id } });
const RANGE = { from: new Date(0), to: new Date(1), bucketSeconds: 300 };

function insight(fails = false) {
  const asked: string[] = [];
  const timelines: QueueInsight['timelines'] = async (who, ids) => {
    asked.push(`${who.id} ${ids.join()}`);
    if (fails) throw new Error('not now');
    return new Map();
  };
  return { asked, shared: sharingStatistics({ timelines } as QueueInsight) };
}

it('queries the same timelines once a second, and for each account by itself', async () => {
  vi.useFakeTimers();
  try {
    const { asked, shared } = insight();
    const first = await shared.timelines(account('a'), ['1'], RANGE);
    expect(await shared.timelines(account('a'), ['1'], { ...RANGE })).toBe(first);
    await shared.timelines(account('b'), ['1'], RANGE);
    await shared.timelines(account('a'), ['2'], RANGE);
    await shared.timelines(account('a'), ['1'], { ...RANGE, bucketSeconds: 600 });
    expect(asked).toEqual(['a 1', 'b 1', 'a 2', 'a 1']);
    vi.advanceTimersByTime(1000);
    await shared.timelines(account('a'), ['1'], RANGE);
    expect(asked.length).toBe(5);
  } finally {
    vi.useRealTimers();
  }
});

it('queries again at once when that failed', async () => {
  const { asked, shared } = insight(true);
  for (let again = 0; again < 2; again += 1) {
    await expect(shared.timelines(account('a'), ['1'], RANGE)).rejects.toThrow('not now');
  }
  expect(asked.length).toBe(2);
});
