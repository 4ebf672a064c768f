import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { JobferryConnectionError } from '../../packages/client/src/errors.ts';
import { watchAttempt } from '../../packages/client/src/webhook/attempt-signal.ts';
import type { DeliveredJob } from '../../packages/client/src/webhook/delivery.ts';
import { createExtension } from '../../packages/client/src/webhook/extend.ts';
import { expressHandler, fetchHandler } from '../../packages/client/src/webhook/index.ts';
import {
  createJobCalls,
  createUrlCalls,
  type ExtendAnswer,
  type JobCalls,
} from '../../packages/client/src/webhook/job-calls.ts';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** The heartbeat of an attempt, against answers that a healthy service does not give. */

const job = { id: 'a'.repeat(24), attempt: 1 } as DeliveredJob<unknown>;
const headers = new Headers();
const extended: ExtendAnswer = { status: 200, body: { deadline: '2026-01-31T12:00:00.000Z' }, headers };
const refusal = (status: 400 | 401 | 403 | 404 | 500 | 503, isOver = false): ExtendAnswer => ({
  status,
  body: { error: 'no' },
  headers,
  isOver,
});
const lost = () => Promise.reject(new JobferryConnectionError('POST /graphql', 1, new Error('cut')));
const ACK_TIMEOUT_MS = 90;

/** A heartbeat that gets these answers in turn, and then successes. */
function startBeats(...answers: (ExtendAnswer | (() => Promise<never>))[]) {
  const timeouts: (number | undefined)[] = [];
  const errors: Error[] = [];
  const calls = {
    get: () => Promise.reject(new Error('not asked')),
    extend: (_input: object, timeoutMs?: number) => {
      const answer = answers[timeouts.push(timeoutMs) - 1] ?? extended;
      return typeof answer === 'function' ? answer() : Promise.resolve(answer);
    },
  } as unknown as JobCalls;
  const watch = watchAttempt(calls, job);
  const stopped = new AbortController();
  onTestFinished(() => {
    stopped.abort();
    watch.stop();
  });
  const ended = createExtension(calls, job, watch)
    .beat(ACK_TIMEOUT_MS, stopped.signal, (error) => errors.push(error))
    .then(
      () => 'ended',
      (error: unknown) => error,
    );
  return { timeouts, errors, watch, stopped, ended };
}

describe('a heartbeat', () => {
  it('goes on after server errors, lost answers and refusals for the moment', async () => {
    const { timeouts, watch, stopped, ended } = startBeats(refusal(500), lost, refusal(503), lost, refusal(500));
    await waitFor(() => timeouts.length >= 8, { message: 'the beats after the failures' });
    expect(watch.signal.aborted).toBe(false);
    stopped.abort();
    expect(await ended).toBe('ended');
    // No request may take longer than the time to the next one.
    expect(new Set(timeouts)).toEqual(new Set([ACK_TIMEOUT_MS / 3]));
  });

  it.each([refusal(400, true), refusal(404, true)])('ends the attempt that the service says is over', async (over) => {
    const { timeouts, watch, ended } = startBeats(extended, over);
    expect(await ended).toBe('ended');
    expect(watch.signal).toMatchObject({ aborted: true, reason: { name: 'TimeoutError' } });
    expect(timeouts).toHaveLength(2);
  });

  it.each([refusal(400), refusal(401), refusal(403), refusal(404)])(
    'tells a refusal of anything else, and goes on',
    async (other) => {
      const { timeouts, errors, watch, stopped, ended } = startBeats(other);
      await waitFor(() => timeouts.length >= 3, { message: 'the beats after the refusal' });
      expect(errors).toMatchObject([{ name: 'JobferryApiError', status: other.status }]);
      expect(watch.signal.aborted).toBe(false);
      stopped.abort();
      expect(await ended).toBe('ended');
    },
  );
});

describe('the answer to an extension', () => {
  it.each<[string, number, unknown, object]>([
    [
      'a typed refusal',
      200,
      { data: { extendAck: { __typename: 'InvalidRequestError', message: 'm' } } },
      { status: 400, isOver: true },
    ],
    [
      'a wrong argument',
      200,
      { data: { extendAck: { __typename: 'ValidationError', message: 'm' } } },
      { status: 400, isOver: false },
    ],
    [
      'a key that is gone',
      401,
      { errors: [{ message: 'm', extensions: { code: 'UNAUTHENTICATED' } }] },
      { status: 401, isOver: false },
    ],
    [
      'a mistake of the service',
      200,
      { errors: [{ message: 'm', extensions: { code: 'INTERNAL_SERVER_ERROR' } }] },
      { status: 500 },
    ],
    [
      'an older service',
      400,
      { errors: [{ message: 'm', extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }] },
      { status: 400, isOver: false },
    ],
    ['a page of a proxy', 404, '<html>', { status: 404, isOver: false }],
  ])('has the status that a route would have for %s', async (_what, status, body, expected) => {
    const receiver = await openReceiver({ status, body: typeof body === 'string' ? body : JSON.stringify(body) });
    const calls = createJobCalls({ baseUrl: receiver.url, apiKey: 'k' }, job.id);
    expect(await calls.extend({ attempt: 1, seconds: 1, progress: undefined })).toMatchObject(expected);
  });
});

describe('the answer to an extension by the report URL', () => {
  it.each<[boolean, number, unknown]>([
    [true, 400, { error: 'the job is completed, not awaiting_ack' }],
    [true, 400, { error: 'the job is no longer awaiting_ack: a report or its timeout came first' }],
    [true, 400, { error: 'the queue is not in ack mode' }],
    [true, 400, { error: 'attempt 3 is over, attempt 4 is in flight' }],
    [true, 404, { error: 'job not found' }],
    [true, 404, { error: 'this report URL is not valid, or its time is over' }],
    [false, 400, { error: 'seconds: Expected number, received string' }],
    [false, 400, { error: 'Bad Request', statusCode: 400 }],
    [false, 400, '<html>'],
    [false, 404, '<html>'],
    [false, 404, { error: 'not found' }],
    [false, 401, { error: 'attempt 3 is over' }],
  ])('says %s for isOver of a %d with %o', async (isOver, status, body) => {
    const receiver = await openReceiver({ status, body: typeof body === 'string' ? body : JSON.stringify(body) });
    const answer = await createUrlCalls(receiver.url, job.id).extend({ attempt: 1, seconds: 7, progress: undefined });
    expect(answer).toMatchObject({ status, isOver });
  });
});

describe('an error of a callback', () => {
  it.each<[string, () => never | Promise<never>]>([
    [
      'throws',
      () => {
        throw new Error('in the callback');
      },
    ],
    ['rejects', () => Promise.reject(new Error('in the callback'))],
  ])('is written to the console if it %s, and the request is answered', async (_how, onRefused) => {
    const said = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => said.mockRestore());
    const handle = fetchHandler({ secret: 's', onRefused }, () => undefined);
    expect((await handle(new Request('http://localhost/', { method: 'POST', body: '{}' }))).status).toBe(401);
    await waitFor(() => said.mock.calls.length > 0, { message: 'the line' });
    expect(String(said.mock.calls[0]?.[1])).toBe('Error: in the callback');
  });
});

it.each([0, -1, Number.NaN, 86_401])('an ackTimeout of %d is refused', (ackTimeout) => {
  expect(() => expressHandler({ secret: 's', ackTimeout }, () => undefined)).toThrow(/ackTimeout/);
});
