import { REPORTS_ADVICE, slotsInUse } from '../../../../domain/queue-slots.ts';
import { lowerFirst, many, number, quote, seconds, span, took, type View } from '../../../words/format.ts';
import { shortId } from '../../../words/job-id.ts';
import { type Phrase, phrase, sentences, type TimePiece, textOfPhrase } from '../../../words/phrase.ts';
import {
  allSlotsAwait,
  attemptsOf,
  awaitingText,
  breakerText,
  canMove,
  conditionOf,
  dueText,
  type Flow,
  momentOf,
  oldestText,
  openJobs,
  paceText,
  type QueueNow,
  rate,
  sinceText,
  slowText,
  spanOf,
  waitingJobs,
} from './queue-condition.ts';
import { failureSentence, failureText } from './queue-failure.ts';

/** The first lines of a queue's page: how it is, and what limits it. */

export function sentenceOfQueue(queue: QueueNow, flow: Flow, view: View): Phrase {
  const { all, deferred, answers } = attemptsOf(queue);
  const { health, hold, pause } = queue;
  const moment = (at: string): TimePiece => momentOf(Date.parse(at), view);
  switch (conditionOf(queue, flow, view)) {
    case 'deleted':
      return queue.keptUntil == null
        ? phrase`Deleted at ${moment(queue.deletedAt ?? '')}.`
        : phrase`Deleted at ${moment(queue.deletedAt ?? '')}. Its jobs are kept until ${moment(queue.keptUntil)}.`;
    case 'paused':
      return pause === null
        ? phrase`Paused. ${jobsWait(queue)}, nothing is lost.`
        : phrase`Paused since ${moment(pause.since)} by ${pause.by}. ${jobsWait(queue)}, nothing is lost.`;
    case 'signature':
      if (health?.past != null)
        return phrase`The receiver rejects the signature: ${lowerFirst(textOfPhrase(failureText(queue, view)))}`;
      return phrase`The receiver rejects the signature: ${number(health?.unauthorized ?? 0)} of ${many(answers, 'answer')} of the last hour were 401.`;
    case 'breaker':
      return phrase`The receiver is down. ${breakerText(queue, view)} ${jobsWait(queue)}.`;
    case 'held': {
      const until = hold?.until ?? '';
      const reason = hold?.reason == null ? '' : `: ${quote(hold.reason)}`;
      return phrase`Held for ${span(Date.parse(until) - view.now)} more, until ${moment(until)}${reason}. ${jobsWait(queue)}.`;
    }
    case 'probing':
      return phrase`Job ${shortId(hold?.probe?.id ?? '')} finds out whether it may go on.`;
    case 'failing':
      return failureSentence(queue, view);
    case 'awaiting':
      return phrase`Waiting for reports: ${awaitingText(queue, flow, view)}`;
    case 'stuck':
      return phrase`Stuck: ${many(queue.depth?.due ?? 0, 'job is', 'jobs are')} due, ${oldestText(queue)}, and no attempt has ended ${sinceText(queue, flow, view)}.`;
    case 'behind':
      return flow.in === null || flow.out === null || flow.span === null || flow.in <= flow.out
        ? phrase`Behind: ${dueText(queue) ?? oldestText(queue)}.`
        : phrase`Falling behind: ${rate(flow.in)} jobs per second came in during the last minute, and ${rate(flow.out)} were finished from ${spanOf(flow.span, view)}.`;
    case 'catching-up':
      return phrase`Catching up: ${many(queue.depth?.due ?? 0, 'is', 'are')} due; ${paceText(queue, flow, view)}.`;
    case 'slow':
      return [slowText(queue)];
    case 'pressure':
      return phrase`${number(deferred)} of ${many(all, 'attempt')} of the last hour were deferred by the receiver.`;
    case 'moving': {
      const late = flow.wait === null ? '' : `, starting ${took(flow.wait)} late`;
      if (flow.accepted !== null && flow.accepted > 0 && flow.span !== null) {
        return phrase`Running: ${deliveries(flow.accepted)} per second from ${spanOf(flow.span, view)}${late}.`;
      }
      if (openJobs(queue) > 0) return phrase`Running: ${openText(queue)}.`;
      if (flow.lastAt === null) return phrase`Running: nothing waits.`;
      return sentences(
        phrase`Running: nothing waits, the last attempt ended at ${moment(flow.lastAt)}.`,
        allFailed(queue),
      );
    }
    case 'waiting':
      return waitingText(queue, view);
    case 'idle':
      return flow.lastAt === null
        ? phrase`Idle. Nothing waits.`
        : sentences(phrase`Idle. The last attempt ended at ${moment(flow.lastAt)}.`, allFailed(queue));
  }
}

