import { useState } from 'preact/compat';

let last = 0;

/**
 * An id of the document that no other element has. Preact's `useId` starts from 0 in each part that is loaded late.
 * Two parts that are shown together can then have the same ids, and a dialog the name of a menu.
 */
export function useUniqueId(): string {
  const [id] = useState(() => {
    last += 1;
    return `id-${last}`;
  });
  return id;
}
