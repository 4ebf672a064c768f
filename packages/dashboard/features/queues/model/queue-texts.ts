import { waitingJobs } from '../../../../../src/domain/queue-condition.ts';
import { slotsInUse } from '../../../../../src/domain/queue-slots.ts';
import { many, minute, number, quote, span, time, took, type View } from '../../../../query/words/format.ts';
import { shortId } from '../../../../query/words/job-id.ts';
import { type Phrase, phrase, type TimePiece } from '../../../words/phrase.ts';
import { type Flow, openJobs, type QueueNow, quietFrom } from './queue-condition.ts';

/** Parts of the sentences about a queue. */

export const momentOf = (at: number, view: View): TimePiece => ({ at, text: time(at, view) });

/** 11:50 to 12:00 */
export function spanOf({ from, to }: { from: number; to: number }, view: View): string {
  return `${minute(from, view)} to ${minute(to, view)}`;
}

/**
 * "Its breaker has been open since 15:21:12: 14 answers in a row failed, the last was “HTTP 500”.
 * The next probe is at 15:25:02."
 */
export function breakerText({ hold, breaker }: QueueNow, view: View): Phrase {
  const openedAt = breaker?.openedAt ?? hold?.since ?? '';
  const last = hold?.reason == null ? '' : `, the last was ${quote(hold.reason)}`;
  const until = Date.parse(hold?.until ?? '');
  const next =
    hold?.probe != null
      ? phrase`Job ${shortId(hold.probe.id)} is probing it now.`
      : until > view.now
        ? phrase`The next probe is at ${momentOf(until, view)}.`
        : phrase`The next job that is due probes it.`;
  // A breaker that was removed may have left its hold.
  const failed = breaker == null ? '' : `: ${many(breaker.failedInRow, 'answer')} in a row failed${last}`;
  return phrase`Its breaker has been open since ${momentOf(Date.parse(openedAt), view)}${failed}. ${next}`;
}

/** "18 204 are due, the oldest for 8 min 40 s"; null if none is. */
export function dueText({ depth, oldestDueSeconds }: QueueNow): string | null {
  if (depth === null || depth.due === 0) return null;
  const oldest = oldestDueSeconds === null ? '' : `, the oldest for ${span(oldestDueSeconds * 1000)}`;
  return `${many(depth.due, 'is', 'are')} due${oldest}`;
}

const DAY_S = 86_400;

/** When a backlog is worked off: "at 12 per second until about 12:05". Jobs do not live for much longer than a day. */
export function paceText({ depth }: QueueNow, flow: Flow, view: View): Phrase {
  const seconds = (depth?.due ?? 0) / ((flow.out ?? 0) - (flow.in ?? 0));
  if (seconds > DAY_S) return phrase`at ${rate(flow.out ?? 0)} per second it takes more than a day`;
  const end = view.now + seconds * 1000;
  return phrase`at ${rate(flow.out ?? 0)} per second until about ${{ at: end, text: minute(end, view) }}`;
}

const TWENTY = 20;

/** One in twenty says nothing about fewer than twenty. */
export function slowText({ health }: Pick<QueueNow, 'health'>): string {
  const p95 = took(health?.duration.p95 ?? 0);
  return (health?.attempts ?? 0) < TWENTY
    ? `The slowest delivery of the last hour took about ${p95}.`
    : `5\u00a0% of deliveries in the last hour took about ${p95} or longer.`;
}

export const oldestText = ({ oldestDueSeconds }: QueueNow) => `the oldest for ${span((oldestDueSeconds ?? 0) * 1000)}`;

/** "since 12:03:11", or "for at least 15 min" where no more is known: that time moves, and no attempt ended at it. */
export function sinceText(queue: QueueNow, flow: Flow, view: View): Phrase {
  const last = quietFrom(queue, flow, view.now);
  if (last === null) return ['for a while'];
  if (flow.lastAt === null && last === flow.quietSince) return [`for at least ${span(view.now - last)}`];
  return phrase`since ${momentOf(last, view)}`;
}

/** "5 of 5 slots wait for a report, none has come since 15:08:00; the first time-out is at 16:08." */
export function awaitingText(queue: QueueNow, flow: Flow, view: View): Phrase {
  const { inFlight, concurrency, depth } = queue;
  const awaitingAck = depth?.awaitingAck ?? 0;
  const slots = slotsInUse({ inFlight: inFlight ?? awaitingAck, awaitingAck, concurrency });
  const deadline = depth?.firstAckDeadline ?? null;
  const timeout = deadline === null ? '' : phrase`; the first time-out is at ${momentOf(Date.parse(deadline), view)}`;
  return phrase`${slots}, none has come ${sinceText(queue, flow, view)}${timeout}.`;
}

/**
 * Says what outweighs the failures of the hour, as in "Attempts failed until 15:21:12; since then 80 have succeeded."
 * Returns null if nothing does.
 */
export function recoveryText({ health }: Pick<QueueNow, 'health'>, view: View): Phrase | null {
  const last = health?.lastFailure ?? null;
  if (last === null || last.succeededSince === 0) return null;
  return phrase`Attempts failed until ${momentOf(Date.parse(last.at), view)}; since then ${many(last.succeededSince, 'has', 'have')} succeeded, and none has failed.`;
}

/** 0.4, 3.2, 120 */
export function rate(perSecond: number): string {
  if (perSecond === 0) return '0';
  if (perSecond < 0.1) return 'fewer than 0.1';
  return perSecond < 10 ? perSecond.toFixed(1).replace(/\.0$/, '') : number(Math.round(perSecond));
}

/** "1 delivery", "3.2 deliveries" */
export const deliveries = (perSecond: number) =>
  `${rate(perSecond)} ${rate(perSecond) === '1' ? 'delivery' : 'deliveries'}`;

/** Too few attempts for a warning, and yet nothing was accepted, however long ago. */
export function allFailed({ health }: QueueNow): string | null {
  const past = health?.past?.failed ?? 0;
  if (past > 0) return `${many(past, 'attempt')} failed, and none has succeeded since.`;
  if (health === null || health.attempts === 0 || health.failed < health.attempts) return null;
  return health.attempts === 1
    ? 'It was the only one in the last hour, and it failed.'
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
export function openText({ depth }: QueueNow): string {
  return STATES.filter(([state]) => (depth?.[state] ?? 0) > 0)
    .map(([state, word]) => `${many(depth?.[state] ?? 0, 'is', 'are')} ${word}`)
    .join(', ');
}

/** Nothing is due: what waits for a later time, and for which. */
export function waitingText(queue: QueueNow, view: View): Phrase {
  const { depth } = queue;
  const next = depth?.nextDueAt ?? null;
  if (depth === null || next === null) return phrase`${openText(queue)}.`;
  const isHeldOnly = depth.held > 0 && depth.scheduled + depth.retrying === 0;
  const one = openJobs(queue) === 1;
  const which = isHeldOnly ? (one ? 'until' : 'the first until') : one ? 'at' : 'the first at';
  return phrase`${openText(queue)}${one ? '' : ','} ${which} ${momentOf(Date.parse(next), view)}.`;
}

export const jobsWait = (queue: QueueNow) => many(waitingJobs(queue), 'job waits', 'jobs wait');
