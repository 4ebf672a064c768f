import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { exchange } from '../../packages/client/src/exchange.ts';
import { createClient, JobferryConnectionError } from '../../packages/client/src/index.ts';

/** One request of the client: its time-out, its signal and its options. */

const silent = (_url: string, { signal }: RequestInit) =>
  new Promise<Response>((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));

const response = { ok: true, status: 200, headers: new Headers(), text: async () => '[]' } as Response;
const answered = async () => response;

const clientOf = (fetch: (url: string, init: RequestInit) => Promise<Response>, timeoutMs = 50) =>
  createClient({ baseUrl: 'http://jobferry.test', apiKey: 'k', retries: 0, timeoutMs, fetch });

afterEach(() => void vi.useRealTimers());

describe('a request', () => {
  it('a request with a signal ends at its time-out, also after a garbage collection', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const { signal } = new AbortController();
    const outgoing = { method: 'GET', url: 'http://jobferry.test/', headers: {}, signal };
    // Optimised code keeps no more than it needs later.
    for (let n = 0; n < 5000; n += 1) await exchange(answered, outgoing, 50);
    const ended: string[] = [];
    for (let n = 0; n < 5; n += 1) exchange(silent, outgoing, 200).catch((error: Error) => ended.push(error.name));
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    await vi.waitFor(() => expect(ended).toEqual(Array(5).fill('TimeoutError')), { timeout: 20_000 });
  });

  it('leaves nothing on its signal', async () => {
    const { signal } = new AbortController();
    await clientOf(async () => Response.json([])).queues.list({ signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    // Node.js keeps the signals that follow this one in a set.
    const members = Object.getOwnPropertySymbols(signal).map((name) => Reflect.get(signal, name) as { size?: number });
    expect(members.reduce((left, member) => left + (member?.size ?? 0), 0)).toBe(0);
  });

  it('may have a time-out of any length', async () => {
    const error = await clientOf(silent, 1000 / 30)
      .queues.list()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(JobferryConnectionError);
    expect(error).toMatchObject({ attempts: 1, cause: { name: 'TimeoutError' } });

    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const ended = vi.fn();
    clientOf(silent, Number.POSITIVE_INFINITY).queues.list().catch(ended);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(ended).not.toHaveBeenCalled();
    for (const timeoutMs of [0, -1, Number.NaN]) expect(() => clientOf(silent, timeoutMs)).toThrow(/timeoutMs/);
  });

  it('is never answered from a cache, where the runtime knows one', async () => {
    const inits: RequestInit[] = [];
    const fetch = async (_url: string, init: RequestInit) => {
      inits.push(init);
      return Response.json([]);
    };
    await clientOf(fetch).queues.list();
    expect(inits[0]).toMatchObject({ cache: 'no-store' });

    vi.stubGlobal('Request', () => {
      throw new TypeError("The 'cache' field on 'RequestInitializerDict' is not implemented.");
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    vi.resetModules();
    const fresh = await import('../../packages/client/src/exchange.ts');
    await fresh.exchange(fetch, { method: 'GET', url: 'http://jobferry.test/', headers: {} }, 1000);
    expect(inits[1]).not.toHaveProperty('cache');
  });

  it('names the failure at each address of a host', async () => {
    const refused = ['::1', '127.0.0.1'].map((address) => new Error(`connect ECONNREFUSED ${address}`));
    const fetch = () => Promise.reject(new TypeError('fetch failed', { cause: new AggregateError(refused) }));
    await expect(clientOf(fetch).queues.list()).rejects.toThrow(
      'fetch failed (connect ECONNREFUSED ::1; connect ECONNREFUSED 127.0.0.1)',
    );
  });

  it('a mistake of the program is not repeated', async () => {
    const fetch = vi.fn(() => Promise.reject(new RangeError('out of range')));
    const client = createClient({ baseUrl: 'http://jobferry.test', apiKey: 'k', fetch });
    await expect(client.queues.list()).rejects.toThrow(RangeError);
    expect(fetch).toHaveBeenCalledTimes(1);
    // Next.js, about a page that it renders at build time.
    const dynamic = Object.assign(new Error('Dynamic server usage'), { digest: 'DYNAMIC_SERVER_USAGE' });
    fetch.mockReset().mockRejectedValue(dynamic);
    await expect(client.queues.list()).rejects.toBe(dynamic);
    expect(fetch).toHaveBeenCalledTimes(1);
    expect(() => createClient({ baseUrl: 'http://jobferry.test', apiKey: 'a\nb' })).toThrow(/apiKey/);
    expect(() => createClient({ baseUrl: 'http://job ferry', apiKey: 'k' })).toThrow(/not a URL/);
  });
});
