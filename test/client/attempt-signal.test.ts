import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { watchAttempt } from '../../packages/client/src/webhook/attempt-signal.ts';
import type { DeliveredJob } from '../../packages/client/src/webhook/delivery.ts';
import type { JobAnswer } from '../../packages/client/src/webhook/job-calls.ts';

/** The end of an attempt whose ack deadline has passed, at a stopped clock, by the answers to the reads of its job. */

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const DEADLINE_MS = 13_000;
const job = { id: 'b'.repeat(24), attempt: 2 } as DeliveredJob<unknown>;
const answerOf = (status: number, body: unknown) => ({ status, body, headers: new Headers() }) as JobAnswer;
const AWAITED = answerOf(200, { status: 'awaiting_ack', attempts: 2 });
const PAGE = '<html>nginx</html>';

/** Watches an attempt whose job reads return these answers in turn, the last one for ever. */
function watch(...answers: JobAnswer[]) {
  const seen = { reads: 0 };
  const get = async () => answers[Math.min(seen.reads++, answers.length - 1)] ?? AWAITED;
  const attempt = watchAttempt({ get }, job);
  onTestFinished(() => attempt.stop());
  attempt.lastsUntil(performance.now() + DEADLINE_MS);
  return { seen, signal: attempt.signal };
}

describe('the signal of an attempt', () => {
  it.each<[string, JobAnswer]>([
    ['a job that failed', answerOf(200, { status: 'dead', attempts: 2 })],
    ['a later attempt', answerOf(200, { status: 'awaiting_ack', attempts: 3 })],
    ['a removed job', answerOf(404, { error: 'job not found' })],
    ['an ended report URL', answerOf(404, { error: 'this report URL is not valid, or its time is over' })],
  ])('ends the attempt at the read of %s', async (_what, over) => {
    const { signal, seen } = watch(AWAITED, over);
    await vi.advanceTimersByTimeAsync(DEADLINE_MS + 2000);
    expect(signal).toMatchObject({ aborted: true, reason: { name: 'TimeoutError' } });
    expect(seen.reads).toBe(2);
  });

  it.each<[string, JobAnswer]>([
    ['a 404 page', answerOf(404, PAGE)],
    ['a 404 with an error', answerOf(404, { error: 'no such upstream' })],
    ['a 403 page', answerOf(403, PAGE)],
    ['a 400 page', answerOf(400, PAGE)],
    ['a revoked key', answerOf(401, { error: 'missing or invalid API key' })],
    ['an internal error', answerOf(500, { error: 'internal error' })],
    ['a 200 of something else', answerOf(200, { status: 'ok' })],
    ['a 200 without a body', answerOf(200, null)],
  ])('outlives %s, which ends it only when nothing else is returned for 5 minutes', async (_what, other) => {
    const lasting = watch(other, other, AWAITED);
    const silent = watch(other);
    await vi.advanceTimersByTimeAsync(DEADLINE_MS + 290_000);
    expect(lasting).toMatchObject({ signal: { aborted: false } });
    expect(silent).toMatchObject({ signal: { aborted: false } });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(lasting).toMatchObject({ signal: { aborted: false } });
    expect(silent).toMatchObject({ signal: { aborted: true } });
  });

  it('stays as it is with a key that has no scope to read', async () => {
    const { signal, seen } = watch(
      answerOf(403, { error: 'this API key has no right to this: it needs the scope read' }),
    );
    await vi.advanceTimersByTimeAsync(DEADLINE_MS + 400_000);
    expect(signal.aborted).toBe(false);
    expect(seen.reads).toBe(1);
  });
});
