import type { QueueHold } from './breaker.ts';
import type { QueueWarning } from './health.ts';

/**
 * The condition of a queue: the first of a fixed order that holds. The order of queues by trouble, the dashboard and
 * the command line all use it.
 */

/**
 * How bad a condition is: 4 where the receiver fails, 3 where deliveries are late or slow, 2 where they wait for the
 * receiver, 1 where a person stopped them, 0 where nothing needs a look.
 */
type Severity = 0 | 1 | 2 | 3 | 4;

const SEVERITIES = {
  deleted: 0,
  paused: 1,
  signature: 4,
  breaker: 4,
  held: 2,
  probing: 2,
  failing: 4,
  awaiting: 3,
  stuck: 3,
  behind: 3,
  'catching-up': 3,
  slow: 3,
  pressure: 2,
  moving: 0,
  waiting: 0,
  idle: 0,
} as const satisfies Record<string, Severity>;

export type QueueCondition = keyof typeof SEVERITIES;

export const severityOf = (condition: QueueCondition): Severity => SEVERITIES[condition];

export interface ConditionFacts {
  isDeleted: boolean;
  isPaused: boolean;
  /** Null if the queue is not held. */
  hold: QueueHold | null;
  warnings: readonly QueueWarning[];
  /** How long the oldest due job has been due; null when none is. */
  oldestDueMs: number | null;
  /** Null if it was not read: a backlog is then `behind`, and a queue that needs no look is `moving`. */
  flow: QueueFlow | null;
}

/** How the jobs of a queue move. */
export interface QueueFlow {
  /** Jobs published, and jobs that ended; null if it is not known. */
  inPerSecond: number | null;
  outPerSecond: number | null;
  /** How long no attempt has ended; null if it is not known. */
  quietMs: number | null;
  /** Whether all slots wait for reports. */
  allSlotsAwait: boolean;
  ackTimeoutMs: number;
  /** Whether jobs are accepted, due or in flight. */
  isMoving: boolean;
  /** Jobs that have not ended. */
  openJobs: number;
}

/** A due job that waits for longer means that the queue falls behind. */
export const BEHIND_MS = 60_000;
/** Nothing moves, and reports may not come at all, if no attempt has ended for so long. */
const QUIET_MS = 5 * 60_000;
/** Without an attempt for so long, and without open jobs, a queue is idle. */
const IDLE_AFTER_MS = 15 * 60_000;

export function conditionOf({
  isDeleted,
  isPaused,
  hold,
  warnings,
  oldestDueMs,
  flow,
}: ConditionFacts): QueueCondition {
  if (isDeleted) return 'deleted';
  // A queue that was paused by intention falls behind by intention.
  if (isPaused) return 'paused';
  if (warnings.includes('signature_rejected')) return 'signature';
  if (hold?.isByBreaker === true) return 'breaker';
  if (hold?.isOver === false) return 'held';
  if (hold?.isProbing === true) return 'probing';
  if (warnings.includes('failing')) return 'failing';
  if ((oldestDueMs ?? 0) > BEHIND_MS) return backlogOf(flow);
  if (warnings.includes('slow_receiver')) return 'slow';
  if (warnings.includes('backpressure')) return 'pressure';
  if (flow === null || flow.isMoving) return 'moving';
  if (flow.openJobs > 0) return 'waiting';
  return flow.quietMs !== null && flow.quietMs < IDLE_AFTER_MS ? 'moving' : 'idle';
}

/** The condition of a queue whose oldest due job waits for long. */
function backlogOf(flow: QueueFlow | null): QueueCondition {
  if (flow === null) return 'behind';
  const { inPerSecond, outPerSecond, quietMs, ackTimeoutMs } = flow;
  const isQuietFor = (ms: number) => quietMs !== null && quietMs >= ms;
  if (flow.allSlotsAwait && isQuietFor(Math.min(QUIET_MS, ackTimeoutMs / 2))) return 'awaiting';
  // If the flow is not known, the worse condition is shown, but not that nothing moves.
  if (inPerSecond === null || outPerSecond === null) return 'behind';
  if (outPerSecond > 0 && outPerSecond > inPerSecond) return 'catching-up';
  return isQuietFor(QUIET_MS) ? 'stuck' : 'behind';
}

/** Jobs that no worker has: a purge cancels them. */
export function waitingJobs({ depth }: { depth: WaitingJobs | null }): number {
  return depth === null ? 0 : depth.due + depth.scheduled + depth.retrying + depth.held;
}

type WaitingJobs = Readonly<Record<'due' | 'scheduled' | 'retrying' | 'held', number>>;

/** The cost of a queue's trouble: the number of attempts that failed, and of jobs that wait. */
export function costOf(queue: {
  health: { failed: number; past: { failed: number } | null } | null;
  depth: WaitingJobs | null;
}): number {
  return ((queue.health?.past ?? queue.health)?.failed ?? 0) + waitingJobs(queue);
}

/**
 * The severity decides before the cost, and this before the age of the oldest due job,
 * as far as a safe integer has room for them.
 */
const SEVERITY = 10 ** 12;
const COST = 10 ** 5;

/**
 * Returns how much a queue needs a look, as a number that is larger for more trouble. Of equally severe queues the one
 * that costs most has more trouble, and of those the one whose oldest due job waits longest. A queue that needs no look
 * has 0.
 * @param cost as `costOf` counts it
 */
export function troubleOf(condition: QueueCondition, cost: number, oldestDueMs: number | null): number {
  const severity = severityOf(condition);
  if (severity === 0) return 0;
  const age = Math.min(Math.max(Math.floor((oldestDueMs ?? 0) / 1000), 0), COST - 1);
  return severity * SEVERITY + Math.min(cost, SEVERITY / COST - 1) * COST + age;
}
