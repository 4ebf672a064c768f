import { keepPreviousData, QueryClient, queryOptions } from '@tanstack/preact-query';
import { nameOf, type Operation } from '../../query/schema/graphql.ts';
import { serverNow } from '../base/clock.ts';
import { request } from './client.ts';
import { type RequestError, retryDelayMs } from './errors.ts';
import { recentUpdates } from './live/recent-updates.ts';

declare module '@tanstack/preact-query' {
  interface Register {
    defaultError: RequestError;
  }
}

/**
 * A result stays until the live stream changes it, the tab comes back, or a screen asks for more. A request
 * that may succeed later is repeated while the tab is visible; `error.nextTryAt` says when.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      gcTime: 5 * 60_000,
      networkMode: 'always',
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      retry: (_failures, error) => error.passes,
      retryDelay: (failures, error) => {
        const delay = retryDelayMs(failures, error);
        error.nextTryAt = serverNow() + delay;
        return delay;
      },
    },
    mutations: { networkMode: 'always', retry: false },
  },
});

/**
 * Options for `useQuery`, by operation and variables. Variables that depend on the time of the request, such as "the
 * last 4 hours", are given as a function with a `key` that stands for them.
 */
export function query<Result, Variables>(
  operation: Operation<Result, Variables>,
  variables: Variables | (() => Variables),
  { key }: { key?: unknown } = {},
) {
  const current = () => (typeof variables === 'function' ? (variables as () => Variables)() : variables);
  return queryOptions({
    queryKey: [nameOf(operation), key ?? (typeof variables === 'function' ? null : variables)] as const,
    queryFn: async ({ signal }) => {
      const mark = recentUpdates.mark();
      // A live message that came while the request was under way may be newer than its result.
      return recentUpdates.applyTo(await request(operation, current(), signal), mark);
    },
  });
}

/** For lists: the old rows stay until the new ones are there. */
export const keepOld = { placeholderData: keepPreviousData };
