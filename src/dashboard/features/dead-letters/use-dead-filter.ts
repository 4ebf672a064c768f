import { useMemo } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { useRights } from '../../api/rights.ts';
import { serverNow } from '../../base/clock.ts';
import {
  type DeadFilter,
  type DeadLetterFilter,
  formatDeadChip,
  formatDeadFilter,
  isValidDeadFilter,
  parseDeadFilter,
  queueNamesOf,
  toDeadLetterFilter,
} from '../../filter/dead/filter.ts';
import { permitted } from '../../filter/permitted.ts';
import { toSearch } from '../../filter/search.ts';
import type { Asked } from '../../parts/states.tsx';
import { useQueueIds } from '../../parts/use-queue-ids.ts';

/** Grouped by error, grouped by the receiver's answer too, or one by one. */
export type Tab = 'causes' | 'answers' | 'all';

export interface DeadFilterInUrl {
  filter: DeadFilter;
  tab: Tab;
  /** The filter for the API as of now; null while a name is looked up, and when a chip is no condition. */
  forApi: (() => DeadLetterFilter) | null;
  /** How the look-up of the names goes. */
  lookUp: Asked;
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
  const { ids, asked: lookUp } = useQueueIds(queueNamesOf(filter));
  return {
    filter,
    tab,
    forApi: isValidDeadFilter(filter) && ids !== undefined ? () => toDeadLetterFilter(filter, ids, serverNow()) : null,
    lookUp,
    key: formatDeadFilter(filter),
    setFilter: (next) => navigate(deadPath(next, tab), { replace: true }),
  };
}
