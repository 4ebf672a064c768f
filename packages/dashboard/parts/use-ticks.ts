import { useCallback, useEffect, useState } from 'preact/compat';

/** Ticked rows; or all that match, on every page. */
export interface Ticks {
  ids: ReadonlySet<string>;
  isAll: boolean;
  toggle: (id: string) => void;
  /** From the row that was ticked last up to this one. */
  toggleRange: (id: string, order: readonly string[]) => void;
  setPage: (ids: readonly string[]) => void;
  tickAll: () => void;
  clear: () => void;
}

/** @param page the rows that are seen, in words: the ticks of other ones are dropped */
export function useTicks(page: string): Ticks {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const [isAll, setAll] = useState(false);
  const [last, setLast] = useState<string | null>(null);

  const set = useCallback((next: ReadonlySet<string>) => {
    setAll(false);
    setIds(next);
  }, []);
  const toggle = (id: string) => {
    const next = new Set(ids);
    if (!next.delete(id)) next.add(id);
    setLast(id);
    set(next);
  };
  const toggleRange = (id: string, order: readonly string[]) => {
    const [from, to] = [order.indexOf(last ?? id), order.indexOf(id)];
    set(new Set([...ids, ...order.slice(Math.min(from, to), Math.max(from, to) + 1)]));
    setLast(id);
  };
  const clear = useCallback(() => set(new Set()), [set]);
  useEffect(clear, [page, clear]);
  return { ids, isAll, toggle, toggleRange, setPage: (page) => set(new Set(page)), tickAll: () => setAll(true), clear };
}
