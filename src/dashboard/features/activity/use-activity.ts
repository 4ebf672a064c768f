import { useQuery } from '@tanstack/react-query';
import { request } from '../../api/client.ts';
import { useIsPaused } from '../../api/live/live.ts';
import { keepOld } from '../../api/query.ts';
import { serverNow } from '../../base/clock.ts';
import { type ActivityFilter, foldsSignIns, SIGN_INS, toChanges } from '../../filter/activity.ts';
import { Activity, type ActivityEntry, type ActivityPage } from './operations.ts';

const PAGE = 50;
/** So many sign-ins are read between the changes of a page. */
const MOST_SIGN_INS = 100;
/** Changes do not come by the live stream. */
const AGAIN_MS = 30_000;

export interface Listed {
  changes: ActivityPage;
  /** The sign-ins between these changes. */
  signIns: readonly ActivityEntry[];
  /** Whether there are more of them, older than these. */
  isCut: boolean;
}

/** A page of changes, and the sign-ins between them: both together, so that no line comes in late. */
export function useActivity(filter: ActivityFilter, { after, before }: Record<'after' | 'before', string | null>) {
  const isPaused = useIsPaused();
  return useQuery({
    queryKey: ['Activity', filter, after, before] as const,
    queryFn: async ({ signal }): Promise<Listed> => {
      const conditions = toChanges(filter, serverNow());
      const place = before === null ? { first: PAGE, after } : { last: PAGE, before };
      const { auditLog: changes } = await request(Activity, { ...conditions, ...place }, signal);
      if (!foldsSignIns(filter)) return { changes, signIns: [], isCut: false };
      const { nodes, pageInfo } = changes;
      const at = {
        ...conditions.at,
        ...(pageInfo.hasNextPage && { from: nodes.at(-1)?.at ?? null }),
        ...(pageInfo.hasPreviousPage && { to: nodes[0]?.at ?? null }),
      };
      const signIns = { ...conditions, groups: SIGN_INS, at, first: MOST_SIGN_INS };
      const { auditLog: between } = await request(Activity, signIns, signal);
      return { changes, signIns: between.nodes, isCut: between.pageInfo.hasNextPage };
    },
    ...keepOld,
    refetchInterval: isPaused ? false : AGAIN_MS,
  });
}
