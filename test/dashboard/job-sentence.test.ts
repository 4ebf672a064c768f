import { describe, expect, it } from 'vitest';
import { type AttemptNow, courseOf, type JobWhole } from '../../packages/dashboard/words/job.ts';
import { rowTextOfJob } from '../../packages/dashboard/words/job-row.ts';
import {
  type JobContext,
  replayText,
  secondLineOfJob,
  sentenceOfJob,
  sentenceOfMissingJob,
  shortSentence,
} from '../../packages/dashboard/words/job-sentence.ts';
import { textOfPhrase } from '../../packages/dashboard/words/phrase.ts';
import { wordOfJob } from '../../packages/query/words/words.ts';

/** Each row of the design's table of sentences, with a clock that stands at 12:04:11. */

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');
const at = (clock: string) => `2026-11-12T${clock}Z`;

const context: JobContext = {
  now: Date.parse(at('12:04:11')),
  zone: 'utc',
  webhookTimeoutSeconds: 15,
  hasWorker: true,
};

const failed = (attempt: number, error: string, more: Partial<AttemptNow> = {}): AttemptNow => ({
  attempt,
  status: 'FAILED',
  at: at('12:04:05'),
  durationMs: 212,
  waitMs: 40,
  error,
  startedAt: null,
  retryAt: null,
  heldUntil: null,
  webhookStatusCode: error.startsWith('HTTP ') ? Number(error.slice(5)) : null,
  ...more,
});

const queue: JobWhole['queue'] = {
  mode: 'STANDARD',
  concurrency: 20,
  inFlight: 20,
  rateLimitMax: null,
  rateLimitWindow: 60,
  maxDefers: 50,
  ackTimeout: 300,
  pause: null,
  hold: null,
  rateWindow: null,
};

const job: JobWhole = {
  id: '01a1cfa459463c7ed8a1f07c',
  status: 'PENDING',
  state: 'DUE',
  attemptsMade: 0,
  maxAttempts: 5,
  deferCount: 0,
  createdAt: at('12:03:36.900'),
  scheduledFor: at('12:04:22'),
  startedAt: null,
  endedAt: null,
  ackDeadline: null,
  lastError: null,
  deadReason: null,
  cancelledBy: null,
  waiting: null,
  receipt: null,
  deliverBy: '2026-11-13T12:03:36Z',
  backoffType: 'EXPONENTIAL',
  backoffDelay: 4,
  progress: null,
  attempts: [],
  queue,
};

const waits = (reason: NonNullable<JobWhole['waiting']>['reason'], earliestAt: string | null = at('12:04:22')) => ({
  waiting: { reason, earliestAt },
  state: ({ BACKOFF: 'RETRYING', HELD: 'HELD', DELAYED: 'SCHEDULED' } as const)[reason as 'HELD'] ?? ('DUE' as const),
});
const dies = (deadReason: NonNullable<JobWhole['deadReason']>): Partial<JobWhole> => ({
  status: 'DEAD',
  state: 'DEAD',
  deadReason,
  endedAt: at('09:41:52'),
});
const inQueue = (change: Partial<JobWhole['queue']>) => ({ queue: { ...queue, ...change } });

