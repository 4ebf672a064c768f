import { useCommands } from '../../../parts/page/keys.ts';
import { tickCommands } from '../../../parts/tick.tsx';
import type { Ticks } from '../../../parts/use-ticks.ts';

/** The keys of a list of jobs: walk, peek, open, tick. The row under the cursor has the focus, on its link. */
export function useListKeys({
  ids,
  cursor,
  setCursor,
  ticks,
  peek,
  focusFilter,
  setPeek,
  canPeek,
  open,
}: {
  ids: readonly string[];
  cursor: string | null;
  setCursor: (id: string | null) => void;
  ticks: Ticks;
  peek: string | null;
  focusFilter: () => void;
  setPeek: (id: string | null) => void;
  canPeek: boolean;
  open: (id: string) => void;
}): { move: (step: 1 | -1) => void } {
  const present = () => peek ?? focusedJob() ?? cursor;
  const move = (step: 1 | -1) => {
    const from = present();
    const index = from === null ? -1 : ids.indexOf(from);
    const next = ids[Math.min(ids.length - 1, Math.max(0, index + step))];
    if (next === undefined) return;
    setCursor(next);
    const link = document.querySelector<HTMLElement>(`a[data-job="${next}"]`);
    link?.focus({ preventScroll: true });
    link?.closest('tr')?.scrollIntoView({ block: 'nearest' });
    if (peek !== null) setPeek(next);
  };
  const atCursor = (run: (id: string) => void) => () => {
    const id = present() ?? ids[0];
    if (id === undefined) return;
    setCursor(id);
    run(id);
  };
  const leave = () => {
    if (peek !== null) setPeek(null);
    else if (ticks.ids.size > 0 || ticks.isAll) ticks.clear();
    else setCursor(null);
  };
  const canEscape = peek !== null || ticks.ids.size > 0 || ticks.isAll || cursor !== null;
  useCommands([
    { key: '/', label: 'Filter', icon: 'search', run: focusFilter },
    { key: 'j', label: 'Next row', run: () => move(1), isOnlyKey: true },
    { key: 'k', label: 'Previous row', run: () => move(-1), isOnlyKey: true },
    { key: 'Enter', label: 'Open the job', run: atCursor(open), isOnlyKey: true },
    ...(canPeek
      ? [
          {
            key: 'Space',
            label: 'Preview the job',
            run: atCursor((id) => setPeek(peek === id ? null : id)),
            isOnlyKey: true,
          },
        ]
      : []),
    ...tickCommands(ticks, ids, { what: 'job', atRow: atCursor }),
    { key: 'a', label: 'Select all matches', icon: 'check', run: ticks.tickAll, mutation: 'cancelJobs' },
    ...(canEscape ? [{ key: 'Escape', label: 'Close, untick, leave', run: leave, isOnlyKey: true }] : []),
  ]);
  return { move };
}

/** The job of the row that has the focus, which the Tab key may have moved; null if none has. */
function focusedJob(): string | null {
  const row = document.activeElement?.closest('main tr');
  return row?.querySelector<HTMLElement>('a[data-job]')?.dataset.job ?? null;
}
