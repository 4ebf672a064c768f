import { describe, expect, it } from 'vitest';
import { crossingOf, type Part } from '../../packages/dashboard/words/crossing.ts';
import { type AttemptNow, isBehind, type JobWhole } from '../../packages/dashboard/words/job.ts';

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');
const at = (clock: string) => `2026-11-12T${clock}Z`;
const context = { now: Date.parse(at('12:04:11')), zone: 'utc', webhookTimeoutSeconds: 15 } as const;

const attempt = (number: number, clock: string, more: Partial<AttemptNow> = {}): AttemptNow => ({
  attempt: number,
  status: 'FAILED',
  at: at(clock),
  durationMs: 200,
  waitMs: 20,
  webhookStatusCode: 500,
  error: 'HTTP 500',
  startedAt: null,
  retryAt: null,
  heldUntil: null,
  ...more,
});

const job: JobWhole = {
  id: '0'.repeat(24),
  status: 'PENDING',
  state: 'RETRYING',
  attemptsMade: 3,
  maxAttempts: 5,
  deferCount: 0,
  createdAt: at('12:03:36.900'),
  scheduledFor: at('12:04:22'),
  startedAt: null,
  endedAt: null,
  ackDeadline: null,
  lastError: 'timeout',
  deadReason: null,
  cancelledBy: null,
  receipt: null,
  waiting: { reason: 'BACKOFF', earliestAt: at('12:04:22') },
  deliverBy: at('23:00:00'),
  backoffType: 'EXPONENTIAL',
  backoffDelay: 4,
  progress: null,
  attempts: [
    attempt(1, '12:03:37.212'),
    attempt(2, '12:03:41.500'),
    attempt(3, '12:04:05', { durationMs: 15_000, webhookStatusCode: null, error: 'timeout' }),
  ],
  queue: {
    mode: 'STANDARD',
    concurrency: 5,
    inFlight: 0,
    rateLimitMax: null,
    rateLimitWindow: 60,
    maxDefers: 50,
    ackTimeout: 300,
    pause: null,
    hold: null,
    rateWindow: null,
  },
};

/** Stops as their words, legs as what they are. */
function words(parts: Part[]): string[] {
  return parts.map((part) => {
    if (part.kind === 'now') return '|';
    if (part.kind === 'more') return `+${part.count}`;
    if (part.kind === 'stop') return plain(`[${part.label}: ${part.sub}]${part.isLater ? ' later' : ''}`);
    const look = [
      part.signal,
      part.isWait && 'wait',
      part.isSlow && 'slow',
      part.isLater && 'later',
      part.isCut && 'cut',
    ];
    return plain(`${part.label} (${look.filter(Boolean).join(' ')})`);
  });
}
const crossing = (change: Partial<JobWhole>, isWhole = false) =>
  words(crossingOf({ ...job, ...change }, context, isWhole));

