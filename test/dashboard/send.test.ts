import { describe, expect, it } from 'vitest';
import { curlOf, curlOfAgain } from '../../packages/dashboard/features/jobs/model/curl.ts';
import { checkPayload } from '../../packages/dashboard/features/jobs/model/payload-check.ts';
import { sentenceOfSent } from '../../packages/dashboard/features/jobs/model/send-sentence.ts';
import type { AttemptNow, JobWhole } from '../../packages/dashboard/words/job.ts';
import { textOfPhrase } from '../../packages/dashboard/words/phrase.ts';

describe('a payload', () => {
  const problem = (text: string) => {
    const check = checkPayload(text);
    return check.ok ? null : check.problem;
  };

  it('is a JSON object, measured in bytes', () => {
    expect(checkPayload('{"name":"Zoë"}')).toEqual({ ok: true, bytes: 15 });
    expect(checkPayload('\n {} ')).toMatchObject({ ok: true });
    expect(checkPayload('{"n":9007199254740993,"big":1e400,"n":1}')).toMatchObject({ ok: true });
  });

  it('is refused with line and column', () => {
    expect(problem('{\n  "a": 1,\n}')).toBe('Line 3, column 1: expected a key in quotes here.');
    expect(checkPayload('{"a": nil}')).toMatchObject({ ok: false, at: 6 });
    expect(problem('[1]')).toBe('A payload is an object: it begins with {.');
    expect(problem('  ')).toBe('A payload is a JSON object, such as {}.');
  });

  it('is at most 1 MiB, and so is the request that has it as a text', () => {
    const of = (length: number) => `{"a":"${'x'.repeat(length - 8)}"}`;
    expect(checkPayload(of(1024 * 1024 - 4200))).toMatchObject({ ok: true });
    expect(problem(of(1024 * 1024 + 1))).toBe('A payload is at most 1 MiB.');
    const escaped = 'With each quote escaped, as this page has to send it, it is over 1 MiB. Send it with curl.';
    expect(problem(of(1024 * 1024))).toBe(escaped);
    const quotes = `{"a":[${'"",'.repeat(220_000)}0]}`;
    expect(quotes.length).toBeLessThan(700_000);
    expect(problem(quotes)).toBe(escaped);
  });
});

describe('the command for a shell', () => {
  it('passes the payload on byte for byte', () => {
    const payloadText = '{"it\'s":"$HOME `x`",\n"n":1.0}';
    const command = curlOf('http://localhost/v1/queues/a/jobs', { payloadText, idempotencyKey: 'k"1', delay: 0 });
    expect(command).toContain('<<\'JOBFERRY\'\n{"idempotencyKey":"k\\"1","payload":{"it\'s":"$HOME `x`",\n"n":1.0}}\n');
  });

  it('publishes a job once more under another key, where the API looks for it', () => {
    const again = (idempotencyKey: string | null) =>
      curlOfAgain('http://localhost/', { payloadText: '{}', idempotencyKey });
    expect(again('order-1')).toContain('\n{"idempotencyKey":"order-1-again","payload":{}}\n');
    expect(again(null)).toContain('\n{"payload":{}}\n');
  });
});

describe('what came back', () => {
  const now = Date.parse('2026-11-12T12:04:11Z');
  const context = { now, zone: 'utc', webhookTimeoutSeconds: 15, hasWorker: true } as const;
  const attempt: AttemptNow = {
    attempt: 1,
    status: 'SUCCESS',
    at: '2026-11-12T12:04:10Z',
    durationMs: 48,
    waitMs: 6,
    webhookStatusCode: 200,
    error: null,
    startedAt: null,
    retryAt: null,
    heldUntil: null,
  };
  const job: JobWhole = {
    id: '6915b9fa0000000000000001',
    status: 'COMPLETED',
    state: 'COMPLETED',
    attemptsMade: 1,
    maxAttempts: 3,
    deferCount: 0,
    createdAt: '2026-11-12T12:04:09Z',
    scheduledFor: '2026-11-12T12:04:09Z',
    startedAt: '2026-11-12T12:04:09Z',
    endedAt: '2026-11-12T12:04:10Z',
    ackDeadline: null,
    lastError: null,
    deadReason: null,
    waiting: null,
    cancelledBy: null,
    receipt: null,
    deliverBy: '2026-11-13T12:04:09Z',
    backoffType: 'EXPONENTIAL',
    backoffDelay: 2,
    progress: null,
    attempts: [attempt],
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
  const failed = { ...attempt, status: 'FAILED', webhookStatusCode: 500, error: 'HTTP 500' } as const;
  const refused = { ...failed, webhookStatusCode: null, error: 'connection_refused' } as const;
  const waiting = { reason: 'BACKOFF', earliestAt: '2026-11-12T12:04:13Z' } as const;

  it.each<[string, Partial<JobWhole>]>([
    ['The receiver answered 200 in 48 ms. The job is completed.', {}],
    [
      'The receiver answered 500 in 48 ms. The job retries in 2 s.',
      { status: 'PENDING', attempts: [failed], waiting, lastError: 'HTTP 500' },
    ],
    [
      'The receiver refused the connection. The job retries in 2 s.',
      { status: 'PENDING', attempts: [refused], waiting, lastError: 'connection_refused' },
    ],
    [
      'The receiver answered 500 in 48 ms. The job is dead.',
      { status: 'DEAD', attempts: [failed], deadReason: 'ATTEMPTS_EXHAUSTED', lastError: 'HTTP 500' },
    ],
    [
      'Dead since 12:04:10: the worker did not report within 5 min.',
      {
        status: 'DEAD',
        deadReason: 'ACK_TIMEOUT',
        lastError: 'ack_timeout',
        queue: { ...job.queue, mode: 'ACK' },
        attempts: [{ ...attempt, status: 'FAILED', error: 'ack_timeout' }],
      },
    ],
    [
      'The receiver answered 202 in 48 ms. The worker has 4 min 51 s to report.',
      {
        status: 'AWAITING_ACK',
        attempts: [],
        ackDeadline: '2026-11-12T12:09:02Z',
        receipt: { webhookStatusCode: 202, durationMs: 48, responseBody: null },
      },
    ],
    [
      'The receiver accepted it. The worker has 4 min 51 s to report.',
      { status: 'AWAITING_ACK', attempts: [], ackDeadline: '2026-11-12T12:09:02Z' },
    ],
    [
      'Being delivered for 2 s; the receiver has 15 s.',
      { status: 'PROCESSING', attempts: [], startedAt: '2026-11-12T12:04:09Z' },
    ],
  ])('%s', (expected, change) => {
    expect(textOfPhrase(sentenceOfSent({ ...job, ...change }, context)).replace(/\u00a0/g, ' ')).toBe(expected);
  });
});
