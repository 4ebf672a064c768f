import type { Dispatcher } from '../dispatch/dispatcher.ts';
import { queueOf, type Task } from './index.ts';

/** "This queue may have work": the dispatcher looks, and waits for the exact moment by itself. */
export function createDeliverTask(dispatcher: Dispatcher): Task {
  return async (payload) => {
    const queueId = queueOf(payload);
    if (queueId !== null) dispatcher.wake(queueId);
  };
}