describe('the crossing', () => {
  it('the crossing of a job that retries has its attempts and its backoffs', () => {
    expect(crossing({})).toEqual([
      '[Published: 12:03:36.9]',
      '112 ms ()',
      '[500: #1 · 200 ms]',
      'backoff 4.1 s (warn wait)',
      '[500: #2 · 200 ms]',
      'backoff 8.5 s (warn wait)',
      'no answer, 15 s (bad slow)',
      '[timeout: #3 · 12:04:05]',
      ' (warn wait)',
      '|',
      '11 s of 17 s left (warn wait)',
      '[Attempt 4: 12:04:22] later',
      'at most (later cut)',
      '[Gives up: after attempt 5] later',
    ]);
  });

  it('the crossing has the whole of an error that it cuts', () => {
    const nacked = attempt(1, '12:03:37.212', {
      webhookStatusCode: null,
      status: 'NACKED',
      error: 'the model is overloaded',
    });
    const parts = crossingOf({ ...job, attempts: [nacked] }, context, false);
    expect(parts).toContainEqual(
      expect.objectContaining({ label: 'the model is over…', whole: 'the model is overloaded' }),
    );
  });

  it('the crossing of a held job repeats the same attempt', () => {
    const held = attempt(1, '12:03:38', { status: 'DEFERRED', webhookStatusCode: 429, error: 'HTTP 429' });
    const waiting = { reason: 'HELD', earliestAt: at('12:04:48') } as const;
    expect(crossing({ attempts: [held], attemptsMade: 0, waiting }).slice(2, 6)).toEqual([
      '[429: #1 · 200 ms]',
      ' (hold wait)',
      '|',
      '37 s of 1 min 10 s left (hold wait)',
    ]);
    expect(crossing({ attempts: [held], attemptsMade: 0, waiting })).toContain('[Attempt 1: 12:04:48] later');
  });

  it('the crossing of a job that waits for an event has no time at its end', () => {
    const waiting = { reason: 'CONCURRENCY', earliestAt: null } as const;
    const parts = crossing({ attempts: [], attemptsMade: 0, waiting, state: 'DUE', scheduledFor: at('12:03:36.900') });
    expect(parts.slice(1, 5)).toEqual([
      '34.1 s (idle wait)',
      '|',
      'no free slot (idle wait)',
      '[Attempt 1: next] later',
    ]);
  });

  it('the crossing of a retrying job in a paused queue shows its backoff, then the pause', () => {
    const parts = crossing({ waiting: { reason: 'PAUSED', earliestAt: null } });
    expect(parts.slice(8, 13)).toEqual([
      ...[' (warn wait)', '|', '11 s of backoff left (warn wait)', 'paused (idle wait)'],
      '[Attempt 4: next] later',
    ]);
  });

  it('tells a backoff from the time that the job waited for its queue after it', () => {
    const first = attempt(1, '12:00:00', { retryAt: at('12:00:04') });
    const held = attempt(2, '12:02:10', { status: 'DEFERRED', heldUntil: at('12:02:40') });
    const attempts = [first, held, attempt(2, '12:02:41')];
    const labels = crossing({ createdAt: at('11:59:59'), attempts }).filter((part) => /backoff|held/.test(part));
    expect(labels.slice(0, 2)).toEqual([
      'backoff 4 s, then 2 min 6 s waiting for the queue (warn wait)',
      'held 30.8 s (hold wait)',
    ]);
    const [soon] = crossing({
      createdAt: at('11:59:59'),
      attempts: [attempt(1, '12:00:00', { retryAt: at('12:00:01') }), attempt(2, '12:00:04')],
    }).filter((part) => /backoff/.test(part));
    expect(soon).toMatch(/^backoff 1 s, then 2\.\d s waiting for the queue/);
  });

  it('the crossing of a running job shows how long its attempt may still take', () => {
    const change = {
      status: 'PROCESSING',
      attempts: [],
      attemptsMade: 1,
      startedAt: at('12:04:07'),
      waiting: null,
    } as const;
    expect(crossing(change).slice(2)).toEqual([
      '[Attempt 1: 12:04:07]',
      '4 s (run slow)',
      '|',
      '11 s at most (later)',
      '[Answer: ] later',
    ]);
  });

  it('the crossing of a completed job ends with the attempt that succeeded', () => {
    const done = attempt(1, '12:03:38', { status: 'SUCCESS', webhookStatusCode: 200, error: null });
    const parts = crossing({
      status: 'COMPLETED',
      attempts: [done],
      attemptsMade: 1,
      endedAt: at('12:03:38'),
      waiting: null,
    });
    expect(parts.at(-1)).toBe('[Completed: #1 · 200 · 12:03:38]');
  });

  it('the crossing of a dead or cancelled job ends with that', () => {
    const dead = { status: 'DEAD', waiting: null, endedAt: at('12:04:05') } as const;
    expect(crossing({ ...dead, deadReason: 'ATTEMPTS_EXHAUSTED' }).slice(-2)).toEqual([' (bad)', '[Dead: 12:04:05]']);
    expect(crossing({ ...dead, deadReason: 'CANCELLED' }).at(-1)).toBe('[Cancelled: 12:04:05]');
  });

  it('the crossing shows how long the worker had the job in ack mode', () => {
    const startedAt = at('12:03:37');
    const silent = attempt(1, '12:08:37', { webhookStatusCode: 200, error: 'ack_timeout', startedAt });
    const change = { attempts: [silent], queue: { ...job.queue, mode: 'ACK' } } as const;
    expect(crossing(change).slice(1, 4)).toEqual(['100 ms ()', '5 min (ack slow)', '[ack timeout: #1 · 200 ms]']);
  });

  it('the crossing of a job that awaits its ack begins with the answer that took it', () => {
    const change: Partial<JobWhole> = {
      status: 'AWAITING_ACK',
      state: 'AWAITING_ACK',
      waiting: null,
      attempts: [],
      attemptsMade: 1,
      startedAt: at('12:04:00'),
      ackDeadline: at('12:09:02'),
      receipt: { webhookStatusCode: 202, durationMs: 2000, responseBody: null },
    };
    expect(crossing(change).slice(2)).toEqual([
      ...['2 s (ack slow)', '[Received: #1 · 202 · 12:04:02]', '9 s (ack slow)', '|'],
      ...['4 min 51 s left to report (ack wait)', '[Report due: 12:09:02] later'],
    ]);
  });

  it('the crossing of many attempts shows the last four, and all when asked', () => {
    const attempts = Array.from({ length: 13 }, (_, n) =>
      attempt(n + 1, `12:0${Math.floor(n / 6)}:${10 + (n % 6) * 8}`),
    );
    const short = crossing({ attempts });
    expect(short[1]).toBe('+9');
    expect(short.filter((part) => part.startsWith('[500'))).toHaveLength(4);
    expect(crossing({ attempts }, true).filter((part) => part.startsWith('[500'))).toHaveLength(13);
  });

  it('draws a longer wait wider, by the logarithm', () => {
    const weights = crossingOf(job, context, false).flatMap((part) => (part.kind === 'leg' ? [part.weight] : []));
    expect(weights[1]).toBeGreaterThan(weights[0] ?? 0);
    expect(Math.max(...weights)).toBeLessThanOrEqual(4);
    expect(Math.min(...weights)).toBeGreaterThanOrEqual(0.5);
  });
});

describe('a job whose attempts are older than its counts', () => {
  it.each([
    [{}, false],
    [{ attemptsMade: 4 }, true],
    [{ status: 'PROCESSING', attemptsMade: 4 }, false],
    [{ status: 'PROCESSING', attemptsMade: 5 }, true],
    [{ deferCount: 1 }, true],
  ] as const)('%j: %s', (change, expected) => expect(isBehind({ ...job, ...change })).toBe(expected));
});
