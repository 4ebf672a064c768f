import { describe, expect, it } from 'vitest';
import {
  type Condition,
  type Depth,
  type Flow,
  mayEndHold,
  NO_FLOW,
  type QueueNow,
} from '../../src/dashboard/features/queues/model/queue-condition.ts';
import { problemOf, problemOfSeveral, wayOutOf } from '../../src/dashboard/features/queues/model/queue-problem.ts';
import {
  brief,
  deadCountsOf,
  failedShare,
  oldestDue,
  waitFigure,
} from '../../src/dashboard/features/queues/model/queue-row.ts';
import { textOfPhrase } from '../../src/dashboard/words/phrase.ts';

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');
const view = { now: Date.parse('2026-11-12T12:04:11Z'), zone: 'utc' } as const;
const at = (clock: string) => `2026-11-12T${clock}Z`;
const depth: Depth = {
  ...{ due: 0, scheduled: 0, retrying: 0, held: 0, processing: 0, awaitingAck: 0 },
  ...{ nextDueAt: null, firstAckDeadline: null },
};
const health: NonNullable<QueueNow['health']> = {
  ...{ answered2xx: 0, answered3xx: 0, answered4xx: 0, answered5xx: 0 },
  ...{ unauthorized: 0, backpressure: 0, unanswered: 0, duration: { p50: 200, p95: 4200 }, warnings: [] },
  ...{ lastFailure: null, past: null, attempts: 100, failed: 0, deferred: 0 },
};
const queue = {
  ...{
    name: 'orders',
    concurrency: 20,
    ackTimeout: 300,
    inFlight: 3,
    paused: false,
    pause: null,
    hold: null,
    breaker: null,
    oldestDueSeconds: null,
  },
  ...{ rateLimitWindow: 60, rateWindow: null, depth, health },
};
const SPAN = { from: Date.parse(at('11:50:00')), to: Date.parse(at('12:00:00')) };
const job = `${'0'.repeat(19)}c31f0`;
const hold = {
  since: null,
  byBreaker: false,
  until: at('12:05:30'),
  reason: 'tokens used up',
  askedBy: { id: job },
  probe: null,
};

