import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { serverNow } from '../../clock.ts';
import { request } from '../../graphql/client.ts';
import { QueueOfName } from '../../graphql/operations/shell.ts';
import {
  type DeadFilter,
  type DeadLetterFilter,
  formatDeadChip,
  formatDeadFilter,
  isValidDeadFilter,
  parseDeadFilter,
  queueNamesOf,
  toDeadLetterFilter,
} from '../../model/dead/filter.ts';
import { permitted } from '../../model/filter/permitted.ts';
import { toSearch } from '../../model/filter/search.ts';
import { useRights } from '../../shell/rights.ts';

/** Grouped by error, grouped by the receiver's answer too, or one by one. */
export type Tab = 'causes' | 'answers' | 'all';

/** No queue has this id: an unknown name matches nothing, whereas no id at all would match everything. */
const NO_QUEUE = '0'.repeat(24);

export interface DeadFilterInUrl {
  filter: DeadFilter;
  tab: Tab;
  /** The filter for the API as of now; null while a name is looked up, and when a chip is no condition. */
  forApi: (() => DeadLetterFilter) | null;
  /** Stands for `forApi` in the key of a query. */
  key: string;
  setFilter: (filter: DeadFilter) => void;
}

/** The address of this screen with a filter and a tab. */
export function deadPath(filter: DeadFilter, tab: Tab, place: Record<string, string> = {}): string {
  return `/dead${toSearch({ tab: tab === 'causes' ? null : tab, q: formatDeadFilter(filter), ...place })}`;
}

export function useDeadFilter(): DeadFilterInUrl {
  const [, navigate] = useLocation();
  const [params] = useSearchParams();
  const text = params.get('q') ?? '';
  const asked = params.get('tab');
  const tab: Tab = asked === 'all' || asked === 'answers' ? asked : 'causes';
  const rights = useRights();
  const filter = useMemo(() => permitted(parseDeadFilter(text), rights, formatDeadChip), [text, rights]);
  const names = queueNamesOf(filter);
  const ids = useQuery({
    queryKey: ['QueueIds', names],
    queryFn: ({ signal }) => Promise.all(names.map((name) => idOf(name, signal))),
    enabled: names.length > 0,
    staleTime: 60_000,
  });
  const isReady = isValidDeadFilter(filter) && (names.length === 0 || ids.data !== undefined);
  return {
    filter,
    tab,
    forApi: isReady ? () => toDeadLetterFilter(filter, ids.data ?? [], serverNow()) : null,
    key: formatDeadFilter(filter),
    setFilter: (next) => navigate(deadPath(next, tab), { replace: true }),
  };
}

async function idOf(name: string, signal: AbortSignal): Promise<string> {
  return (await request(QueueOfName, { name }, signal)).queue?.id ?? NO_QUEUE;
}
