import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { signedDelivery } from '../../packages/client/src/testing/index.ts';
import { fetchHandler, type HandlerFunction } from '../../packages/client/src/webhook/index.ts';

/** The heartbeat of an attempt in ack mode, at a stopped clock and with the answers of a service that is not there. */

const secret = 'whsec_of-the-queue';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }));
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

type Respond = (url: string, body: string) => Response | Promise<Response>;

const EXTENDED = { data: { extendAck: { __typename: 'ExtendAckPayload', deadline: '2030-01-01T00:00:00.000Z' } } };
const JOB = { status: 'awaiting_ack', attempts: 1, history: [] };

/**
 * Delivers one job to a handler with a heartbeat. Returns what it has told and sent, and when its function was aborted.
 */
async function deliver(ackTimeout: number, run: HandlerFunction<object>, respond: Respond) {
  const seen = { extensions: 0, errors: [] as Error[], aborted: false };
  vi.stubGlobal('fetch', async (url: string, { body, signal }: RequestInit) => {
    const isExtension = String(body).includes('extendAck');
    if (isExtension) seen.extensions += 1;
    return await new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason));
      Promise.resolve(respond(url, String(body))).then(resolve, reject);
    });
  });
  const onError = (error: unknown) => void seen.errors.push(error as Error);
  const handle = fetchHandler(
    { mode: 'ack', heartbeat: true, secret, baseUrl: 'http://jobferry.test', apiKey: 'k', ackTimeout, onError },
    (delivery) => {
      delivery.signal.addEventListener('abort', () => {
        seen.aborted = true;
      });
      return run(delivery);
    },
  );
  const answer = await handle(new Request('http://receiver.test/', await signedDelivery({}, { secret })));
  expect(answer.status).toBe(202);
  return seen;
}

const endless: HandlerFunction<object> = () => new Promise(() => undefined);
const healthy: Respond = (url) => Response.json(url.endsWith('/graphql') ? EXTENDED : JOB);

