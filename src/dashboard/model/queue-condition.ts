import type { Answers } from './answers.ts';
import { many, minute, number, quote, seconds, span, time, took, type View } from './format.ts';
import { shortId } from './job-id.ts';
import { type Phrase, phrase, type TimePiece } from './phrase.ts';
import type { Signal, Word } from './words.ts';

/** The condition of a queue: the first of a fixed order that holds, as a word and as the first line of its page. */

/** Open jobs by state. */
export interface Depth {
  due: number;
  scheduled: number;
  retrying: number;
  held: number;
  processing: number;
  awaitingAck: number;
}

interface Health extends Answers {
  duration: { p50: number | null; p95: number | null };
  warnings: readonly { warning: 'BACKPRESSURE' | 'FAILING' | 'SIGNATURE_REJECTED' | 'SLOW_RECEIVER' }[];
}

/** What is known of a queue. The fragment `QueueNow` has these fields. */
export interface QueueNow {
  concurrency: number;
  inFlight: number | null;
  paused: boolean;
  pause: { since: string; by: string } | null;
  hold: { until: string; reason: string | null; askedBy: { id: string } | null; probe: { id: string } | null } | null;
  oldestDueSeconds: number | null;
  rateLimitWindow: number;
  rateWindow: { used: number; max: number; resetsAt: string } | null;
  depth: Depth | null;
  health: Health | null;
  /** Set for a deleted queue, with the end of its retention. */
  deletedAt?: string | null;
  keptUntil?: string | null;
}

/** Jobs a second, of the last two full buckets of the timelines; null if it is not known. */
export interface Flow {
  in: number | null;
  out: number | null;
  /** Median lateness of the deliveries, in milliseconds. */
  wait: number | null;
  /** When the last delivery ended, as far as it is known. */
  lastAt: string | null;
}

export const NO_FLOW: Flow = { in: null, out: null, wait: null, lastAt: null };

export type Condition =
  | 'deleted'
  | 'paused'
  | 'signature'
  | 'held'
  | 'probing'
  | 'failing'
  | 'behind'
  | 'catching-up'
  | 'slow'
  | 'pressure'
  | 'moving'
  | 'idle';

export const CONDITIONS: Readonly<Record<Condition, Word>> = {
  deleted: { word: 'Deleted', icon: 'deleted', signal: 'idle' },
  paused: { word: 'Paused', icon: 'paused', signal: 'idle' },
  signature: { word: 'Signature rejected', icon: 'key', signal: 'bad' },
  held: { word: 'Held', icon: 'held', signal: 'hold' },
  probing: { word: 'Probing', icon: 'probe', signal: 'hold' },
  failing: { word: 'Failing', icon: 'failing', signal: 'bad' },
  behind: { word: 'Behind', icon: 'growing', signal: 'warn' },
  'catching-up': { word: 'Catching up', icon: 'growing', signal: 'warn' },
  slow: { word: 'Slow receiver', icon: 'slow', signal: 'warn' },
  pressure: { word: 'Backpressure', icon: 'pressure', signal: 'hold' },
  moving: { word: 'Moving', icon: 'moving', signal: 'ok' },
  idle: { word: 'Idle', icon: 'idle', signal: 'idle' },
};

/** Conditions that need a look, worst first; of equal signal, as in the table. */
const ORDER_OF_SIGNALS: readonly Signal[] = ['bad', 'warn', 'hold', 'idle'];

const BEHIND_AFTER_SECONDS = 60;
/** Without an attempt for so long, and without open jobs, a queue is idle. */
const IDLE_AFTER_MS = 15 * 60_000;

