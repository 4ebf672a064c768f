import type { Dispatcher } from '../dispatch/dispatcher.ts';
import { queueOf, type Task } from './index.ts';

/** "This queue may have work." The dispatcher claims, and sets a timer for the exact moment. */
export function createDeliverTask(dispatcher: Dispatcher): Task {
  return async (payload) => {
    const queueId = queueOf(payload);
    if (queueId !== null) dispatcher.wake(queueId);
  };
}
