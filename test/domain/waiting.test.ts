import { describe, expect, it } from 'vitest';
import { WAIT_REASONS, type WaitingJob, type WaitingQueue, whyWaiting } from '../../src/domain/waiting.ts';
import { NOW } from '../support/job-states.ts';

const now = new Date(NOW);
const inSeconds = (seconds: number) => new Date(NOW + seconds * 1000);
const iso = (seconds: number) => inSeconds(seconds).toISOString();

const job: WaitingJob = { scheduledFor: inSeconds(-1), waitReason: null, lastError: null, attempts: 0, maxAttempts: 3 };
const later = (seconds: number): Partial<WaitingJob> => ({ scheduledFor: inSeconds(seconds) });
const backoff: Partial<WaitingJob> = { waitReason: 'backoff', lastError: 'HTTP 500', attempts: 2 };
const hold: Partial<WaitingJob> = { waitReason: 'hold', lastError: 'HTTP 429' };

const queue: WaitingQueue = {
  deleted: false,
  paused: null,
  hold: null,
  probeJobId: null,
  inFlight: 0,
  awaitingAck: 0,
  concurrency: 5,
  rate: null,
};
const paused = { since: inSeconds(-60), by: 'jf_abc…wxyz' };
const held = (seconds: number) => ({ until: inSeconds(seconds), jobId: 'a1', reason: 'busy' });
const full = { inFlight: 5 };
const rate = (used: number, seconds: number) => ({ used, max: 10, resetsAt: inSeconds(seconds) });
const everything = { paused, hold: held(60), probeJobId: 'b2', rate: rate(10, 30), ...full };

type Case = [
  what: string,
  job: Partial<WaitingJob>,
  queue: Partial<WaitingQueue>,
  reason: (typeof WAIT_REASONS)[number],
  earliest: number | null,
  message: string,
];

const CASES: Case[] = [
  ['nothing', {}, {}, 'due', 0, 'turn'],
  ['nothing any more', { ...later(0), ...backoff }, { hold: held(0), rate: rate(10, 0) }, 'due', 0, 'turn'],
  ['a window with room', {}, { rate: rate(9, 30) }, 'due', 0, 'turn'],
  ['a deleted queue', later(9), { ...everything, deleted: true }, 'queue_deleted', null, 'deleted'],
  ['a pause', later(9), everything, 'paused', null, `paused by jf_abc…wxyz since ${iso(-60)}`],
  ['its delay', later(9), {}, 'delayed', 9, `Delayed until ${iso(9)}`],
  ['its delay, for longer than all else', later(99), { ...everything, paused: null }, 'delayed', 99, iso(99)],
  ['a backoff', { ...later(9), ...backoff }, {}, 'backoff', 9, `until ${iso(9)} after “HTTP 500”: attempt 2 of 3`],
  [
    ...([
      'a backoff after an address that is not allowed',
      { ...later(9), ...backoff, lastError: 'address_not_allowed' },
    ] as const),
    ...([
      {},
      'backoff',
      9,
      'attempt 2 of 3 failed. The address of the webhook is not public: the operator can allow it',
    ] as const),
  ],
  [
    'a delivery that could not begin',
    { ...later(9), ...backoff, lastError: 'proxy_unreachable', attempts: 0 },
    ...([{}, 'backoff', 9, 'after “proxy_unreachable”. Jobferry cannot reach its own proxy'] as const),
  ],
  ['a hold of its own', { ...later(9), ...hold }, {}, 'held', 9, `Held until ${iso(9)} after “HTTP 429”`],
  [
    'a probe of a breaker that failed',
    { ...later(9), ...hold, lastError: 'HTTP 502' },
    ...([{ hasBreaker: true }, 'held', 9, 'it was the probe of a breaker, which uses up no attempt'] as const),
  ],
  [
    'a defer whose reason is the name of an error',
    { ...later(9), ...hold, lastError: 'timeout' },
    ...([{}, 'held', 9, 'after “timeout”: the receiver requested a delay'] as const),
  ],
  [
    'a breaker that is open',
    {},
    { hold: { ...held(60), byBreaker: true } },
    ...(['queue_held', 60, `its receiver fails: the next probe is at ${iso(60)}`] as const),
  ],
  ['its hold, as long as the queue’s', { ...later(9), ...hold }, { hold: held(9) }, 'held', 9, iso(9)],
  ['a held queue', {}, { hold: held(60) }, 'queue_held', 60, `until ${iso(60)}, as job a1 requested: “busy”`],
  ['a held queue, after its backoff', { ...later(9), ...backoff }, { hold: held(60) }, 'queue_held', 60, iso(60)],
  ['a queue held again while its probe runs', {}, { hold: held(60), probeJobId: 'b2' }, 'queue_held', 60, iso(60)],
  ['a hold without a name', {}, { hold: { until: inSeconds(5), jobId: null, reason: null } }, 'queue_held', 5, iso(5)],
  ['a probe', {}, { hold: held(0), probeJobId: 'b2' }, 'probe_in_flight', null, 'job b2'],
  ['a probe that will not matter', later(9), { hold: held(0), probeJobId: 'b2' }, 'delayed', 9, iso(9)],
  ['a probe in the last slot', {}, { probeJobId: 'b2', ...full }, 'probe_in_flight', null, 'job b2'],
  ['the concurrency', {}, full, 'concurrency', null, '5 of 5'],
  ['a concurrency that was lowered', {}, { inFlight: 5, concurrency: 2 }, 'concurrency', null, '5 of 2'],
  ['its delay, whatever the concurrency', later(9), full, 'delayed', 9, iso(9)],
  ['the rate window', {}, { rate: rate(10, 30) }, 'rate_limit', 30, `10 per window is used up until ${iso(30)}`],
  ['the rate window of a lowered limit', {}, { rate: rate(12, 30), ...full }, 'rate_limit', 30, iso(30)],
  ['its delay, until after the window', later(40), { rate: rate(10, 30) }, 'delayed', 40, iso(40)],
];

describe('a job waits for', () => {
  it.each(CASES)('%s', (_what, jobFacts, queueFacts, reason, earliest, message) => {
    const waiting = whyWaiting({ ...job, ...jobFacts }, { ...queue, ...queueFacts }, now);
    expect(waiting).toMatchObject({ reason, earliestAt: earliest === null ? null : inSeconds(earliest) });
    expect(waiting.message).toContain(message);
  });

  it('every reason that there is', () => {
    const seen = new Set(CASES.map(([, , , reason]) => reason));
    expect(WAIT_REASONS.filter((reason) => !seen.has(reason))).toEqual([]);
  });
});