export function conditionOf(queue: QueueNow, flow: Flow, { now }: View): Condition {
  const warnings = new Set(queue.health?.warnings.map(({ warning }) => warning));
  if (queue.deletedAt != null) return 'deleted';
  if (queue.paused) return 'paused';
  if (warnings.has('SIGNATURE_REJECTED')) return 'signature';
  if (queue.hold !== null && Date.parse(queue.hold.until) > now) return 'held';
  if (queue.hold?.probe != null) return 'probing';
  if (warnings.has('FAILING')) return 'failing';
  if ((queue.oldestDueSeconds ?? 0) > BEHIND_AFTER_SECONDS) {
    // Of a flow that is not known, the worse is said.
    return flow.in === null || flow.out === null || flow.in > flow.out ? 'behind' : 'catching-up';
  }
  if (warnings.has('SLOW_RECEIVER')) return 'slow';
  if (warnings.has('BACKPRESSURE')) return 'pressure';
  const hasMoved = flow.lastAt !== null && now - Date.parse(flow.lastAt) < IDLE_AFTER_MS;
  return openJobs(queue) > 0 || hasMoved || (flow.out ?? 0) > 0 ? 'moving' : 'idle';
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

/** Attempts of the last hour, and how many of them failed. */
export function attemptsOf({ health }: Pick<QueueNow, 'health'>): { all: number; failed: number } {
  if (health === null) return { all: 0, failed: 0 };
  const failed = health.answered3xx + health.answered4xx + health.answered5xx + health.unauthorized + health.unanswered;
  return { all: failed + health.answered2xx + health.backpressure, failed };
}

/** Whether a queue in this condition belongs in the list of what needs a look. */
export function needsLook(condition: Condition): boolean {
  return !['deleted', 'moving', 'idle'].includes(condition);
}

/** Order of the queues that need a look: the worst first, then by the oldest due job. */
export function compareTrouble(
  a: { condition: Condition; queue: QueueNow },
  b: { condition: Condition; queue: QueueNow },
): number {
  const rank = ({ condition }: { condition: Condition }) => ORDER_OF_SIGNALS.indexOf(CONDITIONS[condition].signal);
  return rank(a) - rank(b) || (b.queue.oldestDueSeconds ?? 0) - (a.queue.oldestDueSeconds ?? 0);
}

export function sentenceOfQueue(queue: QueueNow, flow: Flow, view: View): Phrase {
  const { all, failed } = attemptsOf(queue);
  const { health, hold, pause } = queue;
  const moment = (at: string): TimePiece => ({ at: Date.parse(at), text: time(Date.parse(at), view) });
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
      return phrase`The receiver rejects the signature: ${number(health?.unauthorized ?? 0)} of ${number(all)} answers of the last hour were 401.`;
    case 'held': {
      const until = hold?.until ?? '';
      const reason = hold?.reason == null ? '' : `: ${quote(hold.reason)}`;
      return phrase`Held for ${span(Date.parse(until) - view.now)} more, until ${moment(until)}${reason}. ${jobsWait(queue)}.`;
    }
    case 'probing':
      return phrase`Job ${shortId(hold?.probe?.id ?? '')} finds out whether it may go on.`;
    case 'failing':
      return phrase`${number(failed)} of ${number(all)} attempts of the last hour failed.`;
    case 'behind':
      return flow.in === null || flow.out === null
        ? phrase`Falls behind: the oldest due job waits for ${span((queue.oldestDueSeconds ?? 0) * 1000)}.`
        : phrase`Falls behind: ${rate(flow.in)} jobs a second come in, ${rate(flow.out)} go out.`;
    case 'catching-up':
      return catchingUp(queue, flow, view);
    case 'slow':
      return phrase`One delivery in twenty takes longer than ${took(health?.duration.p95 ?? 0)}.`;
    case 'pressure':
      return phrase`${number(health?.backpressure ?? 0)} of ${number(all)} attempts were put off by the receiver.`;
    case 'moving': {
      const late = flow.wait === null ? '' : `, ${took(flow.wait)} late`;
      if (flow.out !== null && flow.out > 0) return phrase`Moving: ${rate(flow.out)} deliveries a second${late}.`;
      if (openJobs(queue) === 0 && flow.lastAt !== null) {
        return phrase`Moving: nothing waits, the last delivery ended at ${moment(flow.lastAt)}.`;
      }
      return phrase`Moving: ${many(openJobs(queue), 'job is', 'jobs are')} open.`;
    }
    case 'idle':
      return flow.lastAt === null
        ? phrase`Idle. Nothing waits.`
        : phrase`Idle. The last delivery ended at ${moment(flow.lastAt)}.`;
  }
}

