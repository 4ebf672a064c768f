import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Streams } from '../../src/graphql/streams.ts';
import type { Account } from '../../src/services/index.ts';
import type { KeyWatch } from '../../src/services/key-watch.ts';

const account: Account = { id: 'a', name: 'a', plan: 'pro', actor: { type: 'api_key', id: 'k', label: 'k' } };
const connection = { hasUnread: () => false, cut: () => undefined };

describe('a stream', () => {
  it('leaves nothing behind at what lives longer than it', async () => {
    let followed = 0;
    const keys = {
      follow: () => {
        followed += 1;
        return () => {
          followed -= 1;
        };
      },
      confirmed: async () => undefined,
    } as unknown as KeyWatch;
    const streams = new Streams(keys);
    const { signal } = new AbortController();
    const inner: AbortSignal[] = [];
    async function* events(ending: AbortSignal) {
      inner.push(ending);
      yield 1;
      yield 2;
    }
    for (let n = 0; n < 20; n += 1) {
      const stream = streams.follow({ account, signal, connection }, events);
      expect(await stream.next()).toEqual({ done: false, value: 1 });
      expect([followed, getEventListeners(signal, 'abort').length]).toEqual([1, 1]);
      if (n % 2 === 0) await stream.return();
      else for await (const _ of stream);
      expect([followed, getEventListeners(signal, 'abort').length]).toEqual([0, 0]);
    }
    // What has ended is not ended again.
    streams.stop();
    expect(inner.map(({ aborted }) => aborted)).toEqual(Array(20).fill(false));
  });
});
