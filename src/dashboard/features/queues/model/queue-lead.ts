import type { View } from '../../../words/format.ts';
import { type Phrase, phrase, sentences } from '../../../words/phrase.ts';
import { conditionOf, type Flow, type QueueNow, recoveryText } from './queue-condition.ts';
import { limitOfQueue } from './queue-sentence.ts';

/** The line below the first one of a queue's page: what limits it, and what follows. */
export function leadOfQueue(queue: QueueNow, flow: Flow, view: View): Phrase {
  const condition = conditionOf(queue, flow, view);
  switch (condition) {
    case 'paused':
      return phrase`Jobs can be published as usual. None is delivered until the queue is resumed.`;
    case 'held':
      return phrase`Then one job is delivered as a probe. If the receiver takes it, the others follow; no attempt is used.`;
    case 'probing':
      return phrase`If the receiver takes it, the other jobs follow. If not, the queue is held again.`;
    default:
      return sentences(recoveryText(queue, view), limitOfQueue(queue, flow, view));
  }
}