function catchingUp(queue: QueueNow, flow: Flow, view: View): Phrase {
  const due = queue.depth?.due ?? 0;
  const pace = (flow.out ?? 0) - (flow.in ?? 0);
  if (pace <= 0) return phrase`Catches up: ${number(due)} are due.`;
  const end = view.now + (due / pace) * 1000;
  return phrase`Catches up: ${number(due)} are due; at this pace until about ${{ at: end, text: minute(end, view) }}.`;
}

const jobsWait = (queue: QueueNow) => many(openJobs(queue), 'job waits', 'jobs wait');

/** 0.4, 3.2, 120 */
export function rate(perSecond: number): string {
  if (perSecond === 0) return '0';
  if (perSecond < 0.1) return 'under 0.1';
  return perSecond < 10 ? perSecond.toFixed(1).replace(/\.0$/, '') : number(Math.round(perSecond));
}

/** The line below: the limit that binds, and a way out. Null when the condition itself says it. */
export function limitOfQueue(queue: QueueNow, flow: Flow, view: View): Phrase | null {
  if (queue.paused || queue.deletedAt != null || queue.hold !== null) return null;
  const inFlight = queue.inFlight ?? 0;
  const { rateWindow } = queue;
  const at = rateWindow === null ? 0 : Date.parse(rateWindow.resetsAt);
  if (rateWindow !== null && rateWindow.used >= rateWindow.max && at > view.now) {
    return phrase`The rate limit binds: all ${number(rateWindow.max)} deliveries per ${seconds(queue.rateLimitWindow)} are used, the next begin in ${span(at - view.now)}.`;
  }
  if (inFlight >= queue.concurrency) return slotsBind(queue, flow);
  return phrase`Nothing limits it: ${number(inFlight)} of ${many(queue.concurrency, 'slot is', 'slots are')} busy.`;
}

/** Slots that would also work off what waits, as a factor of those that keep up. */
const CLEARING_FACTOR = 1.25;

function slotsBind(queue: QueueNow, flow: Flow): Phrase {
  const { concurrency, depth, health } = queue;
  const p50 = health?.duration.p50 ?? null;
  const needed = slotsNeeded(flow.in, p50);
  const all = phrase`All ${many(concurrency, 'slot is', 'slots are')} busy`;
  if (needed === null || needed <= concurrency)
    return phrase`${all}. More slots, or a faster receiver, would deliver more.`;
  if (flow.out === null || flow.out === 0 || p50 === null) {
    return phrase`${all}. At this rate it needs about ${number(needed)}.`;
  }
  const why = phrase`${all} and half of the deliveries take longer than ${took(p50)}, so ${rate(flow.out)} a second is all it can do.`;
  const clearing = Math.ceil(needed * CLEARING_FACTOR);
  const surplus = (flow.out * clearing) / concurrency - (flow.in ?? 0);
  const due = depth?.due ?? 0;
  const clears =
    surplus > 0 && due > 0
      ? `; ${number(clearing)} would also clear the backlog in about ${roughly((due / surplus) * 1000)}`
      : '';
  return phrase`${why} ${many(needed, 'slot')} would keep up${clears}, if the receiver can take them.`;
}

const MINUTE_MS = 60_000;

/** A guess has no seconds. */
const roughly = (ms: number) => span(ms < 2 * MINUTE_MS ? ms : Math.ceil(ms / MINUTE_MS) * MINUTE_MS);

/** Slots that the incoming jobs keep busy, with 10 % to spare. */
export function slotsNeeded(inPerSecond: number | null, p50Ms: number | null): number | null {
  if (inPerSecond === null || p50Ms === null) return null;
  return Math.ceil(((inPerSecond * p50Ms) / 1000) * 1.1);
}
