import { useEffect, useRef, useState } from 'preact/compat';
import type { ListedJob } from '../operations/jobs.ts';

/** Without the pointer for so long, rows may move. */
const POINTER_MS = 2000;

export interface Rows {
  rows: readonly ListedJob[];
  /** Ids of rows that are no longer in the list as the server has it. */
  gone: ReadonlySet<string>;
}

/**
 * The rows to show. While something is ticked or peeked at, or the pointer was in the table within 2 s, the rows and
 * their order stay: values change, rows that are gone are dimmed, and new ones wait.
 */
export function useFrozenRows(loaded: readonly ListedJob[] | undefined, page: string, isHeld: boolean) {
  const pointerAt = useRef(Number.NEGATIVE_INFINITY);
  // No page before the first rows are there: they are shown even if something is peeked at from the start.
  const [shown, setShown] = useState<{ page: string | null; rows: readonly ListedJob[] }>({
    page: loaded === undefined ? null : page,
    rows: loaded ?? [],
  });
  const [settle, setSettle] = useState(0);
  /** Rows that were there when new ones were requested; the next ones are shown whatever is held. */
  const released = useRef<readonly ListedJob[] | null>(null);

  useEffect(() => {
    if (loaded === undefined) return;
    const wait = pointerAt.current + POINTER_MS - performance.now();
    const isReleased = released.current !== null && released.current !== loaded;
    if (isReleased) released.current = null;
    setShown((old) => {
      if (old.page !== page || isReleased || (!isHeld && wait <= 0)) return { page, rows: loaded };
      const current = new Map(loaded.map((row) => [row.id, row]));
      return { page, rows: old.rows.map((row) => current.get(row.id) ?? row) };
    });
    if (isHeld || wait <= 0) return;
    const timer = setTimeout(() => setSettle((n) => n + 1), wait);
    return () => clearTimeout(timer);
    // `settle` runs it again after the pointer has left.
  }, [loaded, page, isHeld, settle]);

  const rows = shown.page === page ? shown.rows : (loaded ?? shown.rows);
  const present = new Set(loaded?.map(({ id }) => id));
  const gone = new Set(loaded === undefined ? [] : rows.flatMap(({ id }) => (present.has(id) ? [] : [id])));
  const onPointerMove = () => {
    pointerAt.current = performance.now();
  };
  const release = () => {
    released.current = loaded ?? null;
  };
  return { rows, gone, onPointerMove, release };
}
