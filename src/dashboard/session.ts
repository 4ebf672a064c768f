import { createStore } from './store.ts';

/** Whether requests are signed in, as far as the page knows: a request answered 401 says that they are not. */
export const session = createStore<{ signedIn: boolean }>({ signedIn: true });

export function signedOut(): void {
  session.set({ signedIn: false });
}

export function signedIn(): void {
  session.set({ signedIn: true });
}
