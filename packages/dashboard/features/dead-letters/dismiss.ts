import { request } from '../../api/client.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { queryClient } from '../../api/query.ts';
import { toast, toastFailure } from '../../parts/toast.tsx';
import { hiddenBy, reachBesides } from './model/cause.ts';
import { CauseReach, Dismiss, Restore } from './operations.ts';

/**
 * Returns what else is hidden if a cause is dismissed in the row of a queue; null if nothing is.
 */
export async function reachOf({ fingerprint, queue }: { fingerprint: string; queue: { id: string } | null }) {
  try {
    const { errorGroups } = await request(CauseReach, { filter: hiddenBy(fingerprint) });
    return reachBesides(errorGroups[0], queue?.id ?? null);
  } catch (error) {
    return `an unknown number of dead letters in other queues: ${(error as Error).message}`;
  }
}

/**
 * "Known, leave it": hides a cause for all people of the account until it occurs again, or shows it again. If other
 * queues have it, too, the page asks before it.
 */
export async function setDismissed(
  { fingerprint }: { fingerprint: string },
  isDismissed: boolean,
  isUndo = false,
): Promise<void> {
  try {
    const outcome = isDismissed
      ? outcomeOf((await request(Dismiss, { fingerprint })).dismissErrorGroup)
      : outcomeOf((await request(Restore, { fingerprint })).restoreErrorGroup);
    if (!outcome.ok) throw new Error(outcome.message);
    const undo = { label: 'Undo', key: 'z', run: () => void setDismissed({ fingerprint }, !isDismissed, true) };
    toast({
      text: isDismissed ? 'Dismissed until it occurs again' : 'No longer dismissed',
      icon: isDismissed ? 'cancelled' : 'undo',
      ...(!isUndo && { action: undo }),
    });
  } catch (error) {
    toastFailure(`Not ${isDismissed ? 'dismissed' : 'restored'}: ${(error as Error).message}`);
  }
  // Dead letters are counted apart, too, for the number of those that the list leaves out.
  for (const name of ['Causes', 'DeadLetters']) void queryClient.invalidateQueries({ queryKey: [name] });
}
