import { describe, expect, it } from 'vitest';
import { positionOf, ReplicaPosition } from '../../src/db/connection/replica-position.ts';

/** A replica that is known to follow: its primary was at 100 at the time 1. */
function following(): ReplicaPosition {
  const replica = new ReplicaPosition();
  replica.sampled({ at: 0, timeline: 1, position: 90n, beat: 'a' });
  replica.sampled({ at: 1, timeline: 1, position: 100n, beat: 'b' });
  replica.reached(100n, 'b');
  return replica;
}

describe('a replica', () => {
  it('is as current as the last sample that it has reached', () => {
    const replica = following();
    expect(replica.asOf).toBe(1);
    replica.sampled({ at: 2, timeline: 1, position: 200n, beat: 'b' });
    replica.sampled({ at: 3, timeline: 1, position: 300n, beat: 'c' });
    replica.reached(299n, 'b');
    expect(replica.asOf).toBe(2);
    replica.reached(300n, 'b');
    expect(replica.asOf).toBe(3);
  });

  it('stays current while the primary is idle, and falls behind when it is not reached', () => {
    const replica = following();
    for (const at of [2, 3, 4]) {
      replica.sampled({ at, timeline: 1, position: 100n, beat: 'b' });
      replica.reached(100n, 'b');
    }
    expect(replica.asOf).toBe(4);
    replica.sampled({ at: 5, timeline: 1, position: 101n, beat: 'b' });
    replica.reached(100n, 'b');
    expect(replica.asOf).toBe(4);
  });

  it('counts only once it has shown something that was written after the first sample', () => {
    const replica = new ReplicaPosition();
    replica.sampled({ at: 0, timeline: 1, position: 90n, beat: 'a' });
    replica.reached(500n, 'a');
    expect(replica).toMatchObject({ follows: false, asOf: Number.NEGATIVE_INFINITY });
    replica.sampled({ at: 1, timeline: 1, position: 100n, beat: 'b' });
    replica.reached(500n, 'x');
    expect(replica.follows).toBe(false);
    replica.reached(500n, 'b');
    expect(replica).toMatchObject({ follows: true, asOf: 1 });
  });

  it('a replica of the former primary does not count after a failover, though its positions are higher', () => {
    const replica = following();
    replica.sampled({ at: 2, timeline: 2, position: 110n, beat: 'b' });
    replica.reached(900n, 'old');
    replica.sampled({ at: 3, timeline: 2, position: 120n, beat: 'new' });
    replica.reached(910n, 'old');
    expect(replica).toMatchObject({ follows: false, asOf: Number.NEGATIVE_INFINITY });
    replica.reached(120n, 'new');
    expect(replica).toMatchObject({ follows: true, asOf: 3 });
  });

  it('keeps a bounded number of samples', () => {
    const replica = following();
    for (let at = 2; at < 10_000; at += 1) replica.sampled({ at, timeline: 1, position: BigInt(100 * at), beat: 'b' });
    replica.reached(200n, 'b');
    // The sample that says so is gone, so nothing is known.
    expect(replica.asOf).toBe(1);
    replica.reached(999_900n, 'b');
    expect(replica.asOf).toBe(9999);
  });
});

it('reads positions as PostgreSQL writes them', () => {
  expect(positionOf('16/B374D848')).toBe(0x16_b374_d848n);
  expect(positionOf('0/1') < positionOf('1/0')).toBe(true);
});
