import type { Deadlines } from '../maintenance/deadlines.ts';
import { queueOf, type Task } from './index.ts';

/** "A lease or an ack deadline of this queue passes now, or in a moment." */
export function createTimeoutTask(deadlines: Deadlines): Task {
  return async (payload) => {
    const queueId = queueOf(payload);
    if (queueId !== null) await deadlines.check(queueId);
  };
}