type Row = [name: string, change: Partial<JobWhole>, sentence: string, row: string, context?: Partial<JobContext>];
const ROWS: Row[] = [
  [
    'BACKOFF',
    { ...waits('BACKOFF'), lastError: 'timeout', attemptsMade: 3 },
    'Retries in 11 s, at 12:04:22, because the receiver did not answer within 15 s.',
    'in 11 s · timeout',
  ],
  [
    'BACKOFF after a code',
    { ...waits('BACKOFF'), lastError: 'HTTP 500', attemptsMade: 3 },
    'Retries in 11 s, at 12:04:22, because the receiver answered 500.',
    'in 11 s · 500',
  ],
  [
    'HELD',
    { ...waits('HELD', at('12:04:48')), lastError: 'HTTP 429' },
    'Held for 37 s more, until 12:04:48, because the receiver answered 429. No attempt is used.',
    'for 37 s more · 429',
  ],
  [
    'QUEUE_HELD',
    {
      ...waits('QUEUE_HELD'),
      ...inQueue({
        hold: {
          byBreaker: false,
          until: at('12:05:30'),
          reason: 'maintenance',
          askedBy: { id: `${'x'.repeat(19)}c31f0` },
          probe: null,
        },
      }),
    },
    'Waits: its queue is held for 1 min 19 s more, until 12:05:30, because job …c31f0 said “maintenance”.',
    'queue held for 1 min 19 s more',
  ],
  [
    'PROBE_IN_FLIGHT',
    {
      ...waits('PROBE_IN_FLIGHT', null),
      ...inQueue({
        hold: {
          byBreaker: false,
          until: at('12:04:00'),
          reason: null,
          askedBy: null,
          probe: { id: `${'x'.repeat(19)}c31f0` },
        },
      }),
    },
    'Waits for the probe: job …c31f0 tests whether the receiver accepts deliveries again.',
    'after probe …c31f0',
  ],
  ['DELAYED', waits('DELAYED'), 'Scheduled for 12:04:22, in 11 s.', 'in 11 s'],
  [
    'PAUSED',
    { ...waits('PAUSED', null), ...inQueue({ pause: { since: at('11:20:00'), by: 'jf_4kQ…x7Pd' } }) },
    'Waits because jf_4kQ…x7Pd paused the queue at 11:20:00.',
    'queue paused since 11:20',
  ],
  ['CONCURRENCY', waits('CONCURRENCY', null), 'Waits for a free slot: 20 of 20 in use.', '20 of 20 slots are busy'],
  [
    'CONCURRENCY',
    { ...waits('CONCURRENCY', null), ...inQueue({ depth: { awaitingAck: 20 } }) },
    'Waits for a free slot: 20 of 20 in use, 20 waiting for a report.',
    '20 of 20 slots are busy',
  ],
  [
    'RATE_LIMIT',
    { ...waits('RATE_LIMIT'), ...inQueue({ rateWindow: { used: 100, max: 100, resetsAt: at('12:04:22') } }) },
    'Waits until 12:04:22, 11 s more: the rate limit of 100 per 1 min is used up.',
    'in 11 s · 100 of 100 used',
  ],
  ['DUE', waits('DUE'), 'Next in line: nothing stands in its way.', 'next in line'],
  [
    'DUE with others before it',
    { waiting: { reason: 'DUE', earliestAt: null, ahead: 812 } },
    'Waits for its turn: 812 jobs in its queue are before it.',
    'next in line',
  ],
  [
    'PAUSED while it retries',
    {
      ...waits('PAUSED', null),
      state: 'RETRYING',
      lastError: 'HTTP 500',
      ...inQueue({ pause: { since: at('11:20:00'), by: 'jf_4kQ…x7Pd' } }),
    },
    'Waits because jf_4kQ…x7Pd paused the queue at 11:20:00.',
    'queue paused since 11:20 · 500',
  ],
  ['DUE without a worker', waits('DUE'), 'Waits because no worker is running.', 'next in line', { hasWorker: false }],
  ['QUEUE_DELETED', waits('QUEUE_DELETED'), 'Its queue was deleted: the job dies in a moment.', 'dies in a moment'],
  [
    'PROCESSING',
    { status: 'PROCESSING', state: 'PROCESSING', startedAt: at('12:04:07.500') },
    'Being delivered for 3 s; the receiver has 15 s.',
    'for 3 s, of 15 s at most',
  ],
  [
    'PROCESSING, silent',
    { status: 'PROCESSING', state: 'PROCESSING', startedAt: at('12:03:50') },
    'The worker stopped responding. Jobferry will requeue this job; the attempt does not count.',
    'for 21 s, of 15 s at most',
  ],
  [
    'AWAITING_ACK',
    {
      status: 'AWAITING_ACK',
      state: 'AWAITING_ACK',
      ackDeadline: at('12:06:15'),
      progress: { text: '40 %', at: at('12:04:00') },
    },
    'Received. The worker has 2 min 4 s more to report, until 12:06:15.',
    '2 min 4 s to report · “40 %”',
  ],
  [
    'COMPLETED',
    {
      status: 'COMPLETED',
      state: 'COMPLETED',
      startedAt: at('12:04:04.788'),
      endedAt: at('12:04:05'),
      attempts: [failed(1, '', { status: 'SUCCESS', error: null, webhookStatusCode: 200 })],
    },
    'Completed at 12:04:05: the receiver answered 200 in 212 ms.',
    'in 212 ms',
  ],
  [
    'COMPLETED in ack mode',
    {
      status: 'COMPLETED',
      state: 'COMPLETED',
      startedAt: at('12:04:04'),
      endedAt: at('12:04:05'),
      ...inQueue({ mode: 'ACK' }),
    },
    'Completed at 12:04:05: the worker reported success.',
    'in 1 s',
  ],
  [
    'ATTEMPTS_EXHAUSTED',
    {
      ...dies('ATTEMPTS_EXHAUSTED'),
      attemptsMade: 5,
      lastError: 'HTTP 500',
      attempts: [1, 2, 3, 4, 5].map((n) => failed(n, 'HTTP 500')),
    },
    'Dead since 09:41:52: the receiver answered 500 on all 5 attempts.',
    '500, 5 attempts',
  ],
  [
    'ATTEMPTS_EXHAUSTED, causes differ',
    {
      ...dies('ATTEMPTS_EXHAUSTED'),
      attemptsMade: 5,
      lastError: 'connection_refused',
      attempts: [failed(1, 'HTTP 500'), failed(5, 'connection_refused')],
    },
    'Dead since 09:41:52: the last of 5 attempts failed because the receiver refused the connection.',
    'connection refused, 5 attempts',
  ],
  [
    'ACK_TIMEOUT',
    dies('ACK_TIMEOUT'),
    'Dead since 09:41:52: the worker did not report within 5 min.',
    'no report in 5 min',
  ],
  [
    'NACKED',
    {
      ...dies('NACKED'),
      lastError: 'no such order',
      attempts: [failed(1, 'no such order', { status: 'NACKED' })],
    },
    'Dead since 09:41:52: the worker refused it for good: “no such order”.',
    'refused: “no such order”',
  ],
  [
    'NACKED by the answer itself',
    { ...dies('NACKED'), lastError: 'HTTP 422', attempts: [failed(1, 'HTTP 422', { webhookStatusCode: 422 })] },
    'Dead since 09:41:52: the receiver refused it for good with 422.',
    'refused: “HTTP 422”',
  ],
  [
    'DEFER_CAP_EXHAUSTED',
    {
      ...dies('DEFER_CAP_EXHAUSTED'),
      deferCount: 50,
      attempts: [failed(1, 'HTTP 429', { status: 'DEFERRED' })],
    },
    'Dead since 09:41:52: the limit of 50 holds is used up; the receiver last answered 429.',
    '50 holds used',
  ],
  [
    'RETRY_AFTER_EXCEEDS_LIFETIME',
    dies('RETRY_AFTER_EXCEEDS_LIFETIME'),
    'Dead since 09:41:52: the receiver asked to wait past 13 Nov, 12:03:36, the end of the job’s lifetime.',
    'asked to wait too long',
  ],
  [
    'DELIVERY_LIFETIME_EXCEEDED',
    dies('DELIVERY_LIFETIME_EXCEEDED'),
    'Dead since 09:41:52: its lifetime ended at 13 Nov, 12:03:36 before it was delivered.',
    'lifetime ended',
  ],
  ['QUEUE_DELETED, dead', dies('QUEUE_DELETED'), 'Dead since 09:41:52: its queue was deleted.', 'queue deleted'],
  [
    'CANCELLED',
    { ...dies('CANCELLED'), cancelledBy: 'sam@example.com' },
    'Cancelled at 09:41:52 by sam@example.com.',
    'by sam@example.com',
  ],
  ['CANCELLED, and it is not known by whom', dies('CANCELLED'), 'Cancelled at 09:41:52.', 'cancelled'],
  [
    'DEAD without a dead letter',
    { ...dies('ATTEMPTS_EXHAUSTED'), maxAttempts: 1, attemptsMade: 1, lastError: 'timeout' },
    'Dead since 09:41:52: the receiver did not answer within 15 s on the only attempt.',
    'timeout, 1 attempt',
  ],
];

