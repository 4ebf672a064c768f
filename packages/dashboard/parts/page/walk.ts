import { toast } from '../toast.tsx';
import { useCommands } from './keys.ts';

/** Rows of a list, of which each has one link. */
const LINKS = 'main .rowlink';

/** `j` and `k` move the focus from row to row; `Enter` follows the link, as always. */
export function useWalk(): void {
  const move = (by: 1 | -1) => {
    const links = [...document.querySelectorAll<HTMLElement>(LINKS)];
    const at = links.indexOf(rowLink() as HTMLElement);
    const next = links[at < 0 ? (by === 1 ? 0 : links.length - 1) : at + by];
    next?.focus();
  };
  useCommands([
    { key: 'j', label: 'Next row', run: () => move(1), isOnlyKey: true },
    { key: 'k', label: 'Previous row', run: () => move(-1), isOnlyKey: true },
  ]);
}

/** The link of the row that has the focus, also when one of its buttons has it. */
function rowLink(): Element | null {
  return document.activeElement?.closest('li, tr')?.querySelector('.rowlink') ?? null;
}

/** The `data-row` of the row that has the focus; null if none has. */
export function focusedRow(): string | null {
  return document.activeElement?.closest<HTMLElement>('main [data-row]')?.dataset.row ?? null;
}

/**
 * Gives the focus to a row, by its `data-row`: a button that is about to go cannot keep it.
 * `j` and `k` walk on from there.
 */
export function focusRow(row: string): void {
  const link = document.querySelector<HTMLElement>(`main [data-row="${CSS.escape(row)}"] .rowlink`);
  link?.focus({ preventScroll: true });
}

export const sayChooseRow = () => toast({ text: 'Choose a row first, with j and k', icon: 'info' });
