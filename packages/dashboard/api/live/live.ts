import { useEffect } from 'preact/compat';
import { serverNow } from '../../base/clock.ts';
import { session } from '../../base/session.ts';
import { createStore, useStore } from '../../base/store.ts';
import { useUniqueId } from '../../base/use-unique-id.ts';
import { afterFirstRead, firstScreenIsRead } from '../first-read.ts';
import { queryClient } from '../query.ts';
import { LiveConnection, type LiveState, type StreamEvents } from './connection.ts';
import { keyOf, patch } from './patch.ts';
import { recentUpdates } from './recent-updates.ts';
import { type FullWatch, mergeWatches, type Watch } from './watch-list.ts';

/** The live stream of this tab: what the screens show is kept current through it. */

export const liveState = createStore<LiveState>({ phase: 'connecting', nextTryAt: null, staleSince: null });

/** Updates are paused since a time, or not. What comes meanwhile waits, and is counted. */
export const pause = createStore<{ since: number; waiting: number } | null>(null);

const held = new Map<string, object>();
const listeners = new Set<(objects: object[]) => void>();

/** The script of the stream is loaded with the first one: the rows that it keeps current come before it. */
function open(watch: FullWatch, events: StreamEvents): () => void {
  let close: (() => void) | null = null;
  let isClosed = false;
  import('./stream.ts').then(
    ({ openStream }) => {
      if (!isClosed) close = openStream(watch, events);
    },
    () => events.onEnd(),
  );
  return () => {
    isClosed = true;
    close?.();
  };
}

/** Reads at once what waits for its next try: the server is there again. */
async function readAgain(): Promise<void> {
  await queryClient.cancelQueries({ predicate: ({ state }) => state.fetchFailureCount > 0 });
  await queryClient.invalidateQueries();
}

const connection = new LiveConnection({
  open,
  apply: receive,
  refetch: () => {
    if (pause.get() === null) void readAgain();
  },
  onState: liveState.set,
  now: serverNow,
  random: Math.random,
});

function receive(objects: object[]): void {
  const paused = pause.get();
  if (paused === null) {
    show(objects);
    return;
  }
  for (const object of objects) held.set(keyOf(object) ?? '', object);
  pause.set({ ...paused, waiting: paused.waiting + objects.length });
}

function show(objects: object[]): void {
  recentUpdates.add(objects);
  // The later of two states of an object wins.
  const updates = new Map(objects.map((object) => [keyOf(object) ?? '', object]));
  for (const { queryKey, state } of queryClient.getQueryCache().findAll({ type: 'active' })) {
    const next = patch(state.data, updates);
    // Data that is set, even the same, counts as new, and puts off the next time that the query is sent.
    if (next !== state.data) queryClient.setQueryData(queryKey, next, { updatedAt: state.dataUpdatedAt });
  }
  for (const listener of listeners) listener(objects);
}

/** Shows the new state of objects that a mutation returned, without waiting for the stream. */
export function showChanged(objects: object[]): void {
  show(objects);
}

export function useIsPaused(): boolean {
  return useStore(pause, (paused) => paused !== null);
}

export function togglePause(): void {
  if (pause.get() === null) {
    pause.set({ since: serverNow(), waiting: 0 });
    return;
  }
  pause.set(null);
  show([...held.values()]);
  held.clear();
  void queryClient.invalidateQueries();
}

export function tryNow(): void {
  connection.tryNow();
}

/** Called once. Once the first screen is read, the stream follows the session and the visibility of the tab. */
export function startLive(): void {
  const follow = () => connection.setEnabled(session.get().signedIn);
  connection.setVisible(document.visibilityState === 'visible');
  document.addEventListener('visibilitychange', () => connection.setVisible(document.visibilityState === 'visible'));
  void afterFirstRead(() => {
    session.subscribe(follow);
    follow();
  });
}

const watches = new Map<string, Watch>();

/**
 * Keeps these objects current while the component is mounted, in every query that has them. All mounted parts share one
 * stream. Lists that change with each render are fine: only their content counts.
 */
export function useWatch(watch: Watch): void {
  const part = useUniqueId();
  const content = JSON.stringify(watch);
  useEffect(() => {
    const own = JSON.parse(content) as Watch;
    watches.set(part, own);
    connection.setWatch(mergeWatches(watches.values()));
    if (Object.values(own).some((ids) => ids.length > 0)) firstScreenIsRead();
    return () => {
      watches.delete(part);
      connection.setWatch(mergeWatches(watches.values()));
    };
  }, [part, content]);
}

/** Calls back with the objects of each live message, after they are on screen. `listener` must be stable. */
export function useLiveObjects(listener: (objects: object[]) => void): void {
  useEffect(() => {
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, [listener]);
}

export function useLiveState(): LiveState {
  return useStore(liveState);
}
