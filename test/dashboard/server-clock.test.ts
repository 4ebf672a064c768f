import { describe, expect, it } from 'vitest';
import { estimateOffset } from '../../packages/dashboard/base/clock.ts';
import { isJobId, shortId } from '../../packages/query/words/job-id.ts';

describe('the clock of the server', () => {
  const now = Date.parse('2026-11-12T12:00:00Z');

  it('is right within half of the round trip, whatever the clock of this computer says', () => {
    const sample = estimateOffset(null, { now, sentAt: 1000, receivedAt: 1200 });
    expect(sample.offset + 1100).toBe(now);
  });

  it('keeps the better sample', () => {
    const good = estimateOffset(null, { now, sentAt: 1000, receivedAt: 1010 });
    const slow = { now: now + 30_000, sentAt: 30_000, receivedAt: 33_000 };
    expect(estimateOffset(good, slow)).toBe(good);
    const better = { now: now + 30_000, sentAt: 31_000, receivedAt: 31_004 };
    expect(estimateOffset(good, better).roundTrip).toBe(4);
  });

  it('takes a newer sample when the old one may have drifted', () => {
    const good = estimateOffset(null, { now, sentAt: 0, receivedAt: 10 });
    const hourLater = { now: now + 3_600_000, sentAt: 3_600_000, receivedAt: 3_600_100 };
    expect(estimateOffset(good, hourLater).roundTrip).toBe(100);
  });

  it('follows the server after a sleep, in which the clock of the page may stand still', () => {
    const good = estimateOffset(null, { now, sentAt: 0, receivedAt: 10 });
    const afterSleep = estimateOffset(good, { now: now + 600_000, sentAt: 20_000, receivedAt: 20_200 });
    expect(afterSleep.offset + 20_100).toBe(now + 600_000);
  });
});

describe('an id', () => {
  const id = '01a1cfa459463c7ed8a1f07c';

  it('is short by its last digits', () => {
    expect(shortId(id)).toBe('…1f07c');
  });

  it('has 24 hexadecimal digits', () => {
    expect([id, id.slice(1), id.toUpperCase(), `${id}0`, ''].map(isJobId)).toEqual([true, false, false, false, false]);
  });
});
