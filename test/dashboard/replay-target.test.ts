import { describe, expect, it } from 'vitest';
import type { CauseRow } from '../../packages/dashboard/features/dead-letters/operations.ts';
import { targetOfAll } from '../../packages/dashboard/features/dead-letters/targets.ts';

/** As many causes of one queue. */
const causes = (count: number) =>
  Array.from({ length: count }, () => ({ queue: { id: 'q', name: 'orders' } }) as unknown as CauseRow);

describe('replaying all that match', () => {
  it('is a replay of one queue if all causes are of it', () => {
    expect(targetOfAll(causes(19), {}).queue).toEqual({ id: 'q', name: 'orders' });
    // The server leaves out causes of a queue, but no queue.
    expect(targetOfAll(causes(20), {}).queue).toEqual({ id: 'q', name: 'orders' });
  });

  it('is one of several queues if a cause is of another one', () => {
    const other = { queue: { id: 'r', name: 'mails' } } as unknown as CauseRow;
    expect(targetOfAll([...causes(1), other], {}).queue).toBeNull();
  });
});
