import { urlOf } from '../../api/client.ts';
import { askToLeave } from '../../base/leave.ts';
import { leftForGood } from '../../base/session.ts';
import { toastFailure } from '../toast.tsx';

export function signOut(): void {
  askToLeave(() => {
    endOwnSession().catch((error: Error) => toastFailure(`Not signed out: ${error.message}`));
  });
}

/** Ends the session on the server, then forgets in this tab what it has shown. Other tabs are answered 401. */
export async function endOwnSession(): Promise<void> {
  const response = await fetch(urlOf('session'), { method: 'DELETE', credentials: 'same-origin' }).catch(() => {
    throw new Error('the server could not be reached.');
  });
  if (!response.ok) throw new Error(`the server answered ${response.status}.`);
  leftForGood();
}
