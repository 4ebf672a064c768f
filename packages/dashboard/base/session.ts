import { createStore } from './store.ts';

/** Whether requests are signed in, as far as the page knows: a request answered 401 says that they are not. */
export const session = createStore<{
  signedIn: boolean;
  /** The person has ended the session, so nothing of it may stay in this tab. */
  hasLeft: boolean;
}>({ signedIn: true, hasLeft: false });

let leaves = 0;
let isEndMissed = false;

/** The session has ended by itself or elsewhere. The person comes back to the same place. */
export function signedOut(): void {
  // Answers 401 to requests that were under way when the person left say nothing new.
  if (leaves > 0) isEndMissed = true;
  else if (session.get().signedIn) session.set({ signedIn: false, hasLeft: false });
}

/**
 * Does what ends the own session. Until it has succeeded or failed, answers 401 to other requests are not taken for an
 * end elsewhere: they would show a sign-in, which goes with this document a moment later, and with it what is typed
 * into it.
 */
export async function leaving<Result>(action: () => Promise<Result>): Promise<Result> {
  leaves += 1;
  try {
    return await action();
  } finally {
    leaves -= 1;
    if (leaves === 0 && isEndMissed) {
      isEndMissed = false;
      signedOut();
    }
  }
}

export function leftForGood(): void {
  session.set({ signedIn: false, hasLeft: true });
}

export function signedIn(): void {
  session.set({ signedIn: true, hasLeft: false });
}
