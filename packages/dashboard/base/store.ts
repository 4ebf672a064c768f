import { useSyncExternalStore } from 'preact/compat';

/** A value outside of React that components read with `useStore`. */
export interface Store<Value> {
  get(): Value;
  set(value: Value): void;
  subscribe(listener: () => void): () => void;
}

export function createStore<Value>(initial: Value): Store<Value> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set: (next) => {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<Value>(store: Store<Value>): Value;
export function useStore<Value, Part>(store: Store<Value>, part: (value: Value) => Part): Part;
export function useStore<Value, Part>(store: Store<Value>, part?: (value: Value) => Part): Value | Part {
  // `part` must return the same object for the same value.
  return useSyncExternalStore(store.subscribe, () => (part === undefined ? store.get() : part(store.get())));
}
