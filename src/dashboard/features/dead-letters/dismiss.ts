import { request } from '../../api/client.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { queryClient } from '../../api/query.ts';
import { toast, toastFailure } from '../../parts/toast.tsx';
import { Dismiss, Restore } from './operations.ts';

/**
 * "Known, leave it": hides a cause for all people of the account until it occurs again, or shows it again. There is no
 * question before it, as it can be undone.
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
      text: isDismissed ? 'Dismissed in all queues, until it occurs again' : 'No longer dismissed',
      icon: isDismissed ? 'cancelled' : 'undo',
      ...(!isUndo && { action: undo }),
    });
  } catch (error) {
    toastFailure(`Not ${isDismissed ? 'dismissed' : 'restored'}: ${(error as Error).message}`);
  }
  void queryClient.invalidateQueries({ queryKey: ['Causes'] });
}