/** "1 delivery", "3.2 deliveries" */
export const deliveries = (perSecond: number) =>
  `${rate(perSecond)} ${rate(perSecond) === '1' ? 'delivery' : 'deliveries'}`;

/** Too few attempts for a warning, and yet nothing was accepted, however long ago. */
function allFailed({ health }: QueueNow): string | null {
  const past = health?.past?.failed ?? 0;
  if (past > 0) return `${many(past, 'attempt')} failed, and none has succeeded since.`;
  if (health === null || health.attempts === 0 || health.failed < health.attempts) return null;
  return health.attempts === 1
    ? 'It failed, the only one of the last hour.'
    : `All ${number(health.attempts)} attempts of the last hour failed.`;
}

const STATES = [
  ...([
    ['due', 'due'],
    ['processing', 'being delivered'],
    ['awaitingAck', 'waiting for a report'],
  ] as const),
  ...([
    ['scheduled', 'scheduled'],
    ['retrying', 'waiting for a retry'],
    ['held', 'held'],
  ] as const),
];

/** "3 are due, 1 is being delivered, 15 are scheduled" */
function openText({ depth }: QueueNow): string {
  return STATES.filter(([state]) => (depth?.[state] ?? 0) > 0)
    .map(([state, word]) => `${many(depth?.[state] ?? 0, 'is', 'are')} ${word}`)
    .join(', ');
}

/** Nothing is due: what waits for a time, and for which. */
function waitingText(queue: QueueNow, view: View): Phrase {
  const { depth } = queue;
  const next = depth?.nextDueAt ?? null;
  if (depth === null || next === null) return phrase`${openText(queue)}.`;
  const isHeldOnly = depth.held > 0 && depth.scheduled + depth.retrying === 0;
  const one = openJobs(queue) === 1;
  const which = isHeldOnly ? (one ? 'until' : 'the first until') : one ? 'at' : 'the first at';
  return phrase`${openText(queue)}${one ? '' : ','} ${which} ${momentOf(Date.parse(next), view)}.`;
}

const jobsWait = (queue: QueueNow) => many(waitingJobs(queue), 'job waits', 'jobs wait');

/** The line below: the limit that binds, and a way out. Null when the condition itself says it. */
export function limitOfQueue(queue: QueueNow, flow: Flow, view: View): Phrase | null {
  if (queue.paused || queue.deletedAt != null || queue.hold !== null) return null;
  const inFlight = queue.inFlight ?? 0;
  const { rateWindow } = queue;
  const at = rateWindow === null ? 0 : Date.parse(rateWindow.resetsAt);
  if (rateWindow !== null && rateWindow.used >= rateWindow.max && at > view.now) {
    return phrase`The rate limit is reached: all ${number(rateWindow.max)} deliveries per ${seconds(queue.rateLimitWindow)} are used, the next ones start in ${span(at - view.now)}.`;
  }
  if (allSlotsAwait(queue)) return [REPORTS_ADVICE];
  if (inFlight >= queue.concurrency) return slotsBind(queue, flow);
  if (conditionOf(queue, flow, view) === 'stuck') {
    return phrase`No limit is in the way: ${number(inFlight)} of ${many(queue.concurrency, 'slot')} in use. Check that a worker is running.`;
  }
  // Jobs that wait for a time are not limited, but nothing could be delivered either.
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