describe.each(ROWS)('%s', (_name, change, sentence, row, more = {}) => {
  const shown = { ...job, ...change };
  const read = { ...context, ...more };

  it('has its first line', () => expect(plain(textOfPhrase(sentenceOfJob(shown, read)))).toBe(sentence));
  it('has its text in a row', () => expect(plain(rowTextOfJob(shown, read))).toBe(row));
  it('has a word', () => expect(wordOfJob(shown).word).not.toBe(''));
});

it('is right when the time has passed: no negative spans', () => {
  const passed = { ...job, ...waits('BACKOFF', at('12:04:00')), lastError: 'HTTP 500' };
  expect(plain(textOfPhrase(sentenceOfJob(passed, context)))).toMatch(/^Retries in 0 s/);
});

it('keeps each time of a sentence as a time', () => {
  const pieces = sentenceOfJob({ ...job, ...waits('BACKOFF'), lastError: 'HTTP 500' }, context);
  expect(pieces).toContainEqual({ at: Date.parse(at('12:04:22')), text: '12:04:22' });
});

it('has the start of the sentence as title', () => {
  const titles = ROWS.map(([, change]) => plain(shortSentence(sentenceOfJob({ ...job, ...change }, context))));
  expect(titles[0]).toBe('Retries in 11 s');
  expect(titles).toContain('Dead since 09:41:52');
  expect(titles.filter((title) => title === '')).toEqual([]);
});

