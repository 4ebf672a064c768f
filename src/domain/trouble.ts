import type { QueueHealth } from './health.ts';

/** The facts by which queues are ordered by trouble. */
interface TroubleFacts {
  paused: boolean;
  /** Whether the queue is held, or its probe is in flight. */
  held: boolean;
  /** Whether the queue's breaker is open. */
  broken: boolean;
  /** How long the oldest due job has been due; null when none is. */
  oldestDueMs: number | null;
  warnings: readonly QueueHealth['warnings'][number]['warning'][];
  /** Cost of the trouble: the number of attempts that failed, and of jobs that wait. */
  cost: number;
}

/** A due job that waits for longer means that the queue falls behind. */
const BEHIND_MS = 60_000;
/**
 * The severity decides before the cost, and this before the age of the oldest due job,
 * as far as a safe integer has room for them.
 */
const SEVERITY = 10 ** 12;
const COST = 10 ** 5;

/**
 * Returns how much a queue needs a hand, as a number that is larger for more trouble: first receivers that reject or
 * fail or whose breaker is open, then queues that fall behind or have a slow receiver, then held ones and those with
 * backpressure, then paused ones, then all others. Of several conditions the first counts, in the order of the
 * dashboard: paused, rejected, broken, held, failing, behind. Of equally severe queues the one that costs most has more
 * trouble, and of those the one whose oldest due job waits longest. A queue that needs no hand has 0.
 */
export function troubleOf(facts: TroubleFacts): number {
  const severity = severityOf(facts);
  if (severity === 0) return 0;
  const age = Math.min(Math.max(Math.floor((facts.oldestDueMs ?? 0) / 1000), 0), COST - 1);
  return severity * SEVERITY + Math.min(facts.cost, SEVERITY / COST - 1) * COST + age;
}

function severityOf({ paused, held, broken, oldestDueMs, warnings }: TroubleFacts): number {
  // A queue that was paused by intention falls behind by intention.
  if (paused) return 1;
  if (broken || warnings.includes('signature_rejected')) return 4;
  if (held) return 2;
  if (warnings.includes('failing')) return 4;
  if ((oldestDueMs ?? 0) > BEHIND_MS || warnings.includes('slow_receiver')) return 3;
  return warnings.includes('backpressure') ? 2 : 0;
}
