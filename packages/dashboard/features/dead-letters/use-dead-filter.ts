import { useMemo } from 'preact/compat';
import { useLocation, useSearchParams } from 'wouter-preact';
import {
  DEAD_LETTERS,
  type DeadFilter,
  type DeadLetterFilter,
  queueNamesOf,
  toDeadLetterFilter,
} from '../../../query/filter/dead-letters.ts';
import { formatFilter, isValid, parseFilter, permitted } from '../../../query/filter/engine.ts';
import { toSearch } from '../../../query/filter/search.ts';
import { useRights } from '../../api/rights.ts';
import { serverNow } from '../../base/clock.ts';
import type { QueryState } from '../../parts/states.tsx';
import { useQueueIds } from '../../parts/use-queue-ids.ts';

/** Grouped by error, grouped by the receiver's answer too, or one by one. */
export type Tab = 'causes' | 'answers' | 'all';

interface DeadFilterInUrl {
  filter: DeadFilter;
  tab: Tab;
  /** The filter for the API as of now; null while a name is looked up, and when a chip is no condition. */
  forApi: (() => DeadLetterFilter) | null;
  /** A name in the filter that no queue has. */
  unknown: string | undefined;
  /** How the look-up of the names goes. */
  lookUp: QueryState;
  /** Stands for `forApi` in the key of a query. */
  key: string;
  setFilter: (filter: DeadFilter) => void;
}

/** The address of this screen with a filter and a tab. */
export function deadPath(filter: DeadFilter, tab: Tab, place: Record<string, string> = {}): string {
  return `/dead${toSearch({ tab: tab === 'causes' ? null : tab, q: formatFilter(DEAD_LETTERS, filter), ...place })}`;
}

export function useDeadFilter(): DeadFilterInUrl {
  const [, navigate] = useLocation();
  const [params] = useSearchParams();
  const text = params.get('q') ?? '';
  const wanted = params.get('tab');
  const tab: Tab = wanted === 'all' || wanted === 'answers' ? wanted : 'causes';
  const rights = useRights();
  const filter = useMemo(
    () => permitted(DEAD_LETTERS, parseFilter(DEAD_LETTERS, text, serverNow()), rights),
    [text, rights],
  );
  const { ids: queueIds, unknown, result: lookUp } = useQueueIds(queueNamesOf(filter));
  return {
    filter,
    tab,
    forApi:
      isValid(filter) && queueIds !== undefined
        ? () => toDeadLetterFilter(filter, { queueIds, now: serverNow() })
        : null,
    unknown,
    lookUp,
    key: formatFilter(DEAD_LETTERS, filter),
    setFilter: (next) => navigate(deadPath(next, tab), { replace: true }),
  };
}
