import { createStore } from '../base/store.ts';
import { queryClient } from './query.ts';

/**
 * The actions that this tab started and that have not ended yet. Their end is shown on every screen. Kept over
 * a reload; another tab and another person do not get it.
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

export const followed = createStore<readonly string[]>(read());

export function setFollowed(ids: readonly string[]): void {
  followed.set(ids);
  try {
    sessionStorage.setItem(NAME, JSON.stringify(ids));
  } catch {
    // They are followed until the page is loaded again.
  }
}

/** Says how an action ended, once it has. Call it with each action that one starts. */
export function followAction(id: string): void {
  setFollowed([...followed.get(), id]);
  refreshRail();
}

/** The counts of running actions and of dead letters. */
export function refreshRail(): void {
  void queryClient.invalidateQueries({ queryKey: ['Shell'] });
}
