import { allAwaitReports, slotsInUse } from '../../../../domain/queue-slots.ts';
import type { QueueNow as Queue } from '../../../schema/fragments.ts';
import { sumOfAnswers } from '../../../words/answers.ts';
import { many, minute, number, quote, span, time, took, type View } from '../../../words/format.ts';
import { shortId } from '../../../words/job-id.ts';
import { type Phrase, phrase, type TimePiece } from '../../../words/phrase.ts';
import type { Signal, Word } from '../../../words/words.ts';

/** The condition of a queue: the first of a fixed order that holds. `queue-sentence` says it on the queue's page. */

/** Open jobs by state. */
export type Jobs = Omit<Depth, 'nextDueAt' | 'firstAckDeadline'>;

export type Depth = NonNullable<Queue['depth']>;

/** The facts about a queue. */
export interface QueueNow extends Omit<Queue, '__typename' | 'id' | 'name' | 'mode' | 'rateLimitMax'> {
  /** Set for a deleted queue, with the end of its retention. */
  deletedAt?: string | null;
  keptUntil?: string | null;
}

/** Jobs per second, of the last minutes; null if it is not known. */
export interface Flow {
  /** Published jobs, of the last minute. */
  in: number | null;
  /** Jobs that ended: accepted ones, and dead ones. */
  out: number | null;
  /** Attempts that the receiver accepted. */
  accepted: number | null;
  /** Median lateness of the deliveries, in milliseconds. */
  wait: number | null;
  /** The time of these numbers, in milliseconds. */
  span: { from: number; to: number } | null;
  /** Whether attempts have ended in the present bucket. */
  moves: boolean;
  /** No attempt ended between this moment and the present bucket, in milliseconds. */
  quietSince: number | null;
  /**
   * No attempt ended in the whole time of the numbers, so that `quietSince` is its start,
   * when there may have been no queue.
   */
  isUnseen?: true;
  /** When the last attempt ended, exactly; null if it was not fetched, or there is none. */
  lastAt: string | null;
}

export const NO_FLOW: Flow = {
  in: null,
  out: null,
  accepted: null,
  wait: null,
  span: null,
  moves: false,
  quietSince: null,
  lastAt: null,
};

export type Condition =
  | 'deleted'
  | 'paused'
  | 'signature'
  | 'breaker'
  | 'held'
  | 'probing'
  | 'failing'
  | 'awaiting'
  | 'stuck'
  | 'behind'
  | 'catching-up'
  | 'slow'
  | 'pressure'
  | 'moving'
  | 'waiting'
  | 'idle';

export const CONDITIONS: Readonly<Record<Condition, Word>> = {
  deleted: { word: 'Deleted', icon: 'deleted', signal: 'idle' },
  paused: { word: 'Paused', icon: 'paused', signal: 'idle' },
  signature: { word: 'Signature rejected', icon: 'key', signal: 'bad' },
  breaker: { word: 'Breaker open', icon: 'failing', signal: 'bad' },
  held: { word: 'Held', icon: 'held', signal: 'hold' },
  probing: { word: 'Probing', icon: 'probe', signal: 'hold' },
  failing: { word: 'Failing', icon: 'failing', signal: 'bad' },
  awaiting: { word: 'Waiting for reports', icon: 'ack', signal: 'warn' },
  stuck: { word: 'Stuck', icon: 'stop', signal: 'warn' },
  behind: { word: 'Behind', icon: 'growing', signal: 'warn' },
  'catching-up': { word: 'Catching up', icon: 'growing', signal: 'warn' },
  slow: { word: 'Slow receiver', icon: 'slow', signal: 'warn' },
  pressure: { word: 'Backpressure', icon: 'pressure', signal: 'hold' },
  moving: { word: 'Running', icon: 'moving', signal: 'ok' },
  waiting: { word: 'Waiting', icon: 'scheduled', signal: 'idle' },
  idle: { word: 'Idle', icon: 'idle', signal: 'idle' },
};

