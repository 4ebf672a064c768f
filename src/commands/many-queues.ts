import { type Result, UsageError } from './command.ts';
import { printable } from './output.ts';

/** A command about one queue or all of a receiver. */

/** @throws UsageError */
export function assertOne(argument: string, receiver: string | undefined): void {
  if (argument === '' && receiver === undefined)
    throw new UsageError('the id or the name of the queue is missing, or --receiver');
  if (argument !== '' && receiver !== undefined) throw new UsageError('give a queue or --receiver, not both');
}

export function noReceiver(host: string): string {
  return `no queue delivers to ${printable(host)}: give the host of the webhook URL, with its port or without`;
}

/** Does the work for each queue in turn; of a receiver, JSON is a list, however many there are. What was done before an error is in its message. */
export async function forEach<Queue extends { id: string }>(
  queues: readonly Queue[],
  receiver: string | undefined,
  work: (queue: Queue) => Promise<[changed: boolean, text: string]>,
): Promise<Result> {
  const done: { id: string; changed: boolean }[] = [];
  const lines: string[] = [];
  for (const queue of queues) {
    const [changed, text] = await work(queue).catch((error: unknown) => {
      if (error instanceof Error && lines.length > 0) error.message = [error.message, ...lines].join('\n');
      throw error;
    });
    done.push({ id: queue.id, changed });
    lines.push(text);
  }
  const [only] = done;
  return { json: receiver === undefined ? only : { queues: done }, text: lines.join('\n') };
}
