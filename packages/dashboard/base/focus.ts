/**
 * A button that goes with its action, such as "End the hold", takes the focus with it: the browser leaves it on the
 * body, where `Tab` begins at the top and a screen reader is silent. It is given to what is nearest and still there.
 */

/** The element that has the focus, and those around it up to `main`; empty after a click beside all of them. */
let path: readonly Element[] = [];

/** Called once. */
export function keepFocus(): void {
  addEventListener('focusin', ({ target }) => {
    path = [];
    for (let at = target as Element | null; at !== null && at.id !== 'main'; at = at.parentElement) {
      path = [...path, at];
    }
  });
  addEventListener('focusout', () => {
    // Afterwards, as an element that is about to be removed is still there.
    queueMicrotask(() => {
      if (isLost() && path[0]?.isConnected === true) path = [];
    });
  });
  new MutationObserver(() => {
    if (path[0]?.isConnected === false && isLost()) focusNearest();
  }).observe(document.documentElement, { childList: true, subtree: true });
}

const isLost = () => document.activeElement === null || document.activeElement === document.body;

/**
 * Focuses the row, the part or the open menu that the element was in, else the heading of the page. A field is no
 * choice, as it would take the keys that are meant for the page.
 */
function focusNearest(): void {
  const all = path.map((at) => {
    if (!at.isConnected) return null;
    if (at.matches('li, tr')) return at.querySelector<HTMLElement>('.rowlink');
    if (at.matches('dialog, [popover]')) return at.querySelector<HTMLElement>('a, button');
    return at.matches('[tabindex]') ? (at as HTMLElement) : null;
  });
  for (const found of [...all, document.querySelector<HTMLElement>('main h1')]) {
    found?.focus({ preventScroll: true });
    // A hidden element does not take it.
    if (!isLost()) return;
  }
}
