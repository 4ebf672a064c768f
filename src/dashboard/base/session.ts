import { createStore } from './store.ts';

/** Whether requests are signed in, as far as the page knows: a request answered 401 says that they are not. */
export const session = createStore<{
  signedIn: boolean;
  /** The person has ended the session, so nothing of it may stay in this tab. */
  hasLeft: boolean;
}>({ signedIn: true, hasLeft: false });

/** The session has ended by itself or elsewhere. The person comes back to the same place. */
export function signedOut(): void {
  // Answers 401 to requests that were under way when the person left say nothing new.
  if (session.get().signedIn) session.set({ signedIn: false, hasLeft: false });
}

export function leftForGood(): void {
  session.set({ signedIn: false, hasLeft: true });
}

export function signedIn(): void {
  session.set({ signedIn: true, hasLeft: false });
}
