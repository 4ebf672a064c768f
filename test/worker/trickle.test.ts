import { expect, it, onTestFinished, vi } from 'vitest';
import { Trickle } from '../../src/worker/dispatch/trickle.ts';

it('lets one claim pass in a second while nothing can begin, and calls back for the next one', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const egress = { isCutOff: false };
  let again = 0;
  const trickle = new Trickle(egress, () => {
    again += 1;
  });
  expect([trickle.letsPass(), trickle.letsPass()]).toEqual([true, true]);
  egress.isCutOff = true;
  expect([trickle.letsPass(), trickle.letsPass(), trickle.letsPass()]).toEqual([true, false, false]);
  vi.advanceTimersByTime(999);
  expect(again).toBe(0);
  vi.advanceTimersByTime(1);
  expect(again).toBe(1);
  expect([trickle.letsPass(), trickle.letsPass()]).toEqual([true, false]);
  trickle.stop();
  vi.advanceTimersByTime(5000);
  expect(again).toBe(1);
  egress.isCutOff = false;
  expect(trickle.letsPass()).toBe(true);
});
