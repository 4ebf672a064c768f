import { useSyncExternalStore } from 'preact/compat';
import type { View } from '../../query/words/format.ts';
import { onceServerTimeIsKnown, serverNow } from './clock.ts';
import { preferences } from './preferences.ts';
import { useStore } from './store.ts';

/**
 * Present server time, once a second while the tab is visible, at the start of a server second: all countdowns of a
 * page step together.
 */
let now = serverNow();
let timer: ReturnType<typeof setTimeout> | null = null;
const listeners = new Set<() => void>();

function tick(): void {
  now = serverNow();
  for (const listener of [...listeners]) listener();
  schedule();
}

function schedule(): void {
  if (timer !== null) clearTimeout(timer);
  timer = null;
  if (listeners.size === 0 || document.visibilityState === 'hidden') return;
  timer = setTimeout(tick, 1000 - (serverNow() % 1000) + 5);
}

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible' && listeners.size > 0) tick();
});

onceServerTimeIsKnown(tick);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === null) {
    now = serverNow();
    schedule();
  }
  return () => listeners.delete(listener);
}

/** Server time that steps once a second. A component that calls it renders as often: keep it small. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** The present second and the zone of choice, which texts with times need. */
export function useView(): View {
  const zone = useStore(preferences, (all) => all.zone);
  return { now: useNow(), zone };
}
