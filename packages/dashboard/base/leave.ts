import { useEffect, useRef, useState } from 'preact/compat';

/** Asks before a page with unsaved changes is left. */

type Go = () => void;
/**
 * Those of components that came later are asked first: a part of a page, such as a secret that is shown once, before
 * the page, which forgets its changes as soon as the person agrees.
 */
let guards: readonly { turn: number; ask: (go: Go) => void }[] = [];
let turns = 0;
type Guards = typeof guards;

/** For wouter's router: every link, key and redirect passes it. The back button does not; see `useLeaveGuard`. */
export function guardedNavigation<To extends unknown[]>(navigate: (...to: To) => void, ...to: To): void {
  // Without a session the person must sign in, and finds what was typed afterwards.
  if (String(to[0]).startsWith('/sign-in')) navigate(...to);
  else askToLeave(() => navigate(...to));
}

/** Leaves at once, if there is nothing to lose. */
export function askToLeave(go: Go): void {
  if (guards.length === 0) go();
  else askEach(guards, () => leaveFreely(go));
}

/** Asks one guard after the other. A person who stays at any of them stays with all. */
function askEach(left: Guards, go: Go): void {
  const guard = left.at(-1);
  if (guard === undefined) go();
  else guard.ask(() => askEach(left.slice(0, -1), go));
}

/** Leaves without a question, when what was typed has lost its object. */
export function leaveFreely(go: Go): void {
  guards = [];
  go();
}

/**
 * While `isActive`, `ask` is called in place of leaving; it may call `go` later. The browser asks by itself when the
 * tab is closed. The back button cannot be stopped, so what was typed must still be there when the person returns.
 */
export function useLeaveGuard(isActive: boolean, ask: (go: Go) => void): void {
  const latest = useRef(ask);
  const [turn] = useState(() => {
    turns += 1;
    return turns;
  });
  useEffect(() => {
    latest.current = ask;
  });
  useEffect(() => {
    if (!isActive) return;
    const guard = { turn, ask: (go: Go) => latest.current(go) };
    guards = [...guards, guard].sort((one, other) => one.turn - other.turn);
    const onUnload = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', onUnload);
    return () => {
      guards = guards.filter((other) => other !== guard);
      removeEventListener('beforeunload', onUnload);
    };
  }, [isActive, turn]);
}
