import { useQueries } from '@tanstack/preact-query';
import { useEffect } from 'preact/compat';
import { useLocation } from 'wouter-preact';
import { ACTIONS } from '../../../query/words/words.ts';
import { followed, refreshRail, setFollowed } from '../../api/followed-actions.ts';
import { useWatch } from '../../api/live/live.ts';
import { query, queryClient } from '../../api/query.ts';
import { useStore } from '../../base/store.ts';
import { toast } from '../../parts/toast.tsx';
import { isOpen, sentenceOfAction } from './model/action.ts';
import { ActionState } from './operations.ts';

/** Lists and jobs that an action may have changed: the live stream has the action, but not each job of it. */
const CHANGED = ['ActionJobs', 'Causes', 'DeadLetters', 'JobsPage', 'JobsCount', 'JobsByState', 'JobPage', 'JobBeside'];

/** Says how each followed action ends. Mounted once, in the shell, while there are any: most visits load none of it. */
export default function MyActions() {
  const ids = useStore(followed);
  const [path, navigate] = useLocation();
  useWatch({ actionIds: [...ids] });
  const result = useQueries({ queries: ids.map((id) => query(ActionState, { id })) });
  useEffect(() => {
    for (const [index, { data }] of result.entries()) {
      const action = data?.bulkAction;
      if (action === undefined || (action !== null && isOpen(action))) continue;
      // Not of `ids`, which still has those that this pass has removed.
      setFollowed(followed.get().filter((id) => id !== ids[index]));
      // It may be that of an account that was signed in before.
      if (action === null) continue;
      const { signal, icon } = ACTIONS[action.status];
      const isHere = path === `/actions/${action.id}`;
      toast({
        text: sentenceOfAction(action, { rate: null, stoppedBy: null }),
        signal,
        icon,
        ...(!isHere && { action: { label: 'Show', run: () => navigate(`/actions/${action.id}`) } }),
      });
      refreshRail();
      for (const name of CHANGED) void queryClient.invalidateQueries({ queryKey: [name] });
    }
  }, [result, ids, navigate, path]);
  return null;
}
