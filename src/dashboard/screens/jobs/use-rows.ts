import { useEffect, useRef, useState } from 'react';
import type { JobRow } from '../../graphql/operations/fragments.ts';

/** Without the pointer for so long, rows may move. */
const POINTER_MS = 2000;

export interface Rows {
  rows: readonly JobRow[];
  /** Ids of rows that are no longer in the list as the server has it. */
  gone: ReadonlySet<string>;
}

/**
 * The rows to show. While something is ticked or peeked at, or the pointer was in the table within 2 s, the rows and their
 * order stay: values change, rows that are gone are dimmed, and new ones wait.
 */
export function useFrozenRows(loaded: readonly JobRow[] | undefined, page: string, isHeld: boolean) {
  const pointerAt = useRef(Number.NEGATIVE_INFINITY);
  const [shown, setShown] = useState<{ page: string; rows: readonly JobRow[] }>({ page, rows: loaded ?? [] });
  const [settle, setSettle] = useState(0);

  useEffect(() => {
    if (loaded === undefined) return;
    const wait = pointerAt.current + POINTER_MS - performance.now();
    setShown((old) => {
      if (old.page !== page || (!isHeld && wait <= 0)) return { page, rows: loaded };
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
  return { rows, gone, onPointerMove };
}
