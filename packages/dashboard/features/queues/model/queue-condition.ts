import {
  type QueueCondition as Condition,
  conditionOf as conditionOfFacts,
  costOf,
  severityOf,
  troubleOf,
} from '../../../../../src/domain/queue-condition.ts';
import { allAwaitReports } from '../../../../../src/domain/queue-slots.ts';
import type { QueueNow as Queue } from '../../../../query/schema/fragments.ts';
import { sumOfAnswers } from '../../../../query/words/answers.ts';
import type { View } from '../../../../query/words/format.ts';

/** The facts about a queue, and the condition that they amount to. `condition-words` has its words. */

export type { Condition };

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

export function conditionOf(queue: QueueNow, flow: Flow, { now }: View): Condition {
  const { hold, health, depth, oldestDueSeconds } = queue;
  const quietFromMs = quietFrom(queue, flow, now) ?? (flow.moves ? now : null);
  return conditionOfFacts({
    isDeleted: queue.deletedAt != null,
    isPaused: queue.paused,
    hold: hold && {
      isByBreaker: hold.byBreaker,
      isOver: Date.parse(hold.until) <= now,
      isProbing: hold.probe !== null,
    },
    warnings: health?.warnings.map(({ warning }) => warning.toLowerCase() as Lowercase<typeof warning>) ?? [],
    oldestDueMs: oldestDueSeconds === null ? null : oldestDueSeconds * 1000,
    flow: {
      inPerSecond: flow.in,
      outPerSecond: flow.out,
      quietMs: quietFromMs === null ? null : now - quietFromMs,
      allSlotsAwait: allSlotsAwait(queue),
      ackTimeoutMs: queue.ackTimeout * 1000,
      isMoving: (flow.accepted ?? 0) > 0 || canMove(queue),
      openJobs: openJobs({ depth }),
    },
  });
}

/**
 * Whether a person can do something about the hold. The next probe of a breaker may be due already: it is in flight, or
 * waits for a job, which may be held for longer. A paused queue has none.
 */
export function mayEndHold({ hold, paused, depth }: QueueNow, now: number): boolean {
  if (hold?.byBreaker !== true) return hold !== null;
  return !paused && (Date.parse(hold.until) > now || (hold.probe === null && (depth?.held ?? 0) > 0));
}

/** Whether all slots wait for reports, so that more of them would, too. */
export function allSlotsAwait({ depth, concurrency }: Pick<QueueNow, 'depth' | 'concurrency'>): boolean {
  return allAwaitReports({ awaitingAck: depth?.awaitingAck ?? 0, concurrency });
}

/** When the last attempt ended: a moment after which none has, in milliseconds; null while attempts end. */
function lastAtOf({ lastAt, moves, quietSince }: Flow): number | null {
  if (lastAt !== null) return Date.parse(lastAt);
  return moves ? null : quietSince;
}

/**
 * As `lastAtOf`, but not before the first of the jobs that wait, where no attempt is known: the queue may be younger.
 */
export function quietFrom({ depth, oldestDueSeconds, ackTimeout }: QueueNow, flow: Flow, now: number): number | null {
  const last = lastAtOf(flow);
  if (last === null || flow.lastAt !== null || flow.isUnseen !== true) return last;
  const deadline = depth?.firstAckDeadline ?? null;
  const starts = [
    ...(oldestDueSeconds === null ? [] : [now - oldestDueSeconds * 1000]),
    ...(deadline === null ? [] : [Date.parse(deadline) - ackTimeout * 1000]),
  ];
  return starts.length === 0 ? last : Math.max(last, Math.min(...starts));
}

/** Whether a job is due or in flight: the others wait for a later time. */
export function canMove({ depth }: QueueNow): boolean {
  return depth !== null && depth.due + depth.processing + depth.awaitingAck > 0;
}

/** Jobs that have not ended. */
export function openJobs({ depth }: Pick<QueueNow, 'depth'>): number {
  if (depth === null) return 0;
  return depth.due + depth.scheduled + depth.retrying + depth.held + depth.processing + depth.awaitingAck;
}

/** Attempts of the last hour, how many of them failed or were put off, and how many had an answer. */
export function attemptsOf({ health }: Pick<QueueNow, 'health'>) {
  if (health === null) return { all: 0, failed: 0, deferred: 0, answers: 0 };
  const { attempts: all, failed, deferred } = health;
  return { all, failed, deferred, answers: sumOfAnswers(health) - health.unanswered };
}

/** Whether a queue in this condition belongs in the list of what needs a look. */
export const needsLook = (condition: Condition) => severityOf(condition) > 0;

interface Judged {
  condition: Condition;
  queue: QueueNow;
}

const trouble = ({ condition, queue }: Judged) =>
  troubleOf(condition, costOf(queue), (queue.oldestDueSeconds ?? 0) * 1000);

/** Order of the queues that need attention: the worst first. */
export const compareTrouble = (a: Judged, b: Judged) => trouble(b) - trouble(a);