const ROWS: [condition: Condition, change: Partial<QueueNow>, text: string, flow?: Partial<Flow>][] = [
  [
    'paused',
    { pause: { since: at('11:20:00'), by: 'jf_8Zr…k2Qm' }, depth: { ...depth, due: 96 } },
    'Paused since 11:20:00 | by jf_8Zr…k2Qm. 96 jobs wait; nothing is lost.',
  ],
  [
    'signature',
    { health: { ...health, answered2xx: 28, unauthorized: 312 } },
    'Signature rejected. | 312 of 340 answers of the last hour were 401.',
  ],
  [
    'held',
    { hold, depth: { ...depth, held: 1 } },
    'Held for 1 min 19 s more. | The reason given is “tokens used up”. 1 job waits; no attempt is used.',
  ],
  ['held', { hold: { ...hold, reason: null } }, 'Held for 1 min 19 s more. | 0 jobs wait; no attempt is used.'],
  [
    'probing',
    { hold: { ...hold, probe: { id: job } } },
    'Probing. | Job …c31f0 finds out whether it may go on. 0 jobs wait.',
  ],
  [
    'failing',
    { health: { ...health, answered2xx: 10, answered5xx: 80, unanswered: 10, failed: 90 } },
    'The receiver answered 5xx. | 90 of 100 attempts of the last hour failed.',
  ],
  [
    'failing',
    { health: { ...health, unanswered: 7, failed: 7, attempts: 7 } },
    'The receiver did not answer. | All 7 attempts of the last hour failed.',
  ],
  [
    'failing',
    { health: { ...health, answered4xx: 5, answered5xx: 5, failed: 10, attempts: 10 } },
    'Failing. | All 10 attempts of the last hour failed.',
  ],
  [
    'failing',
    {
      health: {
        ...{ ...health, unanswered: 100, failed: 100 },
        lastFailure: { at: at('11:21:07'), succeededSince: 0, error: 'tls_error' },
      },
    },
    'The receiver’s certificate was rejected. | All 100 attempts of the last hour failed, the last at 11:21:07.',
  ],
  // The last failure is not what most have in common.
  [
    'failing',
    {
      health: {
        ...{ ...health, answered5xx: 90, unanswered: 10, failed: 100 },
        lastFailure: { at: at('11:21:07'), succeededSince: 0, error: 'timeout' },
      },
    },
    'The receiver answered 5xx. | All 100 attempts of the last hour failed, the last at 11:21:07.',
  ],
  // The worker did not report on what the receiver had accepted.
  [
    'failing',
    {
      health: {
        ...{ ...health, answered2xx: 100, failed: 100 },
        lastFailure: { at: at('11:21:07'), succeededSince: 0, error: 'ack_timeout' },
      },
    },
    'The worker did not report in time. | All 100 attempts of the last hour failed, the last at 11:21:07.',
  ],
  [
    'behind',
    { inFlight: 20, oldestDueSeconds: 520, depth: { ...depth, due: 18_204 } },
    'Falling behind. | 35 jobs per second came in from 11:50 to 12:00, 31 were finished. 18 204 are due, the oldest for 8 min 40 s. 20 of 20 slots are in use.',
    { in: 35, out: 31, span: SPAN },
  ],
  [
    'behind',
    { oldestDueSeconds: 61, depth: { ...depth, due: 4 } },
    'Falling behind. | Fewer than 0.1 jobs per second came in from 11:50 to 12:00, 0 were finished. 4 are due, the oldest for 1 min 1 s.',
    { in: 0.02, out: 0, span: SPAN },
  ],
  [
    'behind',
    { rateWindow: { used: 5, max: 5, resetsAt: at('12:05:00') }, oldestDueSeconds: 61, depth: { ...depth, due: 1 } },
    'Behind. | 1 is due, the oldest for 1 min 1 s. The rate limit is used up.',
  ],
  [
    'catching-up',
    { oldestDueSeconds: 300, depth: { ...depth, due: 600 } },
    'Catching up. | 600 are due, the oldest for 5 min; at 12 per second until about 12:05.',
    { in: 2, out: 12 },
  ],
  [
    'awaiting',
    {
      ...{ concurrency: 5, inFlight: 5, oldestDueSeconds: 3172 },
      depth: { ...depth, due: 4, awaitingAck: 5, firstAckDeadline: at('13:00:00') },
    },
    'Waiting for reports. | 5 of 5 slots wait for a report, none has come for at least 54 min 11 s; the first time-out is at 13:00:00. 4 are due, the oldest for 52 min 52 s.',
    { in: 0, out: 0, quietSince: Date.parse(at('11:10:00')) },
  ],
  [
    'stuck',
    { inFlight: 0, oldestDueSeconds: 700, depth: { ...depth, due: 4 } },
    'Stuck. | 4 are due, the oldest for 11 min 40 s. No attempt has ended for at least 19 min 11 s.',
    { in: 0, out: 0, quietSince: Date.parse(at('11:45:00')) },
  ],
  ['slow', {}, 'Slow receiver. | One delivery in twenty of the last hour took about 4.2 s or longer.'],
  [
    'pressure',
    { health: { ...health, answered2xx: 60, backpressure: 40, deferred: 40 } },
    'Backpressure. | The receiver deferred 40 of 100 attempts of the last hour.',
  ],
  ['moving', { depth: { ...depth, due: 2 } }, 'Healthy again. | 2 jobs are open.'],
  ['idle', {}, 'Healthy again. | Nothing waits.'],
];

describe('a queue that needs a look', () => {
  it.each(ROWS)('%s: says what is wrong', (condition, change, text, flow = {}) => {
    const { lead, rest } = problemOf(condition, { ...queue, ...change }, { ...NO_FLOW, ...flow }, view);
    expect(plain(`${textOfPhrase(lead)} | ${textOfPhrase(rest)}`)).toBe(text);
  });

  it('has one way out', () => {
    const out = (condition: Condition, change: Partial<QueueNow> = {}) => wayOutOf(condition, { ...queue, ...change });
    expect(out('paused')).toEqual({ label: 'Resume', deed: 'resumeQueue' });
    expect(out('held', { hold })).toEqual({ label: 'See the job', path: `/jobs/${job}` });
    expect(out('held', { hold: { ...hold, askedBy: null } })).toMatchObject({
      path: '/jobs?q=state:held,due+queue:orders',
    });
    expect(out('probing', { hold: { ...hold, probe: { id: job } } })).toMatchObject({ path: `/jobs/${job}` });
    expect(out('failing')).toMatchObject({ path: '/jobs?q=state:retrying,dead+queue:orders' });
    expect(out('behind')).toEqual({ label: 'Edit limits', path: '/queues/orders/edit', deed: 'updateQueue' });
    // More slots would wait for reports, too.
    const awaiting = { concurrency: 5, inFlight: 5, depth: { ...depth, awaitingAck: 5 } };
    expect(out('behind', awaiting)).toMatchObject({ path: '/jobs?q=state:awaiting-ack+queue:orders' });
    expect(out('moving')).toMatchObject({ path: '/queues/orders' });
  });
});

