import { useQuery } from '@tanstack/preact-query';
import { type ActivityFilter, foldsSignIns, SIGN_INS, toChanges } from '../../../query/filter/activity.ts';
import { request } from '../../api/client.ts';
import { useIsPaused } from '../../api/live/live.ts';
import { keepOld } from '../../api/query.ts';
import { serverNow } from '../../base/clock.ts';
import { releaseEntries } from '../../words/queue-actions.ts';
import { Activity, type ActivityEntry, type ActivityPage } from './operations.ts';

const PAGE = 50;
/** So many sign-ins are read between the changes of a page. */
const MOST_SIGN_INS = 100;
/** Changes do not come by the live stream. */
const AGAIN_MS = 30_000;

interface Listed {
  changes: ActivityPage;
  /** The sign-ins between these changes, and the releases that took over. */
  between: readonly ActivityEntry[];
  /** Whether there are more of them, older than these. */
  isCut: boolean;
}

/** A page of changes, and the sign-ins and releases between them: all together, so that no line comes in late. */
export function useActivity(filter: ActivityFilter, { after, before }: Record<'after' | 'before', string | null>) {
  const isPaused = useIsPaused();
  return useQuery({
    queryKey: ['Activity', filter, after, before] as const,
    queryFn: async ({ signal }): Promise<Listed> => {
      const conditions = toChanges(filter, serverNow());
      const place = before === null ? { first: PAGE, after } : { last: PAGE, before };
      const { auditLog: changes } = await request(Activity, { ...conditions, ...place, releases: false }, signal);
      if (!foldsSignIns(filter)) return { changes, between: [], isCut: false };
      const { nodes, pageInfo } = changes;
      const at = {
        ...conditions.at,
        ...(pageInfo.hasNextPage && { from: nodes.at(-1)?.at ?? null }),
        ...(pageInfo.hasPreviousPage && { to: nodes[0]?.at ?? null }),
      };
      // A release is of no object, and of no person.
      const releases = filter.target === null && filter.actor === null;
      const between = { ...conditions, groups: SIGN_INS, at, first: MOST_SIGN_INS, releases };
      const { auditLog: signIns, releases: runs = [] } = await request(Activity, between, signal);
      return {
        changes,
        between: [...signIns.nodes, ...releaseEntries(runs)],
        isCut: signIns.pageInfo.hasNextPage,
      };
    },
    ...keepOld,
    refetchInterval: isPaused ? false : AGAIN_MS,
  });
}
