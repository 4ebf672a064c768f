import { describe, expect, it } from 'vitest';
import { wayOutOf } from '../../packages/dashboard/features/queues/model/condition-words.ts';
import {
  type Condition,
  type Depth,
  type Flow,
  mayEndHold,
  type QueueNow,
} from '../../packages/dashboard/features/queues/model/queue-condition.ts';
import {
  problemOf,
  problemOfSeveral,
  wayOutOfSeveral,
} from '../../packages/dashboard/features/queues/model/queue-problem.ts';
import {
  brief,
  deadCountsOf,
  failedShare,
  oldestDue,
  sumOfDead,
  waitFigure,
} from '../../packages/dashboard/features/queues/model/queue-row.ts';
import { textOfPhrase } from '../../packages/dashboard/words/phrase.ts';
import { NO_FLOW } from '../support/no-flow.ts';

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');
const view = { now: Date.parse('2026-11-12T12:04:11Z'), zone: 'utc' } as const;
const at = (clock: string) => `2026-11-12T${clock}Z`;
const depth: Depth = {
  due: 0,
  scheduled: 0,
  retrying: 0,
  held: 0,
  processing: 0,
  awaitingAck: 0,
  nextDueAt: null,
  firstAckDeadline: null,
};
const health: NonNullable<QueueNow['health']> = {
  answered2xx: 0,
  answered3xx: 0,
  answered4xx: 0,
  answered5xx: 0,
  unauthorized: 0,
  backpressure: 0,
  unanswered: 0,
  duration: { p50: 200, p95: 4200 },
  warnings: [],
  lastFailure: null,
  past: null,
  attempts: 100,
  failed: 0,
  deferred: 0,
};
const queue = {
  name: 'orders',
  concurrency: 20,
  ackTimeout: 300,
  inFlight: 3,
  paused: false,
  pause: null,
  hold: null,
  breaker: null,
  oldestDueSeconds: null,
  rateLimitWindow: 60,
  rateWindow: null,
  depth,
  health,
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

const failing = { attempts: 7, failed: 7, unanswered: 7, warnings: [{ warning: 'FAILING' as const, message: '' }] };
const ROWS: [change: Partial<QueueNow>, lead: string, rest: string, flow?: Partial<Flow>][] = [
  [
    { paused: true, pause: { since: at('11:20:00'), by: 'ann' }, depth: { ...depth, due: 96 } },
    'Paused since 11:20:00 by ann.',
    '96 jobs wait, nothing is lost.',
  ],
  [
    { health: { ...health, ...failing } },
    'No valid answer from the receiver:',
    'all 7 attempts of the last hour failed.',
  ],
  [
    {
      health: {
        ...health,
        ...failing,
        lastFailure: { at: at('11:21:07'), succeededSince: 0, error: 'no_descriptors' },
      },
    },
    'No valid answer from the receiver:',
    'all 7 attempts of the last hour failed, the last one at 11:21:07 because Jobferry could not send it (no_descriptors).',
  ],
  [
    {
      inFlight: 20,
      oldestDueSeconds: 520,
      depth: { ...depth, due: 18_204 },
    },
    'Falling behind:',
    '35 jobs per second came in during the last minute, and 31 were finished from 11:50 to 12:00.',
    { in: 35, out: 31, span: SPAN },
  ],
  [{}, 'Idle.', 'No job is waiting.'],
];

describe('a queue that needs attention', () => {
  it.each(ROWS)('%j: says its condition first, and then what its page says', (change, lead, rest, flow = {}) => {
    const problem = problemOf({ ...queue, ...change }, { ...NO_FLOW, ...flow }, view);
    expect([problem.lead, problem.rest].map((pieces) => plain(textOfPhrase(pieces)).trim())).toEqual([lead, rest]);
  });

  it('has one way out', () => {
    const out = (condition: Condition, change: Partial<QueueNow> = {}) => wayOutOf(condition, { ...queue, ...change });
    expect(out('paused')).toEqual({ label: 'Resume', mutation: 'resumeQueue' });
    expect(out('held', { hold })).toEqual({ label: 'See the job', path: `/jobs/${job}` });
    expect(out('held', { hold: { ...hold, askedBy: null } })).toMatchObject({
      path: '/jobs?q=state:held,due+queue:orders',
    });
    expect(out('probing', { hold: { ...hold, probe: { id: job } } })).toMatchObject({ path: `/jobs/${job}` });
    expect(out('failing')).toMatchObject({ path: '/jobs?q=state:retrying,dead+queue:orders' });
    expect(out('behind')).toEqual({ label: 'Edit limits', path: '/queues/orders/edit', mutation: 'updateQueue' });
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
      count,
      queue: id === null ? null : { id },
    });
    const { byQueue, isExact } = deadCountsOf([group(3, 'a'), group(4, 'b'), group(5, 'a'), group(1, null)]);
    expect([...byQueue, isExact]).toEqual([['a', 8], ['b', 4], true]);
    expect(deadCountsOf(Array.from({ length: 100 }, () => group(1, 'a'))).isExact).toBe(false);
    const sum = (ids: string[], isPart = false, isCounted = isExact) =>
      sumOfDead({ byQueue, isExact: isCounted }, ids, isPart);
    expect([sum(['a', 'b', 'c']), sum(['b'], true), sum(['b'], false, false)]).toEqual(['12', '4+', '4+']);
    expect([sum(['c']), sum(['c'], true), sum(['c'], false, false)]).toEqual(['0', '–', '–']);
  });
});

