import { describe, expect, it } from 'vitest';
import {
  headlineOfReceivers,
  lastAccepted,
  noteStates,
  notTakenText,
  partText,
  type Receiver,
  sentenceOfReceiver,
  signOfReceiver,
  spanText,
  worstReceivers,
} from '../../packages/dashboard/features/queues/model/receiver.ts';
import {
  figuresOf,
  labelOf,
  leadOf,
  limitsOf,
  NO_LIMITS,
  namesText,
  outcomeText,
  titleOf,
  undoneText,
} from '../../packages/dashboard/features/queues/model/several.ts';
import { queueSearchOf, typedReceiver } from '../../packages/query/filter/queue-search.ts';

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');
const outcomes = (...all: string[]) => all.map((outcome) => ({ outcome }));
const done = (changed: number, others = 0) => ({
  changed,
  queues: outcomes(...Array(changed).fill('CHANGED'), ...Array(others).fill('UNCHANGED')),
});

describe('actions with several queues', () => {
  it.each([
    ['pause', null, 3, 'Pause 3 queues?'],
    ['pause', done(1, 2), 3, 'Pause 1 queue?'],
    ['limit', done(0, 3), 3, 'No queue is left to limit'],
  ] as const)('%s with %j of %i asks: %s', (action, would, chosen, title) => {
    expect(plain(titleOf(action, would, chosen))).toBe(title);
  });

  it('have a price, a label and an outcome', () => {
    const price = { ...done(1200, 4), waiting: 10_000, waitingExact: false };
    expect(figuresOf('resume', price).map(([figure]) => plain(figure))).toEqual(['1 200', '4', '10 000+']);
    expect(figuresOf('pause', null).map(([figure]) => figure)).toEqual(['…', '…', '…']);
    expect(plain(labelOf('pause', null, 3))).toBe('Pause 3 queues');
    expect(plain(outcomeText('limit', done(1)))).toBe('1 queue limited');
    expect(plain(undoneText('pause', done(3)))).toBe('3 queues resumed');
    expect(plain(undoneText('resume', done(0, 1)))).toBe('0 queues paused again; 1 was changed since');
    expect(plain(undoneText('limit', done(1)))).toBe('1 queue back at the former limits');
  });

  it('do not promise what no queue is left for', () => {
    expect(leadOf('resume', done(2))).toMatch(/^Their jobs go out as soon as limits, holds and breakers allow/);
    expect([leadOf('resume', done(0, 3)), labelOf('resume', done(0, 3), 3)]).toEqual([undefined, 'Resume']);
    expect([leadOf('limit', done(0, 3)), labelOf('limit', done(0, 3), 3)]).toEqual([leadOf('limit', null), 'Limit']);
  });

  it.each([
    [['', '', ''], null, null],
    [['5', ' ', ''], { concurrency: 5 }, null],
    [['', 'none', '0.5'], { rateLimitMax: null, rateLimitWindow: 0.5 }, null],
    [['500', '2147483647', '3600'], { concurrency: 500, rateLimitMax: 2_147_483_647, rateLimitWindow: 3600 }, null],
  ])('limits %j are %j', ([concurrency = '', rateLimitMax = '', rateLimitWindow = ''], limits, problem) => {
    expect(limitsOf({ concurrency, rateLimitMax, rateLimitWindow })).toEqual({ limits, problem });
  });

  it.each([
    [
      'concurrency',
      ['0', '-1', '501', '2.5', 'abc', '1e3', '5,5', 'none'],
      'Concurrency must be a whole number from 1 to 500.',
    ],
    ['rateLimitMax', ['0', '-1', '1.5', '2147483648'], 'Rate limit must be a whole number of at least 1, or none.'],
    ['rateLimitWindow', ['0', '5,5', '3601', 'none'], 'Window must be from 0.001 to 3600 seconds.'],
  ] as const)('limits of a wrong %s say what it may be', (name, texts, text) => {
    for (const typed of texts) {
      expect(limitsOf({ ...NO_LIMITS, [name]: typed })).toEqual({ limits: null, problem: { name, text } });
    }
  });

  it('have names, as many as a dialog has room for', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    expect(namesText(names.slice(0, 1))).toBe('a');
    expect(namesText(names.slice(0, 7))).toBe('a, b, c, d, e, f and g');
    expect(namesText(names)).toBe('a, b, c, d, e, f and 2 others');
  });
});

describe('the search for queues', () => {
  it.each([
    ['', null, null],
    ['order mails', 'order mails', null],
    ['receiver:Api.example', null, ['api.example']],
    [' order  receiver:a.example:8443,b.example ', 'order', ['a.example:8443', 'b.example']],
    ['receiver:', null, null],
  ])('%j has the text %j and the receivers %j', (text, search, receivers) => {
    expect(queueSearchOf(text)).toEqual({ search, tags: null, receivers });
  });

  it.each([
    ['receiver:', ''],
    ['order receiver:a.example,Api', 'api'],
    ['receiver:api done', null],
    ['order', null],
  ])('%j looks for the host %j', (text, host) => {
    expect(typedReceiver(text)).toBe(host);
  });
});

