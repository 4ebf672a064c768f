import { describe, expect, it } from 'vitest';
import { CONDITIONS } from '../../packages/dashboard/features/queues/model/condition-words.ts';
import {
  type Condition,
  compareTrouble,
  conditionOf,
  type Depth,
  type Flow,
  needsLook,
  type QueueNow,
} from '../../packages/dashboard/features/queues/model/queue-condition.ts';
import {
  leadOfQueue,
  limitOfQueue,
  sentenceOfQueue,
  slotsNeeded,
} from '../../packages/dashboard/features/queues/model/queue-sentence.ts';
import { textOfPhrase } from '../../packages/dashboard/words/phrase.ts';
import { severityOf } from '../../src/domain/queue-condition.ts';
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
  attempts: 100,
  failed: 0,
  deferred: 0,
  duration: { p50: 200, p95: 4200 },
  lastFailure: null,
  past: null,
  warnings: [],
};
const queue: QueueNow = {
  concurrency: 20,
  ackTimeout: 3600,
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
/** Attempts before the hour, all of which failed unless the change says otherwise. */
const pastOf = (failed: number, more: Partial<NonNullable<NonNullable<QueueNow['health']>['past']>> = {}) => ({
  attempts: failed,
  failed,
  answered3xx: 0,
  answered4xx: 0,
  answered5xx: 0,
  unauthorized: 0,
  unanswered: failed,
  ...more,
});
const warned = (warning: 'BACKPRESSURE' | 'FAILING' | 'SIGNATURE_REJECTED' | 'SLOW_RECEIVER', more = {}) => ({
  health: { ...health, ...more, warnings: [{ warning, message: '' }] },
});

const SPAN = { from: Date.parse(at('11:50:00')), to: Date.parse(at('12:00:00')) };
const QUIET = { in: 0, out: 0, accepted: 0, span: SPAN };

type Row = [condition: Condition, change: Partial<QueueNow>, sentence: string, flow?: Partial<Flow>];
const ROWS: Row[] = [
  [
    'deleted',
    { deletedAt: at('11:00:00'), keptUntil: '2026-11-15T11:00:00Z' },
    'Deleted at 11:00:00. Its jobs are kept until 15 Nov, 11:00:00.',
  ],
  [
    'paused',
    { paused: true, pause: { since: at('11:20:00'), by: 'jf_4kQ…x7Pd' }, depth: { ...depth, due: 96 } },
    'Paused since 11:20:00 by jf_4kQ…x7Pd. 96 jobs wait, nothing is lost.',
  ],
  [
    'signature',
    // Attempts without an answer are no answers.
    warned('SIGNATURE_REJECTED', { answered2xx: 2, unauthorized: 118, unanswered: 30 }),
    'The receiver rejects the signature: 118 of 120 answers of the last hour were 401.',
  ],
  [
    'breaker',
    {
      hold: { since: null, byBreaker: true, until: at('12:05:30'), reason: 'HTTP 502', askedBy: null, probe: null },
      breaker: { failures: 10, seconds: null, failedInRow: 14, openedAt: at('11:58:00'), failedProbes: 4 },
      depth: { ...depth, due: 9990 },
    },
    'The receiver is down. Its breaker has been open since 11:58:00: 14 answers in a row failed, the last was “HTTP 502”. The next probe is at 12:05:30. 9 990 jobs wait.',
  ],
  [
    'held',
    {
      hold: { since: null, byBreaker: false, until: at('12:05:30'), reason: 'maintenance', askedBy: null, probe: null },
      depth: { ...depth, due: 1 },
    },
    'Held for 1 min 19 s more, until 12:05:30: “maintenance”. 1 job waits.',
  ],
  [
    'probing',
    {
      hold: {
        since: null,
        byBreaker: false,
        until: at('12:04:00'),
        reason: null,
        askedBy: null,
        probe: { id: `${'0'.repeat(19)}c31f0` },
      },
    },
    'Probing: job …c31f0 tests whether the receiver accepts deliveries again.',
  ],
  [
    'failing',
    warned('FAILING', { answered2xx: 10, answered5xx: 80, unanswered: 10, failed: 90 }),
    'The receiver answered 5xx: 90 of 100 attempts of the last hour failed.',
  ],
  [
    'failing',
    warned('FAILING', {
      attempts: 0,
      past: pastOf(100),
      lastFailure: { at: at('10:05:37'), succeededSince: 0, error: 'tls_error' },
    }),
    'No valid answer from the receiver: all 100 attempts failed until 10:05:37, the last one because its certificate was rejected; none has succeeded since.',
  ],
  [
    'failing',
    warned('FAILING', {
      unanswered: 100,
      failed: 100,
      lastFailure: { at: at('11:21:07'), succeededSince: 0, error: 'tls_error' },
    }),
    'No valid answer from the receiver: all 100 attempts of the last hour failed, the last one at 11:21:07 because its certificate was rejected.',
  ],
  // The last failure is not what most have in common, in the hour or before it.
  [
    'failing',
    warned('FAILING', {
      attempts: 0,
      past: pastOf(100, { answered5xx: 99, unanswered: 1 }),
      lastFailure: { at: at('10:05:37'), succeededSince: 0, error: 'timeout' },
    }),
    'The receiver answered 5xx: all 100 attempts failed until 10:05:37, the last one because it did not answer in time; none has succeeded since.',
  ],
  [
    'failing',
    warned('FAILING', {
      attempts: 3,
      past: pastOf(100, { attempts: 103, answered5xx: 50, unanswered: 50 }),
      lastFailure: { at: at('10:05:37'), succeededSince: 3, error: 'timeout' },
    }),
    '100 of 103 attempts failed until 10:05:37, the last one because the receiver did not answer in time; 3 have succeeded since.',
  ],
  [
    'failing',
    warned('FAILING', {
      answered5xx: 90,
      unanswered: 10,
      failed: 100,
      lastFailure: { at: at('11:21:07'), succeededSince: 3, error: 'timeout' },
    }),
    'The receiver answered 5xx: all 100 attempts of the last hour failed, the last one because it did not answer in time.',
  ],
  [
    'failing',
    warned('FAILING', { answered4xx: 50, answered5xx: 50, failed: 100 }),
    'All 100 attempts of the last hour failed.',
  ],
  // Attempts are counted by kind of answer, so the code or error of the last one may be the only such one.
  ...(
    [
      ['unanswered', 'timeout', 'No valid answer from the receiver: ', ' because it did not answer in time'],
      ['unanswered', 'dns_error', 'No valid answer from the receiver: ', ' because its host name was not found'],
      [
        'unanswered',
        'invalid_response',
        'No valid answer from the receiver: ',
        ' because its answer was not valid HTTP',
      ],
      ['answered4xx', 'HTTP 403', 'The receiver answered 4xx: ', ' with code 403'],
      ['answered5xx', 'HTTP 502', 'The receiver answered 5xx: ', ' with code 502'],
      ['answered3xx', 'HTTP 308', 'The receiver redirected: ', ' with code 308'],
    ] as const
  ).map(
    ([kind, error, lead, cause]): Row => [
      'failing',
      warned('FAILING', {
        attempts: 57,
        [kind]: 57,
        failed: 57,
        lastFailure: { at: at('11:21:07'), succeededSince: 0, error },
      }),
      `${lead}all 57 attempts of the last hour failed, the last one at 11:21:07${cause}.`,
    ],
  ),
  // All answers of this kind have the same code.
  [
    'failing',
    warned('FAILING', {
      attempts: 57,
      unauthorized: 41,
      unanswered: 16,
      failed: 57,
      lastFailure: { at: at('11:21:07'), succeededSince: 0, error: 'HTTP 401' },
    }),
    'The receiver answered 401: all 57 attempts of the last hour failed, the last at 11:21:07.',
  ],
  // No kind is that of most failures.
  [
    'failing',
    warned('FAILING', {
      attempts: 57,
      answered4xx: 19,
      answered5xx: 19,
      unanswered: 19,
      failed: 57,
      lastFailure: { at: at('11:21:07'), succeededSince: 0, error: 'tls_error' },
    }),
    'All 57 attempts of the last hour failed, the last one at 11:21:07 because the receiver’s certificate was rejected.',
  ],
  // The worker did not report on what the receiver had accepted.
  [
    'failing',
    warned('FAILING', {
      answered2xx: 100,
      failed: 100,
      lastFailure: { at: at('11:21:07'), succeededSince: 0, error: 'ack_timeout' },
    }),
    'All 100 attempts of the last hour failed, the last one at 11:21:07 because the worker did not report in time.',
  ],
  [
    'signature',
    warned('SIGNATURE_REJECTED', {
      attempts: 0,
      past: pastOf(5, { unauthorized: 5, unanswered: 0 }),
      lastFailure: { at: at('10:05:37'), succeededSince: 0, error: 'HTTP 401' },
    }),
    'The receiver rejects the signature: all 5 attempts failed until 10:05:37; none has succeeded since.',
  ],
  [
    'behind',
    { oldestDueSeconds: 61 },
    'Falling behind: 12 jobs per second came in during the last minute, and 3.4 were finished from 11:50 to 12:00.',
    { in: 12, out: 3.4, accepted: 3.4, span: SPAN },
  ],
  ['behind', { oldestDueSeconds: 61 }, 'Behind: the oldest for 1 min 1 s.'],
  [
    'catching-up',
    { oldestDueSeconds: 300, depth: { ...depth, due: 600 } },
    'Catching up: 600 jobs are due; at 12 per second until about 12:05.',
    { in: 2, out: 12, accepted: 12, span: SPAN },
  ],
  ['slow', warned('SLOW_RECEIVER'), '5 % of deliveries in the last hour took about 4.2 s or longer.'],
  [
    'pressure',
    warned('BACKPRESSURE', { answered2xx: 60, backpressure: 40, deferred: 40 }),
    '40 of 100 attempts of the last hour were deferred by the receiver.',
  ],
  [
    'moving',
    { depth: { ...depth, due: 3 } },
    'Running: 3.2 deliveries per second from 11:50 to 12:00, starting 84 ms late.',
    { accepted: 3.2, wait: 84, span: SPAN },
  ],
  ['moving', {}, 'Running: no job is waiting, the last attempt ended at 12:03:11.', { lastAt: at('12:03:11') }],
  ['idle', {}, 'Idle. The last attempt ended at 11:04:00.', { lastAt: at('11:04:00') }],
  [
    'idle',
    { health: { ...health, attempts: 0, past: pastOf(9) } },
    'Idle. The last attempt ended at 09:04:00. 9 attempts failed, and none has succeeded since.',
    { lastAt: at('09:04:00') },
  ],
  ['idle', {}, 'Idle. No job is waiting.'],
  // Too few for a warning, and yet nothing was accepted.
  [
    'moving',
    { health: { ...health, attempts: 2, failed: 2 } },
    'Running: no job is waiting, the last attempt ended at 12:03:11. All 2 attempts of the last hour failed.',
    { lastAt: at('12:03:11') },
  ],
  [
    'idle',
    { health: { ...health, attempts: 1, failed: 1 } },
    'Idle. The last attempt ended at 11:04:00. It was the only one in the last hour, and it failed.',
    { lastAt: at('11:04:00') },
  ],
];

it.each(ROWS)('%s: %j', (condition, change, sentence, flow = {}) => {
  const [shown, known] = [
    { ...queue, ...change },
    { ...NO_FLOW, ...flow },
  ];
  expect(conditionOf(shown, known, view)).toBe(condition);
  expect(plain(textOfPhrase(sentenceOfQueue(shown, known, view)))).toBe(sentence);
});

/** Rows in which a sentence once lied: nothing goes in or out, or cannot. */
const EXTREMES: Row[] = [
  [
    'awaiting',
    {
      concurrency: 5,
      inFlight: 5,
      oldestDueSeconds: 3172,
      depth: { ...depth, due: 4, awaitingAck: 5, firstAckDeadline: at('13:11:00') },
    },
    'Waiting for reports: 5 of 5 slots wait for a report, none has come since 11:11:30; the first time-out is at 13:11:00.',
    { ...QUIET, lastAt: at('11:11:30') },
  ],
  // Reports came a minute ago: it is slow, and not stuck.
  [
    'behind',
    { concurrency: 5, inFlight: 5, oldestDueSeconds: 61, depth: { ...depth, due: 4, awaitingAck: 5 } },
    'Behind: 4 are due, the oldest for 1 min 1 s.',
    { ...QUIET, moves: true, lastAt: at('12:03:00') },
  ],
  // Half of the time for a report has passed without any.
  [
    'awaiting',
    { concurrency: 1, inFlight: 1, ackTimeout: 60, oldestDueSeconds: 61, depth: { ...depth, due: 1, awaitingAck: 1 } },
    'Waiting for reports: 1 of 1 slots wait for a report, none has come since 12:03:40.',
    { ...QUIET, lastAt: at('12:03:40') },
  ],
  [
    'stuck',
    { inFlight: 0, oldestDueSeconds: 700, depth: { ...depth, due: 2 } },
    'Stuck: 2 jobs are due, the oldest for 11 min 40 s, and no attempt has ended for at least 19 min 11 s.',
    { ...QUIET, quietSince: Date.parse(at('11:45:00')) },
  ],
  // No attempt is known, and the queue is younger than the numbers: the first of its jobs says since when.
  [
    'behind',
    { inFlight: 0, oldestDueSeconds: 120, depth: { ...depth, due: 2 } },
    'Behind: 2 are due, the oldest for 2 min.',
    { ...QUIET, quietSince: Date.parse(at('09:00:00')), isUnseen: true },
  ],
  [
    'stuck',
    { inFlight: 0, oldestDueSeconds: 700, depth: { ...depth, due: 2 } },
    'Stuck: 2 jobs are due, the oldest for 11 min 40 s, and no attempt has ended since 11:52:31.',
    { ...QUIET, quietSince: Date.parse(at('09:00:00')), isUnseen: true },
  ],
  [
    'awaiting',
    {
      concurrency: 1,
      inFlight: 1,
      ackTimeout: 3600,
      oldestDueSeconds: 400,
      depth: { ...depth, due: 1, awaitingAck: 1, firstAckDeadline: at('12:57:00') },
    },
    'Waiting for reports: 1 of 1 slots wait for a report, none has come since 11:57:00; the first time-out is at 12:57:00.',
    { ...QUIET, quietSince: Date.parse(at('09:00:00')), isUnseen: true },
  ],
  // As much goes out as comes in, and the backlog stays.
  [
    'behind',
    { oldestDueSeconds: 61, depth: { ...depth, due: 1 } },
    'Behind: 1 is due, the oldest for 1 min 1 s.',
    { ...QUIET, in: 3, out: 3, accepted: 3 },
  ],
  // All attempts fail, and none of the jobs ends.
  [
    'behind',
    { oldestDueSeconds: 61, depth: { ...depth, due: 1 } },
    'Behind: 1 is due, the oldest for 1 min 1 s.',
    { ...QUIET, moves: true },
  ],
  // The present five minutes have no jobs yet: attempts have ended, only no job has.
  [
    'behind',
    { oldestDueSeconds: 61, depth: { ...depth, due: 1 } },
    'Behind: 1 is due, the oldest for 1 min 1 s.',
    { ...QUIET, quietSince: Date.parse(at('12:00:00')) },
  ],
  // The receiver answered all of them with 2xx, and its worker refused, or never reported on, nearly all.
  ['failing', warned('FAILING', { answered2xx: 100, failed: 90 }), '90 of 100 attempts of the last hour failed.'],
  ['failing', warned('FAILING', { attempts: 1, failed: 1 }), '1 of 1 attempt of the last hour failed.'],
  // The worker deferred what its receiver had answered with 2xx.
  [
    'pressure',
    warned('BACKPRESSURE', { answered2xx: 100, deferred: 50 }),
    '50 of 100 attempts of the last hour were deferred by the receiver.',
  ],
  // One of one: no delivery in twenty.
  ['slow', warned('SLOW_RECEIVER', { attempts: 1 }), 'The slowest delivery of the last hour took about 4.2 s.'],
  // Jobs that are being delivered do not wait.
  [
    'paused',
    { paused: true, pause: { since: at('12:04:00'), by: 'ann' }, depth: { ...depth, processing: 3, awaitingAck: 1 } },
    'Paused since 12:04:00 by ann. 0 jobs wait, nothing is lost.',
  ],
  // A job does not live for longer than a day.
  [
    'catching-up',
    { oldestDueSeconds: 300, depth: { ...depth, due: 18_204 } },
    'Catching up: 18 204 jobs are due; at 3.3 per second it takes more than a day.',
    { in: 3.33, out: 3.34, accepted: 3.34, span: SPAN },
  ],
  [
    'waiting',
    { depth: { ...depth, scheduled: 15, nextDueAt: at('13:00:00') } },
    '15 are scheduled, the first at 13:00:00.',
    QUIET,
  ],
  ['waiting', { depth: { ...depth, scheduled: 1, nextDueAt: at('13:00:00') } }, '1 is scheduled at 13:00:00.', QUIET],
  [
    'waiting',
    { depth: { ...depth, held: 10, nextDueAt: at('13:00:00') } },
    '10 are held, the first until 13:00:00.',
    QUIET,
  ],
  [
    'waiting',
    { depth: { ...depth, scheduled: 3, retrying: 2, nextDueAt: at('12:05:00') } },
    '3 are scheduled, 2 are waiting for a retry, the first at 12:05:00.',
    QUIET,
  ],
  ['moving', { depth: { ...depth, awaitingAck: 2, due: 1 } }, 'Running: 1 is due, 2 are waiting for a report.', QUIET],
  ['idle', {}, 'Idle. No job is waiting.', QUIET],
  ['moving', {}, 'Running: no job is waiting.', { ...QUIET, moves: true }],
];

it.each(EXTREMES)('%s, where nothing goes in or out: %j', (condition, change, sentence, flow = {}) => {
  const [shown, known] = [
    { ...queue, ...change },
    { ...NO_FLOW, ...flow },
  ];
  expect(conditionOf(shown, known, view)).toBe(condition);
  expect(plain(textOfPhrase(sentenceOfQueue(shown, known, view)))).toBe(sentence);
});

it('says in the line below what outweighs the failures of the hour, and what binds', () => {
  const lead = (change: Partial<QueueNow>, flow: Partial<Flow> = {}) =>
    plain(textOfPhrase(leadOfQueue({ ...queue, ...change }, { ...NO_FLOW, ...flow }, view)));
  const lastFailure = { at: at('11:21:07'), succeededSince: 80, error: null };
  expect(lead({ health: { ...health, lastFailure } })).toBe(
    'Attempts failed until 11:21:07; since then 80 have succeeded, and none has failed. No limit is in the way: 3 of 20 slots in use.',
  );
  const stuck = { inFlight: 0, oldestDueSeconds: 700, depth: { ...depth, due: 2 } };
  expect(lead(stuck, { ...QUIET, quietSince: SPAN.from })).toBe(
    'No limit is in the way: 0 of 20 slots in use. Check that a worker is running.',
  );
  const awaiting = { concurrency: 5, inFlight: 5, depth: { ...depth, due: 4, awaitingAck: 5 } };
  expect(lead(awaiting, QUIET)).toMatch(/^Check that the worker behind the receiver runs and reports/);
  expect(lead({ depth: { ...depth, held: 10 } })).toBe('Nothing is due: 3 of 20 slots in use.');
});

it('takes the first row that holds', () => {
  const all = ['FAILING', 'SIGNATURE_REJECTED', 'SLOW_RECEIVER', 'BACKPRESSURE'] as const;
  let warnings = all.map((warning) => ({ warning, message: '' }));
  let shown: QueueNow = {
    ...queue,
    oldestDueSeconds: 90,
    paused: true,
    deletedAt: at('11:00:00'),
    depth: { ...depth, due: 1 },
    hold: { since: null, byBreaker: false, until: at('12:05:00'), reason: null, askedBy: null, probe: { id: 'x' } },
  };
  const remove = (change: Partial<QueueNow>, ...gone: readonly string[]) => {
    warnings = warnings.filter(({ warning }) => !gone.includes(warning));
    shown = { ...shown, ...change };
  };
  const found = () => conditionOf({ ...shown, health: { ...health, warnings } }, NO_FLOW, view);
  expect(found()).toBe('deleted');
  remove({ deletedAt: null });
  expect(found()).toBe('paused');
  remove({ paused: false });
  expect(found()).toBe('signature');
  remove({}, 'SIGNATURE_REJECTED');
  expect(found()).toBe('held');
  remove({
    hold: { since: null, byBreaker: false, until: at('12:04:00'), reason: null, askedBy: null, probe: { id: 'x' } },
  });
  expect(found()).toBe('probing');
  remove({ hold: null });
  expect(found()).toBe('failing');
  remove({}, 'FAILING');
  expect(found()).toBe('behind');
  remove({ oldestDueSeconds: 1 });
  expect(found()).toBe('slow');
  remove({}, 'SLOW_RECEIVER');
  expect(found()).toBe('pressure');
  remove({}, 'BACKPRESSURE');
  expect(found()).toBe('moving');
});

it('sorts by trouble, then by what it costs, then by the oldest due job', () => {
  const failing = (failed: number, past = 0) => ({
    condition: 'failing' as const,
    queue: { ...queue, health: { ...health, failed, past: past === 0 ? null : pastOf(past) } },
  });
  const costs = [failing(140), failing(0, 10_000), failing(20)].sort(compareTrouble);
  expect(costs.map(({ queue: { health: one } }) => one.past?.failed ?? one.failed)).toEqual([10_000, 140, 20]);
  const of = (condition: Condition, oldestDueSeconds: number) => ({ condition, queue: { ...queue, oldestDueSeconds } });
  const sorted = [of('paused', 5), of('behind', 90), of('held', 0), of('failing', 1), of('behind', 600)].sort(
    compareTrouble,
  );
  expect(sorted.map(({ condition, queue: { oldestDueSeconds } }) => [condition, oldestDueSeconds])).toEqual([
    ['failing', 1],
    ['behind', 600],
    ['behind', 90],
    ['held', 0],
    ['paused', 5],
  ]);
  expect((['idle', 'moving', 'deleted', 'paused'] as const).map(needsLook)).toEqual([false, false, false, true]);
});

it('has the colour of its severity', () => {
  const signals = { 4: 'bad', 3: 'warn', 2: 'hold', 1: 'idle' } as const;
  for (const condition of Object.keys(CONDITIONS) as Condition[]) {
    const severity = severityOf(condition);
    expect([condition, CONDITIONS[condition].signal]).toEqual([
      condition,
      severity === 0 ? expect.stringMatching(/^(idle|ok)$/) : signals[severity],
    ]);
  }
});

describe('what limits it', () => {
  const limit = (change: Partial<QueueNow>, flow: Partial<Flow> = {}) => {
    const text = limitOfQueue({ ...queue, ...change }, { ...NO_FLOW, ...flow }, view);
    return text === null ? null : plain(textOfPhrase(text));
  };

  it('is said, with a way out', () => {
    expect(limit({})).toBe('No limit is in the way: 3 of 20 slots in use.');
    expect(limit({ inFlight: 20 })).toBe(
      'All 20 slots are busy. More slots, or a faster receiver, would deliver more.',
    );
    expect(limit({ concurrency: 1, inFlight: 1 })).toMatch(/^The only slot is busy\./);
    // A slot is taken until the report: the duration of a delivery says nothing of how many are needed.
    expect(limit({ inFlight: 20, depth: { ...depth, awaitingAck: 19 } }, { in: 200, out: 31 })).toBe(
      '20 of 20 slots are in use, 19 of them for a report. More slots, or reports that come sooner, would deliver more.',
    );
    expect(limit({ inFlight: 20 }, { in: 200 })).toBe(
      'All 20 slots are busy and half of the deliveries take longer than 200 ms, so about 100 per second is all it can do. 44 slots would keep up, if the receiver can take them.',
    );
    const slow = { concurrency: 1, inFlight: 1, health: { ...health, duration: { p50: 12_000, p95: 14_000 } } };
    expect(limit(slow, { in: 0.2, out: 0.1 })).toMatch(/, so fewer than 0\.1 per second is all it can do\. 3.slots/);
    expect(
      limit(
        { inFlight: 20, depth: { ...depth, due: 18_204 }, health: { ...health, duration: { p50: 640, p95: 900 } } },
        { in: 35, out: 31 },
      ),
    ).toBe(
      'All 20 slots are busy and half of the deliveries take longer than 640 ms, so about 31 per second is all it can do. 25 slots would keep up, if the receiver can take them.',
    );
    expect(limit({ rateWindow: { used: 100, max: 100, resetsAt: at('12:04:29') } })).toBe(
      'The rate limit of 100 per 1 min is used up; the next delivery starts in 18 s.',
    );
    // The window has passed, and the server's next answer is not there yet.
    expect(limit({ rateWindow: { used: 100, max: 100, resetsAt: at('12:04:10') } })).toMatch(/^No limit is in the way/);
    expect(limit({ paused: true })).toBeNull();
  });

  it('counts the slots that are needed, with a tenth to spare', () => {
    expect(slotsNeeded(12, 1500)).toBe(20);
    expect(slotsNeeded(null, 1500)).toBeNull();
  });
});