describe('the second line', () => {
  const line = (change: Partial<JobWhole>) => plain(textOfPhrase(secondLineOfJob({ ...job, ...change }, context)));

  it('says what is used and what follows', () => {
    const attempts = [failed(1, 'HTTP 500'), failed(2, 'HTTP 500'), failed(3, 'timeout')];
    expect(line({ ...waits('BACKOFF'), attemptsMade: 3, lastError: 'timeout', attempts })).toBe(
      'Attempts used: 3 of 5. The 2 earlier attempts were answered 500. If the next attempt fails too, the job is retried after 32 s.',
    );
    expect(line({ ...waits('BACKOFF'), attemptsMade: 4, attempts })).toMatch(/next attempt fails, the job dies\.$/);
    expect(line(waits('DUE'))).toBe('Attempts used: 0 of 5. If the next attempt fails, the job is retried after 4 s.');
  });

  it('counts holds, which use no attempt', () => {
    expect(line({ ...waits('HELD'), deferCount: 3 })).toBe('Holds used: 3 of 50. Attempts used: 0 of 5.');
  });

  it('says what a job of a paused queue would wait for itself', () => {
    const paused = { ...waits('PAUSED', null), state: 'RETRYING', attemptsMade: 1, lastError: 'HTTP 500' } as const;
    expect(line(paused)).toMatch(
      /^Its retry is set for 12:04:22, because the receiver answered 500\. Attempts used: 1 of 5\./,
    );
    expect(line({ ...waits('QUEUE_HELD'), state: 'SCHEDULED' })).toMatch(/^It is scheduled for 12:04:22\. Attempts/);
    expect(line({ ...waits('PAUSED', null), state: 'HELD', lastError: 'HTTP 429', deferCount: 2 })).toBe(
      'The job itself is held until 12:04:22, because the receiver answered 429. Holds used: 2 of 50. Attempts used: 0 of 5.',
    );
  });

  it('the second line of a job that awaits its ack says how the receiver answered', () => {
    const receipt = { webhookStatusCode: 202, durationMs: 48, responseBody: null };
    expect(line({ status: 'AWAITING_ACK', state: 'AWAITING_ACK', attemptsMade: 1, receipt })).toMatch(
      /^The receiver answered 202 in 48 ms\. This is attempt 1 of 5\./,
    );
  });

  it('quotes the progress of the worker', () => {
    expect(
      line({ status: 'AWAITING_ACK', state: 'AWAITING_ACK', progress: { text: '40 %', at: at('12:04:00') } }),
    ).toBe('The worker said “40 %” at 12:04:00.');
  });
});