/** Conditions that need attention, worst first; of equal signal, as in the table. */
const ORDER_OF_SIGNALS: readonly Signal[] = ['bad', 'warn', 'hold', 'idle'];

const BEHIND_AFTER_SECONDS = 60;
/** Without an attempt for so long, and without open jobs, a queue is idle. */
const IDLE_AFTER_MS = 15 * 60_000;

export function conditionOf(queue: QueueNow, flow: Flow, { now }: View): Condition {
  const warnings = new Set(queue.health?.warnings.map(({ warning }) => warning));
  if (queue.deletedAt != null) return 'deleted';
  if (queue.paused) return 'paused';
  if (warnings.has('SIGNATURE_REJECTED')) return 'signature';
  if (queue.hold?.byBreaker === true) return 'breaker';
  if (queue.hold !== null && Date.parse(queue.hold.until) > now) return 'held';
  if (queue.hold?.probe != null) return 'probing';
  if (warnings.has('FAILING')) return 'failing';
  if ((queue.oldestDueSeconds ?? 0) > BEHIND_AFTER_SECONDS) return backlogOf(queue, flow, now);
  if (warnings.has('SLOW_RECEIVER')) return 'slow';
  if (warnings.has('BACKPRESSURE')) return 'pressure';
  if ((flow.accepted ?? 0) > 0 || canMove(queue)) return 'moving';
  if (openJobs(queue) > 0) return 'waiting';
  return flow.moves || now - (lastAtOf(flow) ?? 0) < IDLE_AFTER_MS ? 'moving' : 'idle';
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
      ? phrase`Job ${shortId(hold.probe.id)} finds out whether it is back.`
      : until > view.now
        ? phrase`The next probe is at ${momentOf(until, view)}.`
        : phrase`The next job that is due probes it.`;
  return phrase`Its breaker has been open since ${momentOf(Date.parse(openedAt), view)}: ${many(breaker?.failedInRow ?? 0, 'answer')} in a row failed${last}. ${next}`;
}

/**
 * Whether a person can do something about the hold. The next probe of a breaker may be due already: it is in flight, or
 * waits for a job, which may be held for longer. A paused queue has none.
 */
export function mayEndHold({ hold, paused, depth }: QueueNow, now: number): boolean {
  if (hold?.byBreaker !== true) return hold !== null;
  return !paused && (Date.parse(hold.until) > now || (hold.probe === null && (depth?.held ?? 0) > 0));
}

/** The condition of a queue whose oldest due job waits for long. */
function backlogOf(queue: QueueNow, flow: Flow, now: number): Condition {
  if (awaitsReports(queue, flow, now)) return 'awaiting';
  // If the flow is not known, the worse condition is shown, but not that nothing moves.
  if (flow.in === null || flow.out === null) return 'behind';
  if (flow.out > 0 && flow.out > flow.in) return 'catching-up';
  const last = quietFrom(queue, flow, now);
  return last !== null && now - last >= QUIET_MS ? 'stuck' : 'behind';
}

/** Nothing moves, and reports may not come at all, if none has come for so long. */
const QUIET_MS = 5 * 60_000;

/** Whether all slots wait for reports, so that more of them would, too. */
export function allSlotsAwait({ depth, concurrency }: Pick<QueueNow, 'depth' | 'concurrency'>): boolean {
  return allAwaitReports({ awaitingAck: depth?.awaitingAck ?? 0, concurrency });
}

function awaitsReports(queue: QueueNow, flow: Flow, now: number): boolean {
  if (!allSlotsAwait(queue)) return false;
  const last = quietFrom(queue, flow, now);
  return last !== null && now - last >= Math.min(QUIET_MS, (queue.ackTimeout * 1000) / 2);
}

/** When the last attempt ended: a moment after which none has, in milliseconds; null while attempts end. */
function lastAtOf({ lastAt, moves, quietSince }: Flow): number | null {
  if (lastAt !== null) return Date.parse(lastAt);
  return moves ? null : quietSince;
}