it('says of several queues how many they are, names three, and sums up', () => {
  const named = (count: number) =>
    ['orders', 'mails', 'bills', 'images', 'search'].slice(0, count).map((name) => ({
      ...queue,
      name,
      depth: { ...depth, due: 300 },
      health: { ...health, failed: 100 },
    }));
  const said = (condition: Condition, count: number) => {
    const { lead, rest } = problemOfSeveral(condition, named(count), view);
    return plain(`${textOfPhrase(lead)} ${textOfPhrase(rest)}`);
  };
  expect(said('failing', 5)).toBe(
    'Failing: 5 queues. orders, mails, bills and 2 more. 500 of 500 attempts of the last hour failed.',
  );
  expect(said('paused', 3)).toBe('Paused: 3 queues. orders, mails and bills. 900 jobs wait.');
  expect(said('breaker', 2)).toBe('Breaker open: 2 queues. orders and mails. 600 jobs wait.');
});

it('says of several queues what most of their failures, and their last ones, have in common', () => {
  const failed = (name: string, unanswered: number, error: string) => ({
    ...queue,
    name,
    health: {
      ...health,
      failed: 40,
      unanswered,
      answered5xx: 40 - unanswered,
      lastFailure: { at: at('11:21:07'), succeededSince: 0, error },
    },
  });
  const said = (...queues: ReturnType<typeof failed>[]) => {
    const { lead, rest } = problemOfSeveral('failing', queues, view);
    return plain(`${textOfPhrase(lead)} ${textOfPhrase(rest)}`);
  };
  const refused = failed('orders', 38, 'connection_refused');
  const numbers = 'orders and mails. 80 of 200 attempts of the last hour failed';
  expect(said(refused, failed('mails', 40, 'connection_refused'))).toBe(
    `No valid answer from the receiver: 2 queues. ${numbers}, the last one of each queue because it refused the connection.`,
  );
  expect(said(refused, failed('mails', 40, 'dns_error'))).toBe(
    `No valid answer from the receiver: 2 queues. ${numbers}.`,
  );
  expect(said(refused, failed('mails', 3, 'connection_refused'))).toBe(
    `Failing: 2 queues. ${numbers}, the last one of each queue because the receiver refused the connection.`,
  );
});

it('says of several paused queues since when, and by whom', () => {
  const paused = (...pauses: (readonly [clock: string, by: string])[]) => {
    const queues = pauses.map(([clock, by], index) => ({
      ...queue,
      name: `q${index}`,
      paused: true,
      pause: { since: at(clock), by },
    }));
    return plain(textOfPhrase(problemOfSeveral('paused', queues, view).rest));
  };
  expect(paused(['11:20:00', 'ann'], ['11:20:00', 'ann'])).toBe('q0 and q1, since 11:20:00 by ann. 0 jobs wait.');
  expect(paused(['11:50:00', 'bob'], ['11:20:00', 'ann'])).toBe(
    'q0 and q1, the first since 11:20:00, by bob and ann. 0 jobs wait.',
  );
});

it('leads from several queues to these, not to all of their receiver', () => {
  expect(wayOutOfSeveral('failing', '127.0.0.1:19001')).toEqual({
    label: 'See the queues',
    path: '/queues?q=receiver:127.0.0.1:19001+is:failing',
  });
});
