import { urlOf } from '../../api/client.ts';
import { askToLeave } from '../../base/leave.ts';
import { leaving, leftForGood } from '../../base/session.ts';
import { toastFailure } from '../toast.tsx';

export function signOut(): void {
  askToLeave(() => {
    endOwnSession().catch((error: Error) => toastFailure(`Not signed out: ${error.message}`));
  });
}

/** Ends the session on the server, then forgets in this tab what it has shown. Other tabs are answered 401. */
export function endOwnSession(): Promise<void> {
  return leaving(async () => {
    const response = await fetch(urlOf('session'), { method: 'DELETE', credentials: 'same-origin' }).catch(() => {
      throw new Error('the server could not be reached.');
    });
    if (!response.ok) throw new Error(`the server answered ${response.status}.`);
    leftForGood();
  });
}