/**
 * As `lastAtOf`, but not before the first of the jobs that wait, where no attempt is known: the queue may be younger.
 */
function quietFrom({ depth, oldestDueSeconds, ackTimeout }: QueueNow, flow: Flow, now: number): number | null {
  const last = lastAtOf(flow);
  if (last === null || flow.lastAt !== null || flow.isUnseen !== true) return last;
  const deadline = depth?.firstAckDeadline ?? null;
  const starts = [
    ...(oldestDueSeconds === null ? [] : [now - oldestDueSeconds * 1000]),
    ...(deadline === null ? [] : [Date.parse(deadline) - ackTimeout * 1000]),
  ];
  return starts.length === 0 ? last : Math.max(last, Math.min(...starts));
}

/** Whether a job is due or in flight: the others wait for a time. */
export function canMove({ depth }: QueueNow): boolean {
  return depth !== null && depth.due + depth.processing + depth.awaitingAck > 0;
}

/** Jobs that have not ended. */
export function openJobs({ depth }: Pick<QueueNow, 'depth'>): number {
  if (depth === null) return 0;
  return depth.due + depth.scheduled + depth.retrying + depth.held + depth.processing + depth.awaitingAck;
}

/** Jobs that no worker has: a purge cancels them. */
export function waitingJobs({ depth }: Pick<QueueNow, 'depth'>): number {
  return depth === null ? 0 : depth.due + depth.scheduled + depth.retrying + depth.held;
}

/** Attempts of the last hour, how many of them failed or were put off, and how many had an answer. */
export function attemptsOf({ health }: Pick<QueueNow, 'health'>) {
  if (health === null) return { all: 0, failed: 0, deferred: 0, answers: 0 };
  const { attempts: all, failed, deferred } = health;
  return { all, failed, deferred, answers: sumOfAnswers(health) - health.unanswered };
}

/** Whether a queue in this condition belongs in the list of what needs a look. */
export function needsLook(condition: Condition): boolean {
  return !['deleted', 'moving', 'waiting', 'idle'].includes(condition);
}

/**
 * Order of the queues that need attention: the worst first, then by failed attempts and waiting jobs,
 * then by the oldest due job.
 */
export function compareTrouble(
  a: { condition: Condition; queue: QueueNow },
  b: { condition: Condition; queue: QueueNow },
): number {
  return (
    rankOf(a.condition) - rankOf(b.condition) ||
    costOf(b.queue) - costOf(a.queue) ||
    (b.queue.oldestDueSeconds ?? 0) - (a.queue.oldestDueSeconds ?? 0)
  );
}

export const rankOf = (condition: Condition) => ORDER_OF_SIGNALS.indexOf(CONDITIONS[condition].signal);

/** The number of attempts that failed, and of jobs that wait. */
export const costOf = (queue: QueueNow) =>
  (queue.health?.past?.failed ?? queue.health?.failed ?? 0) + waitingJobs(queue);

export const momentOf = (at: number, view: View): TimePiece => ({ at, text: time(at, view) });

/** 11:50 to 12:00 */
export function spanOf({ from, to }: { from: number; to: number }, view: View): string {
  return `${minute(from, view)} to ${minute(to, view)}`;
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
 * Says what outweighs the failures of the hour, as in "It failed until 15:21:12; all 80 attempts since succeeded."
 * Returns null if nothing does.
 */
export function recoveryText({ health }: Pick<QueueNow, 'health'>, view: View): Phrase | null {
  const last = health?.lastFailure ?? null;
  if (last === null || last.succeededSince === 0) return null;
  return phrase`It failed until ${momentOf(Date.parse(last.at), view)}; since then ${many(last.succeededSince, 'attempt')} succeeded, and none failed.`;
}

/** 0.4, 3.2, 120 */
export function rate(perSecond: number): string {
  if (perSecond === 0) return '0';
  if (perSecond < 0.1) return 'fewer than 0.1';
  return perSecond < 10 ? perSecond.toFixed(1).replace(/\.0$/, '') : number(Math.round(perSecond));
}
