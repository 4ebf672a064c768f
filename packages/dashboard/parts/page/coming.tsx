import { useLayoutEffect } from 'preact/compat';

let typed = '';

/** The text that was typed since the overlay was requested, until it is there. */
export const typedMeanwhile = () => typed;

/**
 * Stands for an overlay whose script is still being loaded, and takes the keys that are meant for it: `p` for the
 * palette must neither pause the queue below nor land in the field that had the focus.
 */
export function Coming({ onClose }: { onClose: () => void }) {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      event.stopPropagation();
      // Others, such as F5, are the browser's.
      if (key.length > 1 && !['Enter', 'Backspace', 'Escape'].includes(key)) return;
      event.preventDefault();
      if (key === 'Escape') onClose();
      else if (key === 'Backspace') typed = typed.slice(0, -1);
      else if (key.length === 1) typed += key;
    };
    // Before all others, those of fields too.
    addEventListener('keydown', onKey, true);
    return () => {
      removeEventListener('keydown', onKey, true);
      // The overlay has read it: it is there in the same commit.
      queueMicrotask(() => {
        typed = '';
      });
    };
  }, []);
  return null;
}
