import { describe, expect, it } from 'vitest';
import type { CauseRow } from '../../src/dashboard/features/dead-letters/operations.ts';
import { targetOfAll } from '../../src/dashboard/features/dead-letters/targets.ts';

/** As many causes of one queue; the page asks for 20. */
const causes = (count: number) =>
  Array.from({ length: count }, () => ({ queue: { id: 'q', name: 'orders' } }) as unknown as CauseRow);

describe('replaying all that match', () => {
  it('is a replay of one queue if all causes are of it', () => {
    expect(targetOfAll(causes(19), {}).queue).toEqual({ id: 'q', name: 'orders' });
  });

  it('is one of several queues if there may be more causes than the page knows', () => {
    expect(targetOfAll(causes(20), {}).queue).toBeNull();
  });
});
