import { useEffect, useRef } from 'react';

/** Asks before a page with unsaved changes is left. */

type Go = () => void;
let guard: ((go: Go) => void) | null = null;

/** For wouter's router: every link, key and redirect passes it. The back button does not; see `useLeaveGuard`. */
export function guardedNavigation<To extends unknown[]>(navigate: (...to: To) => void, ...to: To): void {
  if (guard === null) navigate(...to);
  else guard(() => navigate(...to));
}

/** Leaves without a question, when what was typed has lost its object. */
export function leaveFreely(go: Go): void {
  guard = null;
  go();
}

/**
 * While `isActive`, `ask` is called in place of leaving; it may call `go` later. The browser asks by itself when the tab
 * is closed. Nobody can stop the back button, so what was typed must still be there when the person returns.
 */
export function useLeaveGuard(isActive: boolean, ask: (go: Go) => void): void {
  const latest = useRef(ask);
  useEffect(() => {
    latest.current = ask;
  });
  useEffect(() => {
    if (!isActive) return;
    guard = (go) => latest.current(() => leaveFreely(go));
    const onUnload = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', onUnload);
    return () => {
      guard = null;
      removeEventListener('beforeunload', onUnload);
    };
  }, [isActive]);
}