describe('a hold', () => {
  it('is ended by a person, and a probe asked for, where that does something', () => {
    const may = (change: Partial<NonNullable<QueueNow['hold']>>, more: Partial<QueueNow> = {}) =>
      mayEndHold({ ...queue, hold: { ...hold, ...change }, ...more }, view.now);
    const past = { until: at('11:00:00') };
    const held = { depth: { ...depth, held: 1 } };
    expect([may({}), may(past), may({}, { paused: true })]).toEqual([true, true, true]);
    const byBreaker = { byBreaker: true };
    expect([may(byBreaker), may(byBreaker, { paused: true })]).toEqual([true, false]);
    // Due already: it waits for a job.
    expect([may({ ...past, ...byBreaker }), may({ ...past, ...byBreaker }, held)]).toEqual([false, true]);
    expect(may({ ...past, ...byBreaker, probe: { id: job } }, held)).toBe(false);
    expect(may({ ...past, ...byBreaker }, { ...held, paused: true })).toBe(false);
  });
});

describe('the figures of a row', () => {
  it('fit into a narrow column', () => {
    const texts = [0, 90.4, 400, 1250, 59_999, 60_000, 8.7 * 60_000, 3 * 3_600_000, 50 * 3_600_000].map(brief);
    expect(texts.map(plain)).toEqual(['0 ms', '90 ms', '400 ms', '1.2 s', '59 s', '1 min', '8 min', '3 h', '2 d']);
  });

  it('are a worry from a time on, and a trouble from another', () => {
    const worries = [null, 30, 31, 301].map((oldestDueSeconds) => oldestDue({ ...queue, oldestDueSeconds }).worry);
    expect(worries).toEqual(['', '', 'worry', 'trouble']);
    expect(oldestDue({ ...queue, paused: true, oldestDueSeconds: 301 }).worry).toBe('worry');
    expect(waitFigure(null).text).toBe('–');
  });

  it('say the share that failed, and never none where there is one', () => {
    const share = (failed: number, succeeded: number) => {
      const { text, worry } = failedShare({ failed, all: failed + succeeded });
      return `${plain(text)} ${worry}`.trim();
    };
    expect([share(0, 0), share(0, 5), share(1, 9999), share(1, 999), share(5, 95), share(92, 8)]).toEqual([
      ...['–', '0 %', 'under 0.1 %', '0.1 %', '5 % worry', '92 % trouble'],
    ]);
  });

  it('sum up the dead letters of a queue', () => {
    const group = (count: number, id: string | null) => ({
      ...{ count, queue: id === null ? null : { id } },
    });
    const { byQueue, isExact } = deadCountsOf([group(3, 'a'), group(4, 'b'), group(5, 'a'), group(1, null)]);
    expect([...byQueue, isExact]).toEqual([['a', 8], ['b', 4], true]);
    expect(deadCountsOf(Array.from({ length: 100 }, () => group(1, 'a'))).isExact).toBe(false);
  });
});

it('says of several queues how many they are, names three, and sums up', () => {
  const named = (count: number) =>
    ['orders', 'mails', 'bills', 'images', 'search'].slice(0, count).map((name) => ({
      ...{ ...queue, name, depth: { ...depth, due: 300 } },
      health: { ...health, failed: 100 },
    }));
  const said = (condition: Condition, count: number) => {
    const { lead, rest } = problemOfSeveral(condition, named(count));
    return plain(`${textOfPhrase(lead)} ${textOfPhrase(rest)}`);
  };
  expect(said('failing', 5)).toBe(
    'Failing: 5 queues. orders, mails, bills and 2 more. 500 of 500 attempts of the last hour failed.',
  );
  expect(said('paused', 3)).toBe('Paused: 3 queues. orders, mails and bills. 900 jobs wait.');
  expect(said('breaker', 2)).toBe('Breaker open: 2 queues. orders and mails. 600 jobs wait.');
});
