import { getEventListeners } from 'node:events';
import { createSchema, createYoga } from 'graphql-yoga';
import { describe, expect, it } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import type { GraphQLContext } from '../../src/graphql/context.ts';
import { stillAllowed } from '../../src/graphql/index.ts';
import { Streams } from '../../src/graphql/live/streams.ts';
import type { CredentialWatch } from '../../src/services/accounts/credential-watch.ts';

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
    } as unknown as CredentialWatch;
    const streams = new Streams(keys);
    const { signal } = new AbortController();
    const inner: AbortSignal[] = [];
    async function* events(ending: AbortSignal) {
      inner.push(ending);
      yield 1;
      yield 2;
    }
    for (let n = 0; n < 20; n += 1) {
      const stream = streams.follow({ account, session: null, signal, connection }, events);
      expect(await stream.next()).toEqual({ done: false, value: 1 });
      expect([followed, getEventListeners(signal, 'abort').length]).toEqual([1, 1]);
      if (n % 2 === 0) await stream.return();
      else for await (const _ of stream);
      expect([followed, getEventListeners(signal, 'abort').length]).toEqual([0, 0]);
    }
    // A stream that has ended is not ended again.
    streams.stop();
    expect(inner.map(({ aborted }) => aborted)).toEqual(Array(20).fill(false));
  });

  it('checks its key again when an event was made, which may have taken seconds', async () => {
    const happened: string[] = [];
    const keys = {
      follow: () => () => undefined,
      confirmed: async () => void happened.push('confirmed'),
    } as unknown as CredentialWatch;
    const streams = new Streams(keys);
    async function* events() {
      yield { n: 1 };
      yield { n: 2 };
    }
    const yoga = createYoga<object, GraphQLContext>({
      schema: createSchema<GraphQLContext>({
        typeDefs: 'type Query { n: Int } type Subscription { n: Int }',
        resolvers: {
          Subscription: {
            n: {
              subscribe: (_root, _args, context) => streams.follow(context, events),
              resolve: ({ n }: { n: number }) => {
                happened.push(`made ${n}`);
                return n;
              },
            },
          },
        },
      }),
      context: ({ request }) =>
        ({ account, session: null, connection, streams, signal: request.signal }) as GraphQLContext,
      plugins: [stillAllowed],
    });
    const answer = await yoga.fetch('http://localhost/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: 'subscription { n }' }),
    });
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) {
      const sent = /"n":(\d)/.exec(decoder.decode(chunk as Uint8Array))?.[1];
      if (sent !== undefined) happened.push(`sent ${sent}`);
    }
    expect(happened.filter((what) => what !== 'sent 1' && what !== 'sent 2')).toEqual([
      ...['confirmed', 'made 1', 'confirmed', 'confirmed', 'made 2', 'confirmed'],
    ]);
    for (const n of [1, 2]) {
      expect(happened.slice(happened.indexOf(`made ${n}`), happened.indexOf(`sent ${n}`))).toContain('confirmed');
    }
  });
});
