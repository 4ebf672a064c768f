import { beforeEach, describe, expect, it } from 'vitest';
import { ClaimPlanner, type Plan, type SharingQueue } from '../../src/worker/dispatch/claim-planner.ts';

const CAPACITY = 1000;
const MAX_CLAIMS = 3;
const MIB = 1024 * 1024;

let planner: ClaimPlanner<SharingQueue>;

beforeEach(() => {
  planner = new ClaimPlanner(CAPACITY, MAX_CLAIMS);
});

function queueOf(accountId: string): SharingQueue {
  return { accountId, slots: 0, bytes: 0 };
}

/** Every claim gives all jobs that it may take, of so many bytes each, and they hang. */
function claimAll(plans: Plan<SharingQueue>[], bytes = 2, durationMs = 1): void {
  planner.claimed(plans, durationMs);
  for (const { queue, jobs, bytes: most } of plans) {
    const count = Math.min(jobs, Math.ceil(most / bytes));
    for (let n = 0; n < count; n += 1) planner.begin(queue, bytes);
  }
}

/** Lets the queues take all that they get, as receivers that never answer make them. */
function hang(queues: SharingQueue[], bytes = 2): void {
  for (let plans = [{}]; plans.length > 0; ) {
    for (const queue of queues) planner.add(queue);
    const next = planner.next();
    claimAll(next, bytes);
    plans = next;
  }
  planner.clear();
}

const sum = (queues: SharingQueue[], of: 'slots' | 'bytes') => queues.reduce((total, queue) => total + queue[of], 0);

describe('slots', () => {
  it('go mostly to one account while no other has work, and to its queues', () => {
    const queues = [queueOf('a'), queueOf('a'), queueOf('a')];
    hang(queues);
    expect(sum(queues, 'slots')).toBeGreaterThan(0.65 * CAPACITY);
    expect(sum(queues, 'slots')).toBeLessThanOrEqual(0.72 * CAPACITY);
    // Another queue of the account, and another account.
    expect(planner.hasRoom('a', queueOf('a'))).toBe(true);
    const newcomer = queueOf('b');
    hang([newcomer]);
    expect(newcomer.slots).toBeGreaterThan(50);
  });

  it.each([1, 2, 5, 20])(
    'are left for a newcomer, when %i accounts came one after the other and hang on all',
    (count) => {
      const greedy = Array.from({ length: count }, (_, n) => queueOf(`greedy-${n}`));
      for (const queue of greedy) hang([queue]);
      const newcomer = queueOf('newcomer');
      hang([newcomer]);
      expect(newcomer.slots).toBeGreaterThanOrEqual(Math.floor(100 / (count + 10)));
      // The share that it gives back is there for it again, and not for those with more.
      planner.end(newcomer, 2);
      hang(greedy);
      expect(planner.hasRoom('newcomer', newcomer)).toBe(true);
    },
  );

  it('returned slots go mostly to accounts that have fewer', () => {
    const [first, second] = [queueOf('first'), queueOf('second')];
    hang([first]);
    hang([second]);
    for (let n = 0; n < 200; n += 1) planner.end(first, 2);
    const before = [first.slots, second.slots];
    hang([first, second]);
    const [more = 0, most = 0] = [first, second].map(({ slots }, n) => slots - (before[n] ?? 0));
    expect(most).toBeGreaterThan(more);
    expect(most).toBeGreaterThan(100);
  });

  it.each([1, 2, 10, 100])('one queue uses at least half of the slots of a process with %i of them', (capacity) => {
    planner = new ClaimPlanner(capacity, MAX_CLAIMS);
    const queue = queueOf('a');
    hang([queue]);
    expect(queue.slots).toBeGreaterThanOrEqual(Math.max(1, Math.floor(capacity * 0.5)));
    expect(queue.slots).toBeLessThanOrEqual(capacity);
    planner.end(queue, 2);
    expect(planner.hasRoom('a', queue)).toBe(true);
  });

  it('are all free again when everything has ended', () => {
    const queues = [queueOf('a'), queueOf('b')];
    hang(queues);
    for (const queue of queues) while (queue.slots > 0) planner.end(queue, 2);
    const other = queueOf('c');
    hang([other]);
    expect(other.slots).toBeGreaterThan(0.6 * CAPACITY);
  });
});

describe('payload bytes', () => {
  it.each([1, 4])('are left for a newcomer beside %i accounts with large payloads', (count) => {
    const greedy = Array.from({ length: count }, (_, n) => queueOf(`greedy-${n}`));
    hang(greedy, MIB);
    expect(sum(greedy, 'bytes')).toBeLessThan(32 * MIB);
    expect(Math.max(...greedy.map(({ bytes }) => bytes))).toBeLessThanOrEqual(12 * MIB);
    expect(planner.hasRoom('newcomer', queueOf('newcomer'))).toBe(true);
    // Another queue of the account, too, if it had the process to itself.
    expect(planner.hasRoom('greedy-0', queueOf('greedy-0'))).toBe(count === 1);
  });

  it('never keep an account with nothing in flight from one job, however large', () => {
    const greedy = Array.from({ length: 3 }, (_, n) => queueOf(`greedy-${n}`));
    hang(greedy, 64 * MIB);
    expect(greedy.map(({ slots }) => slots)).toEqual([1, 1, 1]);
  });
});

describe('turns', () => {
  it('go round the accounts, whatever the number of their queues', () => {
    for (let n = 0; n < 1000; n += 1) planner.add(queueOf('many'));
    const one = queueOf('one');
    planner.add(one);
    const first = planner.next();
    expect(first).toHaveLength(16);
    expect(first.map(({ queue }) => queue)).toContain(one);
    claimAll(first);
    planner.add(one);
    expect(planner.next().map(({ queue }) => queue)).toContain(one);
  });

  it('leave one claim to others', () => {
    for (let n = 0; n < 100; n += 1) planner.add(queueOf('many'));
    expect([planner.next().length, planner.next().length, planner.next().length]).toEqual([16, 16, 0]);
    planner.add(queueOf('other'));
    expect(planner.next()).toHaveLength(1);
  });

  it('are taken alone by an account whose claims are slow, until one is not', () => {
    const accounts = ['slow', 'a', 'b'];
    const addAll = () => accounts.map((account) => planner.add(queueOf(account)));
    const accountsOf = (plans: Plan<SharingQueue>[]) => plans.map(({ queue }) => queue.accountId);
    planner.add(queueOf('slow'));
    planner.claimed(planner.next(), 2000);
    addAll();
    const claims = [planner.next(), planner.next()].toSorted((a, b) => a.length - b.length);
    expect(claims.map(accountsOf)).toEqual([['slow'], ['a', 'b']]);
    for (const plans of claims) planner.claimed(plans, 5);
    addAll();
    expect(accountsOf(planner.next()).toSorted()).toEqual(['a', 'b', 'slow']);
  });

  it('share 320 jobs and 4 MiB of payloads in a claim', () => {
    const queues = Array.from({ length: 16 }, (_, n) => queueOf(`account-${n}`));
    for (const queue of queues) planner.add(queue);
    const plans = planner.next();
    expect(plans.map(({ jobs }) => jobs)).toEqual(Array(16).fill(20));
    expect(plans.map(({ bytes }) => bytes)).toEqual(Array(16).fill(MIB / 4));
    planner.claimed(plans, 1);
    planner.add(queues[0] as SharingQueue);
    expect(planner.next()).toMatchObject([{ jobs: 100, bytes: 4 * MIB }]);
  });
});
