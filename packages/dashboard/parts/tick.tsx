import { useCallback, useEffect, useRef } from 'preact/compat';
import { type Command, useCommands } from './page/keys.ts';
import { focusedRow, sayChooseRow } from './page/walk.ts';
import type { Ticks } from './use-ticks.ts';

/** The boxes of a list whose rows can be ticked. */

/**
 * One function for all renders, so that a row is rendered again only when it changes.
 * With `Shift`, rows in between are ticked, too.
 */
export function useOnTick(ticks: Ticks | undefined, ids: readonly string[]): (id: string, isRange: boolean) => void {
  const latest = useRef({ ids, ticks });
  useEffect(() => {
    latest.current = { ids, ticks };
  });
  return useCallback((id: string, isRange: boolean) => {
    if (isRange) latest.current.ticks?.toggleRange(id, latest.current.ids);
    else latest.current.ticks?.toggle(id);
  }, []);
}

/** Ticks by keys: `x` the row that `atRow` finds, `X` those up to it. @param what "job" */
export const tickCommands = (
  { toggle, toggleRange }: Ticks,
  ids: readonly string[],
  { what, atRow }: { what: string; atRow: (run: (id: string) => void) => () => void },
): Command[] => [
  { key: 'x', label: `Select the ${what}`, run: atRow(toggle), isOnlyKey: true },
  { key: 'X', label: 'Select up to here', run: atRow((id) => toggleRange(id, ids)), isOnlyKey: true },
];

/**
 * `x` ticks the row that has the focus, by its `data-row`, `X` those up to it, and `Esc` unticks all.
 * @param what "queue"
 */
export function useTickKeys(ticks: Ticks | undefined, ids: readonly string[], what: string): void {
  const atRow = (run: (id: string) => void) => () => {
    const row = focusedRow();
    if (row === null) sayChooseRow();
    else run(row);
  };
  useCommands(
    ticks === undefined
      ? []
      : [
          ...tickCommands(ticks, ids, { what, atRow }),
          ...(ticks.ids.size > 0
            ? [{ key: 'Escape', label: 'Clear selection', run: ticks.clear, isOnlyKey: true }]
            : []),
        ],
  );
}

/** The box in the head, for all rows of the page. */
export function TickAll({ ticks, ids }: { ticks: Ticks; ids: readonly string[] }) {
  const isAllTicked = ticks.isAll || (ids.length > 0 && ids.every((id) => ticks.ids.has(id)));
  const isSomeTicked = !isAllTicked && ids.some((id) => ticks.ids.has(id));
  return (
    <label className="tick">
      <input
        type="checkbox"
        checked={isAllTicked}
        ref={(box) => {
          if (box !== null) box.indeterminate = isSomeTicked;
        }}
        onChange={() => (isAllTicked ? ticks.clear() : ticks.setPage(ids))}
      />
      <span className="sr">Select this page</span>
    </label>
  );
}

export function TickCell({
  id,
  isTicked,
  onTick,
  label,
}: {
  id: string;
  isTicked: boolean;
  onTick: (id: string, isRange: boolean) => void;
  label: string;
}) {
  return (
    <td className="c0">
      <label className="tick">
        <input
          type="checkbox"
          checked={isTicked}
          // Only a click knows of `Shift`; the space bar sends one, too.
          onClick={(event) => {
            // A box whose row stays as it is, such as the end of a range that was ticked before, is not rendered again.
            event.currentTarget.checked = isTicked;
            onTick(id, event.shiftKey);
          }}
        />
        <span className="sr">{label}</span>
      </label>
    </td>
  );
}
