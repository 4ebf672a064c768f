import { useEffect, useRef } from 'preact/compat';

/** Asks before a page with unsaved changes is left. */

type Go = () => void;
/** The last one is asked first: a part of a page, such as a secret that is shown once, comes after the page. */
let guards: readonly ((go: Go) => void)[] = [];

/** For wouter's router: every link, key and redirect passes it. The back button does not; see `useLeaveGuard`. */
export function guardedNavigation<To extends unknown[]>(navigate: (...to: To) => void, ...to: To): void {
  // Without a session the person must sign in, and finds what was typed afterwards.
  if (String(to[0]).startsWith('/sign-in')) navigate(...to);
  else askToLeave(() => navigate(...to));
}

/** Leaves at once, if there is nothing to lose. */
export function askToLeave(go: Go): void {
  const guard = guards.at(-1);
  if (guard === undefined) go();
  else guard(go);
}

/** Leaves without a question, when what was typed has lost its object. */
export function leaveFreely(go: Go): void {
  guards = [];
  go();
}

/**
 * While `isActive`, `ask` is called in place of leaving; it may call `go` later. The browser asks by itself when the tab
 * is closed. The back button cannot be stopped, so what was typed must still be there when the person returns.
 */
export function useLeaveGuard(isActive: boolean, ask: (go: Go) => void): void {
  const latest = useRef(ask);
  useEffect(() => {
    latest.current = ask;
  });
  useEffect(() => {
    if (!isActive) return;
    const remove = () => {
      guards = guards.filter((other) => other !== guard);
    };
    const guard = (go: Go) =>
      latest.current(() => {
        remove();
        askToLeave(go);
      });
    guards = [...guards, guard];
    const onUnload = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', onUnload);
    return () => {
      remove();
      removeEventListener('beforeunload', onUnload);
    };
  }, [isActive]);
}
