import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CACHE_MS, CredentialCache } from '../../src/services/accounts/credential-cache.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A cache whose look-ups end when the test says so. */
function setUp() {
  let end = { resolve: (_holder: string | null) => {}, reject: (_error: Error) => {} };
  const read = () =>
    new Promise<string | null>((resolve, reject) => {
      end = { resolve, reject };
    });
  const cache = new CredentialCache<string>(read);
  const lookUp = async (holder: string | null | Error) => {
    const result = cache.lookUp('hash').catch(() => null);
    await vi.advanceTimersByTimeAsync(0);
    const during = [cache.present('hash'), cache.recent('hash')];
    if (holder instanceof Error) end.reject(holder);
    else end.resolve(holder);
    await result;
    return during;
  };
  return { cache, lookUp, end: (holder: string) => end.resolve(holder) };
}

it('a holder is present from the end of a look-up until it is too old', async () => {
  const { cache, lookUp } = setUp();
  expect(cache.present('hash')).toBeNull();
  expect(await lookUp('holder')).toEqual([null, null]);
  expect(cache.present('hash')).toBe('holder');
  vi.advanceTimersByTime(CACHE_MS - 1);
  expect(cache.present('hash')).toBe('holder');
  vi.advanceTimersByTime(1);
  expect(cache.present('hash')).toBeNull();
});

it('a holder is not present while it is looked up again, because it may be none any more', async () => {
  const { cache, lookUp } = setUp();
  await lookUp('holder');
  vi.advanceTimersByTime(CACHE_MS);
  expect(await lookUp(null)).toEqual([null, 'holder']);
  expect(cache.present('hash')).toBeNull();
});

it('no holder is present after a look-up that fails', async () => {
  const { cache, lookUp } = setUp();
  await lookUp('holder');
  vi.advanceTimersByTime(CACHE_MS);
  await lookUp(new Error('gone'));
  expect(cache.present('hash')).toBeNull();
});

it('a look-up that takes too long ends within 3 s, and what it finds later holds as long as usual', async () => {
  const { cache, end } = setUp();
  const refused = expect(cache.lookUp('hash')).rejects.toMatchObject({ kind: 'unavailable', stored: 'nothing' });
  await vi.advanceTimersByTimeAsync(3000);
  await refused;
  end('holder');
  await vi.advanceTimersByTimeAsync(0);
  expect(cache.isKnown('hash')).toBe(true);
  // It was asked more than 900 ms ago, so the next request asks again.
  expect(cache.present('hash')).toBeNull();
});