describe('a heartbeat', () => {
  // A third of most of them is no whole number of milliseconds.
  it.each([1, 1.5, 2, 3, 4, 5, 10, 20, 500])(
    'extends an ack timeout of %d s at each third of it',
    async (ackTimeout) => {
      const seen = await deliver(ackTimeout, endless, healthy);
      await vi.advanceTimersByTimeAsync(ackTimeout * 3000 + 100);
      expect(seen).toEqual({ extensions: expect.any(Number), errors: [], aborted: false });
      expect([8, 9]).toContain(seen.extensions);
    },
  );

  it('a heartbeat that fails is repeated sooner, and is no error if a later one is accepted in time', async () => {
    let failures = 2;
    const failing: Respond = (url, body) => {
      if (!body.includes('extendAck') || failures === 0) return healthy(url, body);
      failures -= 1;
      return failures === 1 ? Promise.reject(new TypeError('fetch failed')) : new Response('', { status: 503 });
    };
    const seen = await deliver(12, endless, failing);
    await vi.advanceTimersByTimeAsync(6_100);
    expect(seen).toEqual({ extensions: 3, errors: [], aborted: false });
    await vi.advanceTimersByTimeAsync(12_000);
    expect(seen).toEqual({ extensions: 6, errors: [], aborted: false });
  });

  it('a heartbeat that is not accepted before the ack deadline is an error once', async () => {
    const refused = (url: string) => (url.endsWith('/graphql') ? new Response('', { status: 503 }) : healthy(url, ''));
    const seen = await deliver(10, endless, refused);
    await vi.advanceTimersByTimeAsync(9_900);
    expect(seen.errors).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen.errors.map(String)).toEqual([
      expect.stringMatching(/^Error: no heartbeat was accepted before the ack deadline: .*503/),
    ]);
    expect(seen).toMatchObject({ aborted: false });
  });

  it('a heartbeat that is not accepted before an attempt is over is an error', async () => {
    const over = (url: string) =>
      url.endsWith('/graphql') ? new Response('', { status: 502 }) : Response.json({ ...JOB, status: 'dead' });
    const seen = await deliver(10, endless, over);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(seen).toMatchObject({ aborted: true, errors: [{ message: expect.stringContaining('no heartbeat') }] });
  });

  it('a heartbeat that no service answers is an error, and goes on', async () => {
    let isAway = true;
    const away: Respond = (url, body) => (isAway ? new Promise(() => undefined) : healthy(url, body));
    const seen = await deliver(4, endless, away);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(seen.errors).toMatchObject([{ cause: { name: 'JobferryConnectionError' } }]);
    isAway = false;
    const before = seen.extensions;
    await vi.advanceTimersByTimeAsync(12_000);
    expect(seen.extensions - before).toBeGreaterThan(7);
    expect(seen.errors).toHaveLength(1);
    isAway = true;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(seen.errors).toHaveLength(2);
  });

  /** Answers that a service whose attempt still runs does not give, or only to a key that was revoked. */
  const REFUSALS: [string, number, string | object][] = [
    ['a 404 page', 404, '<html>nginx</html>'],
    ['a 404 with an error', 404, { error: 'no such upstream' }],
    ['a 401 page', 401, '<html>nginx</html>'],
    ['a 403 page', 403, '<html>nginx</html>'],
    ['a revoked key', 401, { error: 'missing or invalid API key' }],
  ];

  it.each(REFUSALS)('a heartbeat that gets %s tells it once, and the next one comes as usual', async (_what, ...no) => {
    const [status, body] = no;
    let refusals = 2;
    const refusing: Respond = (url, sent) => {
      if (!sent.includes('extendAck') || refusals === 0) return healthy(url, sent);
      refusals -= 1;
      return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status });
    };
    const seen = await deliver(21, endless, refusing);
    await vi.advanceTimersByTimeAsync(7_100);
    expect(seen).toMatchObject({ extensions: 1, errors: [{ name: 'JobferryApiError', status }] });
    await vi.advanceTimersByTimeAsync(7_000);
    expect(seen).toMatchObject({ extensions: 2, errors: [{}] });
    await vi.advanceTimersByTimeAsync(49_000);
    expect(seen).toEqual({ extensions: 9, errors: [expect.anything()], aborted: false });
    refusals = 1;
    await vi.advanceTimersByTimeAsync(7_000);
    expect(seen).toMatchObject({ extensions: 10, errors: [{}, { status }], aborted: false });
  });

  it.each(REFUSALS)('a heartbeat that gets only %s ends when the known deadline has passed', async (_what, ...no) => {
    const [status, body] = no;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const seen = await deliver(21, endless, () => new Response(text, { status }));
    await vi.advanceTimersByTimeAsync(21_100);
    const late = { message: expect.stringContaining('no heartbeat was accepted'), cause: { status } };
    expect(seen).toMatchObject({ extensions: 3, errors: [{ status }, late], aborted: false });
    // No read of the job has returned it for five minutes.
    await vi.advanceTimersByTimeAsync(320_000);
    expect(seen).toMatchObject({ extensions: 3, errors: [{ status }, late], aborted: true });
  });

  it('a heartbeat that gets 500 is repeated sooner, and tells it only when the deadline has passed', async () => {
    let isFailing = true;
    const failing: Respond = (url, sent) =>
      isFailing && sent.includes('extendAck')
        ? Response.json({ error: 'internal error' }, { status: 500 })
        : healthy(url, sent);
    const seen = await deliver(24, endless, failing);
    await vi.advanceTimersByTimeAsync(10_100);
    expect(seen).toEqual({ extensions: 2, errors: [], aborted: false });
    await vi.advanceTimersByTimeAsync(14_000);
    expect(seen).toMatchObject({ extensions: 9, errors: [{ cause: { status: 500 } }], aborted: false });
    isFailing = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(seen).toMatchObject({ extensions: 11, errors: [{}], aborted: false });
  });

  it('a heartbeat that cannot be sent is an error at once', async () => {
    const broken = () => Promise.reject(new RangeError('no such option'));
    const seen = await deliver(10, endless, broken);
    await vi.advanceTimersByTimeAsync(3_400);
    expect(seen).toMatchObject({ extensions: 1, errors: [{ name: 'RangeError' }] });
  });
});
