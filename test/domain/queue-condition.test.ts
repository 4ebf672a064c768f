import { expect, it } from 'vitest';
import { holdOf } from '../../src/domain/breaker.ts';
import { type ConditionFacts, conditionOf, type QueueFlow, troubleOf } from '../../src/domain/queue-condition.ts';

const WELL: ConditionFacts = {
  isDeleted: false,
  isPaused: false,
  hold: null,
  warnings: [],
  oldestDueMs: null,
  flow: null,
};
const HELD = { isByBreaker: false, isOver: false, isProbing: false };
const HOUR = 3_600_000;

it('takes the first condition that holds', () => {
  const facts: ConditionFacts = {
    isDeleted: true,
    isPaused: true,
    hold: { isByBreaker: true, isOver: false, isProbing: true },
    warnings: ['backpressure', 'slow_receiver', 'failing', 'signature_rejected'],
    oldestDueMs: HOUR,
    flow: null,
  };
  const found = (changed: Partial<ConditionFacts>) => conditionOf(Object.assign(facts, changed));
  expect(found({})).toBe('deleted');
  expect(found({ isDeleted: false })).toBe('paused');
  expect(found({ isPaused: false })).toBe('signature');
  expect(found({ warnings: ['backpressure', 'slow_receiver', 'failing'] })).toBe('breaker');
  expect(found({ hold: { ...HELD, isProbing: true } })).toBe('held');
  expect(found({ hold: { ...HELD, isOver: true, isProbing: true } })).toBe('probing');
  expect(found({ hold: null })).toBe('failing');
  expect(found({ warnings: ['backpressure', 'slow_receiver'] })).toBe('behind');
  expect(found({ oldestDueMs: 60_000 })).toBe('slow');
  expect(found({ warnings: ['backpressure'] })).toBe('pressure');
  expect(found({ warnings: [] })).toBe('moving');
});

it('tells a backlog that shrinks, stands still or waits for reports from one that grows', () => {
  const flow: QueueFlow = {
    inPerSecond: 3,
    outPerSecond: 2,
    quietMs: 0,
    allSlotsAwait: false,
    ackTimeoutMs: 60_000,
    isMoving: true,
    openJobs: 9,
  };
  const found = (changed: Partial<QueueFlow>) =>
    conditionOf({ ...WELL, oldestDueMs: HOUR, flow: { ...flow, ...changed } });
  expect(found({})).toBe('behind');
  expect(found({ outPerSecond: 3.1 })).toBe('catching-up');
  expect(found({ quietMs: 299_999 })).toBe('behind');
  expect(found({ quietMs: 300_000 })).toBe('stuck');
  expect(found({ quietMs: 300_000, outPerSecond: null })).toBe('behind');
  expect(found({ quietMs: 300_000, inPerSecond: null })).toBe('behind');
  expect(found({ quietMs: null })).toBe('behind');
  expect(found({ allSlotsAwait: true, quietMs: 29_999 })).toBe('behind');
  expect(found({ allSlotsAwait: true, quietMs: 30_000, inPerSecond: null })).toBe('awaiting');
  expect(found({ allSlotsAwait: true, quietMs: 299_999, ackTimeoutMs: HOUR })).toBe('behind');
  expect(found({ allSlotsAwait: true, quietMs: 300_000, ackTimeoutMs: HOUR })).toBe('awaiting');
});

it('calls a queue without open jobs idle when no attempt has ended for a quarter of an hour', () => {
  const flow = { inPerSecond: 0, outPerSecond: 0, allSlotsAwait: false, ackTimeoutMs: 60_000 };
  const found = (changed: Pick<QueueFlow, 'isMoving' | 'openJobs' | 'quietMs'>) =>
    conditionOf({ ...WELL, flow: { ...flow, ...changed } });
  expect(found({ isMoving: true, openJobs: 0, quietMs: HOUR })).toBe('moving');
  expect(found({ isMoving: false, openJobs: 1, quietMs: 0 })).toBe('waiting');
  expect(found({ isMoving: false, openJobs: 0, quietMs: 899_999 })).toBe('moving');
  expect(found({ isMoving: false, openJobs: 0, quietMs: 900_000 })).toBe('idle');
  expect(found({ isMoving: false, openJobs: 0, quietMs: null })).toBe('idle');
});

it('takes a hold for over when it has ended, no job probes and no breaker is open', () => {
  const now = new Date(HOUR);
  const [before, after] = [new Date(HOUR), new Date(HOUR + 1)];
  const queue = { holdUntil: before, probeJobId: null, breakerOpenedAt: null };
  expect(holdOf({ ...queue, holdUntil: null, probeJobId: 'j', breakerOpenedAt: now }, now)).toBeNull();
  expect(holdOf(queue, now)).toBeNull();
  expect(holdOf({ ...queue, holdUntil: after }, now)).toEqual(HELD);
  expect(holdOf({ ...queue, probeJobId: 'j' }, now)).toEqual({ ...HELD, isOver: true, isProbing: true });
  expect(holdOf({ ...queue, breakerOpenedAt: now }, now)).toEqual({ ...HELD, isOver: true, isByBreaker: true });
});

const trouble = ({ cost = 0, ...facts }: Partial<ConditionFacts> & { cost?: number }) =>
  troubleOf(conditionOf({ ...WELL, ...facts }), cost, facts.oldestDueMs ?? null);

it('puts what needs a hand first, and among equals the one that costs most, then the one that is the most behind', () => {
  const ordered: Parameters<typeof trouble>[0][] = [
    { warnings: ['failing'], cost: 5060 },
    { warnings: ['failing'], cost: 20, oldestDueMs: 2 * HOUR },
    { warnings: ['failing'], oldestDueMs: 2 * HOUR },
    { hold: { ...HELD, isByBreaker: true }, oldestDueMs: HOUR },
    { warnings: ['signature_rejected', 'backpressure'], hold: HELD },
    { oldestDueMs: 2 * HOUR },
    { oldestDueMs: HOUR },
    { warnings: ['slow_receiver'] },
    { hold: HELD, oldestDueMs: HOUR, warnings: ['failing'] },
    { warnings: ['backpressure'] },
    { isPaused: true, hold: HELD, oldestDueMs: 100 * HOUR },
    { isPaused: true, warnings: ['signature_rejected'] },
    {},
  ];
  const troubles = ordered.map(trouble);
  expect(troubles.toSorted((one, other) => other - one)).toEqual(troubles);
  expect(new Set(troubles).size).toBe(troubles.length);
  // Queues that need no hand are in the order of their age.
  expect([{ oldestDueMs: 1000 }, {}].map(trouble)).toEqual([0, 0]);
});

it('is a number that a cursor can hold', () => {
  const worst = trouble({ warnings: ['failing'], cost: 1e15, oldestDueMs: 1e15 });
  expect(Number.isSafeInteger(worst)).toBe(true);
});
