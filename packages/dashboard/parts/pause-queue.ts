import { changeQueue } from '../api/change-queue.ts';
import { request } from '../api/client.ts';
import { Pause, Resume } from '../api/operations/pause.ts';
import { outcomeOf } from '../api/outcome.ts';
import { toast, toastFailure } from './toast.tsx';

interface Pausable {
  id: string;
  name: string;
  paused: boolean;
}

/** Pauses or resumes a queue at once. There is no question before it, as it can be undone. */
export async function togglePauseOfQueue(queue: Pausable): Promise<void> {
  await setQueuePaused(queue, !queue.paused);
}

export async function setQueuePaused(
  { id, name }: Omit<Pausable, 'paused'>,
  paused: boolean,
  isUndo = false,
): Promise<void> {
  const outcome = await changeQueue(async () =>
    paused
      ? outcomeOf((await request(Pause, { id })).pauseQueue)
      : outcomeOf((await request(Resume, { id })).resumeQueue),
  );
  if (!outcome.ok) {
    toastFailure(`${name} not ${paused ? 'paused' : 'resumed'}: ${outcome.message}`);
    return;
  }
  const undo = { label: 'Undo', key: 'z', run: () => void setQueuePaused({ id, name }, !paused, true) };
  toast({
    text: `${name} ${paused ? 'paused' : 'resumed'}`,
    icon: paused ? 'paused' : 'play',
    ...(!isUndo && { action: undo }),
  });
}
