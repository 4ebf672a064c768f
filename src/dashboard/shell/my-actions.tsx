import { useQueries } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useLocation } from 'wouter';
import { ActionState } from '../graphql/operations/actions.ts';
import { query, queryClient } from '../graphql/query.ts';
import { useWatch } from '../live/live.ts';
import { sentenceOfAction, wordsOfKind } from '../model/action.ts';
import { ACTIONS } from '../model/words.ts';
import { toast } from '../parts/toast.tsx';
import { createStore, useStore } from '../store.ts';

/**
 * The actions that this tab started and that have not ended yet. Their end is told on whatever screen one is. Kept over
 * a reload; another tab and another person do not hear of it.
 */
const NAME = 'jobferry.actions';

function read(): readonly string[] {
  try {
    return JSON.parse(sessionStorage.getItem(NAME) ?? '[]') as string[];
  } catch {
    // The browser keeps nothing for this page.
    return [];
  }
}

const mine = createStore<readonly string[]>(read());

function set(ids: readonly string[]): void {
  mine.set(ids);
  try {
    sessionStorage.setItem(NAME, JSON.stringify(ids));
  } catch {
    // They are followed until the page is loaded again.
  }
}

/** Says how an action ended, once it has. Call it with each action that one starts. */
export function followAction(id: string): void {
  set([...mine.get(), id]);
  refreshRail();
}

/** The counts of running actions and of dead letters. */
function refreshRail(): void {
  void queryClient.invalidateQueries({ queryKey: ['Shell'] });
}

/** Mounted once, in the shell. */
export function MyActions() {
  const ids = useStore(mine);
  const [path, navigate] = useLocation();
  useWatch({ actionIds: [...ids] });
  const asked = useQueries({ queries: ids.map((id) => query(ActionState, { id })) });
  useEffect(() => {
    for (const { data, isSuccess } of asked) {
      const action = data?.bulkAction;
      if (!isSuccess || action?.status === 'RUNNING') continue;
      set(mine.get().filter((id) => id !== action?.id && action != null));
      if (action == null) continue;
      const { signal, icon } = ACTIONS[action.status];
      const isHere = path === `/actions/${action.id}`;
      toast({
        text: `${wordsOfKind(action.kind).name}: ${sentenceOfAction(action, { rate: null, stoppedBy: null })}`,
        signal,
        icon,
        ...(!isHere && { action: { label: 'Show', run: () => navigate(`/actions/${action.id}`) } }),
      });
      refreshRail();
      void queryClient.invalidateQueries({ queryKey: ['Causes'] });
    }
  }, [asked, navigate, path]);
  return null;
}
