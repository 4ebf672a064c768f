import { useEffect, useLayoutEffect } from 'preact/compat';
import { useLocation } from 'wouter-preact';

/**
 * "Back" restores scroll position and focus. The browser cannot: when it tries, the screen is not rendered yet. The
 * place of each entry of the history is kept in memory, and restored until its rows are there.
 */
interface Place {
  scroll: number;
  /** The address of the link that had the focus. */
  href: string | null;
}

const places = new Map<string, Place>();
/** How long rows may take until it is too late to scroll to them. */
const RESTORE_MS = 1000;

let isBack = false;

/** Called once, ahead of the router: it renders the page as soon as its own listeners return. */
export function watchHistory(): void {
  addEventListener('popstate', () => {
    isBack = true;
  });
  addEventListener('pushState', () => {
    isBack = false;
  });
}

/** Whether the present page was reached with the back or forward button. */
export function arrivedBackwards(): boolean {
  return isBack;
}

/** Removes what a link named after `#`, so that a reload or the back button does not name it again. */
export function dropHash(): void {
  history.replaceState(history.state, '', location.pathname + location.search);
}

/** Entries that this browser does not tell apart are told apart by their address. */
function entryKey(): string {
  const { navigation } = window as { navigation?: { currentEntry?: { key?: string } | null } };
  return navigation?.currentEntry?.key ?? location.href;
}

export function usePlaces(): void {
  const [path] = useLocation();
  useEffect(() => {
    history.scrollRestoration = 'manual';
    const remember = () => {
      const link = document.activeElement?.closest('main a[href]');
      places.set(entryKey(), { scroll: scrollY, href: link?.getAttribute('href') ?? null });
    };
    // Before the link is followed, and whenever the page has been scrolled.
    addEventListener('click', remember, { capture: true });
    addEventListener('keydown', remember, { capture: true });
    addEventListener('scrollend', remember);
    return () => {
      removeEventListener('click', remember, { capture: true });
      removeEventListener('keydown', remember, { capture: true });
      removeEventListener('scrollend', remember);
    };
  }, []);
  useLayoutEffect(() => {
    if (isBack) restore(places.get(entryKey()));
    else scrollTo(0, 0);
  }, [path]);
}

function restore(place: Place | undefined): void {
  if (place === undefined) return;
  const end = performance.now() + RESTORE_MS;
  const attempt = () => {
    const link = place.href === null ? null : document.querySelector(`main a[href="${CSS.escape(place.href)}"]`);
    const isThere =
      document.documentElement.scrollHeight >= place.scroll + innerHeight && (place.href === null || link);
    if (!isThere && performance.now() < end) {
      requestAnimationFrame(attempt);
      return;
    }
    scrollTo(0, place.scroll);
    if (link instanceof HTMLElement) link.focus({ preventScroll: true });
  };
  attempt();
}
