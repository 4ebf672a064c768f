import { REPORTS_ADVICE, slotsInUse } from '../../../../../src/domain/queue-slots.ts';
import { many, number, seconds, span, took, type View } from '../../../../query/words/format.ts';
import { type Phrase, phrase, sentences } from '../../../words/phrase.ts';
import { CONDITIONS } from './condition-words.ts';
import { allSlotsAwait, canMove, conditionOf, type Flow, openJobs, type QueueNow } from './queue-condition.ts';
import { rate, recoveryText } from './queue-texts.ts';

/** The first lines of a queue's page: how it is, and what limits it. */

export const sentenceOfQueue = (queue: QueueNow, flow: Flow, view: View): Phrase =>
  CONDITIONS[conditionOf(queue, flow, view)].sentence(queue, flow, view);

/** The line below the first one: what follows from it, or what limits the queue. */
export const leadOfQueue = (queue: QueueNow, flow: Flow, view: View): Phrase =>
  CONDITIONS[conditionOf(queue, flow, view)].advice ??
  sentences(recoveryText(queue, view), limitOfQueue(queue, flow, view));

/** The limit that binds, and a way out. Null when the condition itself says it. */
export function limitOfQueue(queue: QueueNow, flow: Flow, view: View): Phrase | null {
  if (queue.paused || queue.deletedAt != null || queue.hold !== null) return null;
  const inFlight = queue.inFlight ?? 0;
  const { rateWindow } = queue;
  const at = rateWindow === null ? 0 : Date.parse(rateWindow.resetsAt);
  if (rateWindow !== null && rateWindow.used >= rateWindow.max && at > view.now) {
    return phrase`The rate limit of ${number(rateWindow.max)} per ${seconds(queue.rateLimitWindow)} is used up; the next delivery starts in ${span(at - view.now)}.`;
  }
  if (allSlotsAwait(queue)) return [REPORTS_ADVICE];
  if (inFlight >= queue.concurrency) return slotsBind(queue, flow);
  if (conditionOf(queue, flow, view) === 'stuck') {
    return phrase`No limit is in the way: ${number(inFlight)} of ${many(queue.concurrency, 'slot')} in use. Check that a worker is running.`;
  }
  // Jobs that wait for a later time are not limited, but nothing could be delivered either.
  const why = !canMove(queue) && openJobs(queue) > 0 ? 'Nothing is due' : 'No limit is in the way';
  return phrase`${why}: ${number(inFlight)} of ${many(queue.concurrency, 'slot')} in use.`;
}

function slotsBind(queue: QueueNow, flow: Flow): Phrase {
  const { concurrency, depth, health } = queue;
  const awaitingAck = depth?.awaitingAck ?? 0;
  if (awaitingAck > 0) {
    // A slot is taken until the report, so the duration of a delivery says nothing of how many are needed.
    const slots = slotsInUse({ inFlight: queue.inFlight ?? 0, awaitingAck, concurrency });
    return phrase`${slots}. More slots, or reports that come sooner, would deliver more.`;
  }
  const p50 = health?.duration.p50 ?? null;
  const needed = slotsNeeded(flow.in, p50);
  const all = concurrency === 1 ? phrase`The only slot is busy` : phrase`All ${number(concurrency)} slots are busy`;
  if (needed === null || p50 === null || needed <= concurrency)
    return phrase`${all}. More slots, or a faster receiver, would deliver more.`;
  // Slots and duration say what the queue can do; the pace of the last minutes also has what did not come in.
  const most = rate((concurrency * 1000) / p50);
  return phrase`${all} and half of the deliveries take longer than ${took(p50)}, so ${/^\d/.test(most) ? 'about ' : ''}${most} per second is all it can do. ${many(needed, 'slot')} would keep up, if the receiver can take them.`;
}

/** Slots that the incoming jobs keep busy, with 10 % to spare. */
export function slotsNeeded(inPerSecond: number | null, p50Ms: number | null): number | null {
  if (inPerSecond === null || p50Ms === null) return null;
  return Math.ceil(((inPerSecond * p50Ms) / 1000) * 1.1);
}
