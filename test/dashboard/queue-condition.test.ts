import { describe, expect, it } from 'vitest';
import { textOfPhrase } from '../../src/dashboard/model/phrase.ts';
import {
  type Condition,
  compareTrouble,
  conditionOf,
  type Flow,
  limitOfQueue,
  NO_FLOW,
  needsLook,
  type QueueNow,
  sentenceOfQueue,
  slotsNeeded,
} from '../../src/dashboard/model/queue-condition.ts';

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');
const view = { now: Date.parse('2026-11-12T12:04:11Z'), zone: 'utc' } as const;
const at = (clock: string) => `2026-11-12T${clock}Z`;

const depth = { due: 0, scheduled: 0, retrying: 0, held: 0, processing: 0, awaitingAck: 0 };
const health: NonNullable<QueueNow['health']> = {
  ...{
    answered2xx: 0,
    answered3xx: 0,
    answered4xx: 0,
    answered5xx: 0,
    unauthorized: 0,
    backpressure: 0,
    unanswered: 0,
  },
  ...{ duration: { p50: 200, p95: 4200 }, warnings: [] },
};
const queue: QueueNow = {
  ...{ concurrency: 20, inFlight: 3, paused: false, pause: null, hold: null, oldestDueSeconds: null },
  ...{ rateLimitWindow: 60, rateWindow: null, depth, health },
};
const warned = (warning: 'BACKPRESSURE' | 'FAILING' | 'SIGNATURE_REJECTED' | 'SLOW_RECEIVER', more = {}) => ({
  health: { ...health, ...more, warnings: [{ warning }] },
});

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
    warned('SIGNATURE_REJECTED', { answered2xx: 2, unauthorized: 118 }),
    'The receiver rejects the signature: 118 of 120 answers of the last hour were 401.',
  ],
  [
    'held',
    { hold: { until: at('12:05:30'), reason: 'maintenance', askedBy: null, probe: null }, depth: { ...depth, due: 1 } },
    'Held for 1 min 19 s more, until 12:05:30: “maintenance”. 1 job waits.',
  ],
  [
    'probing',
    { hold: { until: at('12:04:00'), reason: null, askedBy: null, probe: { id: `${'0'.repeat(19)}c31f0` } } },
    'Job …c31f0 finds out whether it may go on.',
  ],
  [
    'failing',
    warned('FAILING', { answered2xx: 10, answered5xx: 80, unanswered: 10 }),
    '90 of 100 attempts of the last hour failed.',
  ],
  ['behind', { oldestDueSeconds: 61 }, 'Falls behind: 12 jobs a second come in, 3.4 go out.', { in: 12, out: 3.4 }],
  ['behind', { oldestDueSeconds: 61 }, 'Falls behind: the oldest due job waits for 1 min 1 s.'],
  [
    'catching-up',
    { oldestDueSeconds: 300, depth: { ...depth, due: 600 } },
    'Catches up: 600 are due; at this pace until about 12:05.',
    { in: 2, out: 12 },
  ],
  ['slow', warned('SLOW_RECEIVER'), 'One delivery in twenty takes longer than 4.2 s.'],
  [
    'pressure',
    warned('BACKPRESSURE', { answered2xx: 60, backpressure: 40 }),
    '40 of 100 attempts were put off by the receiver.',
  ],
  ['moving', { depth: { ...depth, due: 3 } }, 'Moving: 3.2 deliveries a second, 84 ms late.', { out: 3.2, wait: 84 }],
  ['moving', { depth: { ...depth, scheduled: 1 } }, 'Moving: 1 job is open.'],
  ['moving', {}, 'Moving: nothing waits, the last delivery ended at 12:03:00.', { lastAt: at('12:03:00') }],
  ['idle', {}, 'Idle. The last delivery ended at 11:04:00.', { lastAt: at('11:04:00') }],
  ['idle', {}, 'Idle. Nothing waits.'],
];

it.each(ROWS)('%s: %j', (condition, change, sentence, flow = {}) => {
  const [shown, known] = [
    { ...queue, ...change },
    { ...NO_FLOW, ...flow },
  ];
  expect(conditionOf(shown, known, view)).toBe(condition);
  expect(plain(textOfPhrase(sentenceOfQueue(shown, known, view)))).toBe(sentence);
});

it('takes the first row that holds', () => {
  const all = ['FAILING', 'SIGNATURE_REJECTED', 'SLOW_RECEIVER', 'BACKPRESSURE'] as const;
  let warnings = all.map((warning) => ({ warning }));
  let shown: QueueNow = {
    ...{ ...queue, oldestDueSeconds: 90, paused: true, deletedAt: at('11:00:00'), depth: { ...depth, due: 1 } },
    hold: { until: at('12:05:00'), reason: null, askedBy: null, probe: { id: 'x' } },
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
  remove({ hold: { until: at('12:04:00'), reason: null, askedBy: null, probe: { id: 'x' } } });
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

it('sorts by trouble, then by the oldest due job', () => {
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

describe('what limits it', () => {
  const limit = (change: Partial<QueueNow>, flow: Partial<Flow> = {}) => {
    const text = limitOfQueue({ ...queue, ...change }, { ...NO_FLOW, ...flow }, view);
    return text === null ? null : plain(textOfPhrase(text));
  };

  it('is said, with a way out', () => {
    expect(limit({})).toBe('Nothing limits it: 3 of 20 slots are busy.');
    expect(limit({ inFlight: 20 })).toBe(
      'All 20 slots are busy. More slots, or a faster receiver, would deliver more.',
    );
    expect(limit({ inFlight: 20 }, { in: 200 })).toBe('All 20 slots are busy. At this rate it needs about 44.');
    expect(
      limit(
        { inFlight: 20, depth: { ...depth, due: 18_204 }, health: { ...health, duration: { p50: 640, p95: 900 } } },
        { in: 35, out: 31 },
      ),
    ).toBe(
      'All 20 slots are busy and half of the deliveries take longer than 640 ms, so 31 a second is all it can do. 25 slots would keep up; 32 would also clear the backlog in about 21 min, if the receiver can take them.',
    );
    expect(limit({ rateWindow: { used: 100, max: 100, resetsAt: at('12:04:29') } })).toBe(
      'The rate limit binds: all 100 deliveries per 1 min are used, the next begin in 18 s.',
    );
    // The window has passed, and the server's next answer is not there yet.
    expect(limit({ rateWindow: { used: 100, max: 100, resetsAt: at('12:04:10') } })).toMatch(/^Nothing limits it/);
    expect(limit({ paused: true })).toBeNull();
  });

  it('counts the slots that are needed, with a tenth to spare', () => {
    expect(slotsNeeded(12, 1500)).toBe(20);
    expect(slotsNeeded(null, 1500)).toBeNull();
  });
});
