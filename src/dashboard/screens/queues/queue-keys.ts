import type { RefObject } from 'react';
import { useCommands } from '../../shell/keys.ts';

/** `j` and `k` walk over the links of the rows; Enter then follows the link that has the focus. */
export function useRowKeys(region: RefObject<HTMLElement | null>): void {
  const step = (by: 1 | -1) => {
    const links = [...(region.current?.querySelectorAll<HTMLElement>('.rowlink') ?? [])];
    const at = links.indexOf(document.activeElement as HTMLElement);
    const next = links[at < 0 ? (by === 1 ? 0 : links.length - 1) : at + by];
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
  };
  useCommands([
    { key: 'j', label: 'Next queue', run: () => step(1), isOnlyKey: true },
    { key: 'k', label: 'Previous queue', run: () => step(-1), isOnlyKey: true },
  ]);
}
