import { useMutation } from '@tanstack/react-query';
import { request } from '../../graphql/client.ts';
import { PauseListed, ResumeListed } from '../../graphql/operations/queues.ts';
import { outcomeOf } from '../../graphql/outcome.ts';
import { queryClient } from '../../graphql/query.ts';
import { patch } from '../../live/patch.ts';
import { toast, toastFailure } from '../../parts/toast.tsx';

interface Listed {
  id: string;
  name: string;
}

/** Resumes a queue, and offers to undo it for a moment. */
export function useResume({ id, name }: Listed) {
  const mutation = useMutation({ mutationFn: () => resume({ id, name }) });
  return { run: () => !mutation.isPending && mutation.mutate(), isBusy: mutation.isPending };
}

async function resume({ id, name }: Listed): Promise<void> {
  const outcome = await sent(async () => outcomeOf((await request(ResumeListed, { id })).resumeQueue));
  if (!outcome.ok) return toastFailure(`${name} was not resumed: ${outcome.message}`);
  show(outcome.value.queue);
  toast({
    text: `${name} was resumed`,
    action: { label: 'Undo', key: 'z', run: () => void pauseAgain({ id, name }) },
  });
}

async function pauseAgain({ id, name }: Listed): Promise<void> {
  const outcome = await sent(async () => outcomeOf((await request(PauseListed, { id })).pauseQueue));
  if (!outcome.ok) return toastFailure(`${name} was not paused again: ${outcome.message}`);
  show(outcome.value.queue);
  toast({ text: `${name} is paused again`, signal: 'idle', icon: 'paused' });
}

/** A request that failed is a refusal too: the server's words, or that it could not be reached. */
async function sent<Outcome>(send: () => Promise<Outcome>): Promise<Outcome | { ok: false; message: string }> {
  try {
    return await send();
  } catch (error) {
    return { ok: false, message: (error as Error).message };
  }
}

/** The answer is on screen at once, before the live stream brings it to all tabs. */
function show(queue: { id: string }): void {
  const updates = new Map([[`Queue:${queue.id}`, queue]]);
  queryClient.setQueriesData({ type: 'active' }, (data: unknown) => patch(data, updates));
}
