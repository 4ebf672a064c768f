import { useQuery } from '@tanstack/preact-query';
import { request } from '../api/client.ts';
import { QueueOfName } from '../api/operations/shell.ts';
import type { QueryState } from './states.tsx';

/** No queue has this id: an unknown name matches nothing, whereas no id at all would match everything. */
const NO_QUEUE = '0'.repeat(24);

/** The ids of queues, in the order of their names; undefined until they are known. */
export function useQueueIds(names: readonly string[]) {
  const result = useQuery({
    queryKey: ['QueueIds', names],
    queryFn: ({ signal }) => Promise.all(names.map((name) => idOf(name, signal))),
    enabled: names.length > 0,
    staleTime: 60_000,
  });
  return {
    ids: names.length === 0 ? [] : result.data,
    /** The first name that no queue has. */
    unknown: names.find((_name, at) => result.data?.[at] === NO_QUEUE),
    result: result as QueryState,
  };
}

async function idOf(name: string, signal: AbortSignal): Promise<string> {
  return (await request(QueueOfName, { name }, signal)).queue?.id ?? NO_QUEUE;
}