describe('the word of a job', () => {
  const word = (change: Partial<JobWhole>) => wordOfJob({ ...job, ...change }).word;

  it('is that of its state, also while its queue is paused', () => {
    expect(word(waits('BACKOFF'))).toBe('Retrying');
    expect(word({ ...waits('PAUSED', null), state: 'RETRYING' })).toBe('Retrying');
    expect(word({ ...waits('PAUSED', null), state: 'SCHEDULED' })).toBe('Scheduled');
    expect(word({ ...waits('RATE_LIMIT'), state: 'HELD' })).toBe('Held');
  });

  it('is that of the reason, for what is due', () => {
    expect(word(waits('PAUSED', null))).toBe('Paused');
    expect(word(waits('CONCURRENCY', null))).toBe('No free slot');
    expect(word({ ...waits('QUEUE_DELETED', null), state: 'RETRYING' })).toBe('Queue deleted');
  });
});

describe('a dead job that was replayed', () => {
  const replayedAt = at('12:00:59');
  const replay = {
    id: `${'0'.repeat(19)}007ce`,
    state: 'DUE',
    deadReason: null,
    waiting: null,
    endedAt: null,
  } as const;
  const told = (change: Partial<Parameters<typeof replayText>[1] & object> | null) =>
    plain(textOfPhrase(replayText(replayedAt, change === null ? null : { ...replay, ...change }, context)));

  it('has a word of its own, and its row says since when', () => {
    const dead = {
      ...job,
      status: 'DEAD',
      state: 'DEAD',
      lastError: 'HTTP 500',
      attemptsMade: 2,
      waiting: null,
    } as const;
    expect(wordOfJob({ ...dead, deadLetter: { replayedAt } })).toMatchObject({
      word: 'Dead, replayed',
      signal: 'idle',
    });
    expect(wordOfJob({ ...dead, deadLetter: { replayedAt: null } }).word).toBe('Dead');
    expect(rowTextOfJob({ ...dead, deadLetter: { replayedAt } }, context)).toBe('replayed at 12:00 · 500, 2 attempts');
    expect(rowTextOfJob({ ...dead, lastError: 'reset' }, context)).toBe('connection reset, 2 attempts');
    const row = (change: object) => {
      const lastReplay = { ...replay, ...change };
      return rowTextOfJob({ ...dead, deadLetter: { replayedAt, lastReplay } }, context);
    };
    const endedAt = at('12:03:11');
    expect(row({})).toBe('replayed at 12:00, not ended · 500, 2 attempts');
    expect(row({ state: 'COMPLETED', endedAt })).toBe('replayed, completed at 12:03 · 500, 2 attempts');
    expect(row({ state: 'DEAD', endedAt })).toBe('replayed, dead again at 12:03 · 500, 2 attempts');
    expect(row({ state: 'DEAD', deadReason: 'CANCELLED', endedAt })).toMatch(/^replayed, cancelled at 12:03/);
  });

  it('has moved on when the last of its replays was replayed', () => {
    const after = (own: string | null, last: string | null) =>
      courseOf({
        ...job,
        deadLetter: { replayedAt: own, lastReplay: { ...replay, deadLetter: { replayedAt: last } } },
      });
    expect(new Set([after(null, null), after(replayedAt, null), after(replayedAt, at('12:03:11'))]).size).toBe(3);
  });

  it('says what became of the last replay of a chain', () => {
    const last = { ...replay, state: 'COMPLETED', endedAt: at('12:03:11') } as const;
    expect(plain(textOfPhrase(replayText(replayedAt, last, context, false)))).toBe(
      'Replayed at 12:00:59; that replay died and was replayed, too. The last replay …007ce completed at 12:03:11.',
    );
  });

  it('says what became of its replay', () => {
    expect(told(null)).toBe('Replayed at 12:00:59.');
    expect(told({})).toBe('Replayed at 12:00:59; the replay …007ce is due.');
    expect(told({ state: 'COMPLETED', endedAt: at('12:01:12') })).toBe(
      'Replayed at 12:00:59; the replay …007ce completed at 12:01:12.',
    );
    expect(told({ state: 'DEAD', endedAt: at('12:01:12') })).toBe(
      'Replayed at 12:00:59; the replay …007ce is dead since 12:01:12.',
    );
  });
});

describe('a job that is not there', () => {
  it('may have been removed, or never have been', () => {
    expect(plain(sentenceOfMissingJob(259_200))).toBe('No job has this id. Jobs are kept for 72 h.');
  });
});
