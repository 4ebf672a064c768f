import { request } from '../../../api/client.ts';
import { outcomeOf } from '../../../api/outcome.ts';
import { toast, toastFailure } from '../../../parts/toast.tsx';
import { sentenceOfCheck } from '../model/receiver-check.ts';
import { CheckReceiver, OneQueueOf } from '../operations/check-receiver.ts';

/** Sends one test request to the receiver, and says what it answered. */
export async function checkReceiver(id: string, webhookTimeoutSeconds: number): Promise<void> {
  toast({ text: 'The receiver gets a test request…', icon: 'send', signal: 'run' });
  try {
    const outcome = outcomeOf((await request(CheckReceiver, { id })).checkReceiver);
    if (!outcome.ok) toastFailure(`Receiver not checked: ${outcome.message}`);
    else toast(sentenceOfCheck(outcome.value.check, webhookTimeoutSeconds));
  } catch (error) {
    toastFailure(`Receiver not checked: ${(error as Error).message}`);
  }
}

/** Sends it by one of the host's queues: all of them share its name, its connection and its certificate. */
export async function checkHost(host: string, webhookTimeoutSeconds: number): Promise<void> {
  try {
    const { queues } = await request(OneQueueOf, { host });
    const [queue] = queues.nodes;
    if (queue !== undefined) await checkReceiver(queue.id, webhookTimeoutSeconds);
  } catch (error) {
    toastFailure(`Receiver not checked: ${(error as Error).message}`);
  }
}
