import type { QueueHealth } from './health.ts';

/** The facts by which queues are ordered by trouble. */
export interface TroubleFacts {
  paused: boolean;
  /** Whether the queue is held, or its probe has not ended. */
  held: boolean;
  /** How long the oldest due job has been due; null when none is. */
  oldestDueMs: number | null;
  warnings: readonly QueueHealth['warnings'][number]['warning'][];
}

/** A due job that waits for longer means that the queue falls behind. */
const BEHIND_MS = 60_000;
/** Longer than any job is kept, so that the severity decides before the age of the oldest due job. */
const SEVERITY = 10 ** 12;

/**
 * Returns how much a queue needs a hand, as a number that is larger for more trouble: first receivers that reject or fail,
 * then queues that fall behind or have a slow receiver, then held ones, then paused ones, then all others. Of equally severe
 * queues the one whose oldest due job waits longest has more trouble.
 */
export function troubleOf({ paused, held, oldestDueMs, warnings }: TroubleFacts): number {
  const has = (...names: TroubleFacts['warnings']) => warnings.some((warning) => names.includes(warning));
  const age = Math.min(Math.max(Math.floor(oldestDueMs ?? 0), 0), SEVERITY - 1);
  return severityOf() * SEVERITY + age;

  function severityOf(): number {
    if (has('signature_rejected', 'failing')) return 4;
    // A queue that was paused or held by intention falls behind by intention.
    if (paused) return 1;
    if (held || has('backpressure')) return 2;
    return (oldestDueMs ?? 0) > BEHIND_MS || has('slow_receiver') ? 3 : 0;
  }
}