describe('a receiver', () => {
  const view = { now: Date.UTC(2026, 10, 26, 12, 3), zone: 'utc' } as const;
  const failedUntil = (succeededSince: number) => ({ at: '2026-11-26T11:59:30.500Z', succeededSince });
  const receiver = (
    changes: Partial<Receiver> = {},
    health: Partial<NonNullable<Receiver['health']>> = {},
  ): Receiver => ({
    host: 'a.example',
    queueCount: 3,
    pausedQueues: 0,
    heldQueues: 0,
    ackQueues: 0,
    health: {
      attempts: 0,
      failed: 0,
      refused: 0,
      answered2xx: 0,
      backpressure: 0,
      failingQueues: 0,
      untriedQueues: 0,
      acceptedAt: null,
      lastFailure: null,
      past: null,
      ...health,
    },
    ...changes,
  });

  const allFailed = { past: { attempts: 100, failed: 100 }, lastFailure: failedUntil(0), failingQueues: 3 };

  it.each([
    [receiver(), 'No attempt to a.example ended in the last hour.', 'idle'],
    [
      receiver({}, allFailed),
      'All 3 queues that deliver to a.example are failing: all 100 attempts failed until 11:59:30; none has succeeded since.',
      'bad',
    ],
    [
      receiver({ pausedQueues: 3 }, allFailed),
      'All 3 queues that deliver to a.example are paused. Before, all 100 attempts failed until 11:59:30; none has succeeded since.',
      'idle',
    ],
    [receiver({ health: null }), 'No attempt to a.example ended in the last hour.', 'idle'],
    [receiver({}, { attempts: 1 }), 'None of 1 attempt to a.example failed in the last hour.', 'ok'],
    [
      receiver({}, { attempts: 1500, failed: 3, refused: 3 }),
      '3 of 1 500 attempts to a.example failed in the last hour.',
      'ok',
    ],
    [receiver({ pausedQueues: 3 }, { attempts: 9 }), 'All 3 queues that deliver to a.example are paused.', 'idle'],
    [receiver({ queueCount: 1, pausedQueues: 1 }), 'The queue that delivers to a.example is paused.', 'idle'],
    [
      receiver({ pausedQueues: 2, heldQueues: 1 }),
      '1 of 3 queues that deliver to a.example is held. 2 queues are paused.',
      'hold',
    ],
    [
      receiver({}, { attempts: 40, failed: 30, refused: 30, failingQueues: 2 }),
      '2 of 3 queues that deliver to a.example are failing: 30 of 40 attempts in the last hour failed.',
      'bad',
    ],
    [
      receiver(
        { pausedQueues: 3 },
        { attempts: 40, failed: 30, refused: 30, failingQueues: 2, lastFailure: failedUntil(0) },
      ),
      'All 3 queues that deliver to a.example are paused. Before, 30 of 40 attempts in the last hour failed.',
      'idle',
    ],
    [
      receiver(
        { pausedQueues: 2 },
        { attempts: 40, failed: 30, refused: 30, failingQueues: 3, lastFailure: failedUntil(4) },
      ),
      'All 3 queues that deliver to a.example are failing: 30 of 40 attempts in the last hour failed. Attempts to a.example failed until 11:59:30; since then 4 have succeeded, and none has failed. 2 queues are paused.',
      'bad',
    ],
    [
      receiver(
        { pausedQueues: 2 },
        { attempts: 780, failed: 731, refused: 731, answered2xx: 49, lastFailure: failedUntil(45) },
      ),
      'Attempts to a.example failed until 11:59:30; since then 45 have succeeded, and none has failed. 2 queues are paused.',
      'ok',
    ],
    [
      receiver({ queueCount: 8 }, { attempts: 560, refused: 500, untriedQueues: 5, lastFailure: failedUntil(60) }),
      'Attempts to a.example failed until 11:59:30; since then 60 have succeeded, and none has failed. 5 queues have had too few attempts since.',
      'warn',
    ],
    [
      receiver({ pausedQueues: 3 }, { attempts: 560, refused: 500, untriedQueues: 2, lastFailure: failedUntil(60) }),
      'All 3 queues that deliver to a.example are paused. Attempts to a.example failed until 11:59:30; since then 60 have succeeded, and none has failed.',
      'idle',
    ],
    [
      receiver({}, { attempts: 10, failed: 10, answered2xx: 10 }),
      'a.example refused none of 10 attempts in the last hour; 10 failed later, without a report of success from the worker.',
      'ok',
    ],
    [
      receiver({ heldQueues: 3 }, { attempts: 1120, backpressure: 1120 }),
      'a.example accepts nothing: 1 120 of 1 120 attempts in the last hour were deferred.',
      'warn',
    ],
    [
      receiver({}, { attempts: 5, backpressure: 1, failed: 4, refused: 4 }),
      'a.example accepts nothing: 1 of 5 attempts in the last hour was deferred, 4 failed.',
      'warn',
    ],
    [
      receiver({}, { attempts: 10, backpressure: 3, answered2xx: 7 }),
      'a.example deferred 3 of 10 attempts in the last hour.',
      'hold',
    ],
  ])('%j is told so: %s', (shown, sentence, signal) => {
    expect(plain(sentenceOfReceiver(shown, view))).toBe(sentence);
    expect(signOfReceiver(shown).signal).toBe(signal);
  });

  it('comes before others when its queues fail, and is counted', () => {
    const failing = receiver({ host: 'z.example' }, { failingQueues: 1, failed: 5, refused: 5, attempts: 9 });
    const deferring = receiver({ host: 'p.example' }, { attempts: 9, backpressure: 9 });
    const all = [
      deferring,
      receiver({ host: 'b.example' }),
      receiver(),
      receiver({ host: 'h.example', heldQueues: 1 }),
      failing,
    ];
    const order = ['z.example', 'p.example', 'h.example', 'a.example', 'b.example'];
    expect(worstReceivers(all).map(({ host }) => host)).toEqual(order);
    // More failing queues count before more failed attempts.
    const most = receiver({ host: 'y.example' }, { failingQueues: 9, failed: 2, refused: 2, attempts: 2 });
    expect(worstReceivers([failing, most]).map(({ host }) => host)).toEqual(['y.example', 'z.example']);
    expect([deferring, failing].map(({ health }) => plain(notTakenText(health)))).toEqual(['100 %', '56 %']);
    expect(plain(headlineOfReceivers(all, true))).toBe('1 of 5 receivers has failing queues, 1 accepts nothing.');
    expect(plain(headlineOfReceivers([deferring], true))).toBe(
      'None of 1 receiver has failing queues, 1 accepts nothing.',
    );
    expect(plain(headlineOfReceivers([receiver()], false))).toBe(
      'None of the 1 receivers on this page has failing queues.',
    );
    // Rows of these say that queues fail.
    const paused = receiver({ pausedQueues: 3 }, { attempts: 9, refused: 9, failingQueues: 3 });
    const back = receiver({}, { attempts: 90, refused: 50, untriedQueues: 2, lastFailure: failedUntil(40) });
    expect(plain(headlineOfReceivers([paused, receiver()], true))).toBe('1 of 2 receivers has failing queues.');
    expect(plain(headlineOfReceivers([paused, back, failing, deferring], true))).toBe(
      '3 of 4 receivers have failing queues, 1 accepts nothing.',
    );
    expect(headlineOfReceivers([], true)).toBe('No receivers yet.');
  });

  it('is asked for again when the state of a queue is another one', () => {
    const known = new Map<string, string>();
    const queue = (id: string, changes = {}) => ({ __typename: 'Queue', id, paused: false, hold: null, ...changes });
    const hold = { until: '2026-11-26T12:00:00.000Z', probe: null };
    expect(
      [
        [queue('a'), queue('b')],
        [queue('a', { inFlight: 3 }), { __typename: 'Job', id: 'c' }],
        [queue('a', { paused: true }), queue('b')],
        [queue('b', { hold })],
        [queue('b', { hold: { ...hold, probe: {} } })],
        [queue('a', { paused: true }), queue('b', { hold: { ...hold, probe: {} } })],
        [queue('b', { health: { warnings: [{ warning: 'FAILING' }] } })],
        [queue('new')],
      ].map((objects) => noteStates(known, objects)),
    ).toEqual([false, false, true, true, true, false, true, true]);
  });

  it('has times to five minutes, and none in the future', () => {
    expect(spanText('2026-11-26T11:50:00.000Z', view)).toBe('11:50 to 11:55');
    expect(spanText('2026-11-26T12:00:00.000Z', view)).toBe('12:00 to 12:03');
    expect(spanText(null, view)).toBe('None in 24\u00a0h');
  });

  it('claims no last 2xx answer of queues in ack mode', () => {
    const last = (ackQueues: number, acceptedAt: string | null = null) => {
      const { text, sub } = lastAccepted(receiver({ ackQueues }, { acceptedAt }), view);
      return [text, plain(sub)];
    };
    expect(last(0)).toEqual(['None in 24\u00a0h', 'within 5 min']);
    expect(last(1, '2026-11-26T11:50:00.000Z')).toEqual(['11:50 to 11:55', 'of 2 queues without ack mode']);
    expect(last(3)).toEqual(['–', 'not known in ack mode']);
  });
});

it('says that receivers of the newest of very many queues are not known', () => {
  expect([partText(undefined), partText(1000)]).toEqual([undefined, undefined]);
  expect(plain(partText(10_000) ?? '')).toBe('Only the oldest 1 000 of 10 000 queues are covered.');
});
