import type { NewAlert } from '../../../words/new-alert.ts';
import type { Condition, QueueNow } from './queue-condition.ts';

/** The thresholds from which the server warns (src/domain/health.ts). */
const FAILING_PERCENT = 50;
const UNAUTHORIZED_PERCENT = 5;
/** A queue with a job that waits for longer needs a look. */
const BEHIND_SECONDS = 60;
const HELD_SECONDS = 60;

/**
 * Returns the rule that tells of this condition when it comes again;
 * null for a condition that a person has chosen, or that is none.
 */
export function alertOfCondition(
  condition: Condition,
  queue: Pick<QueueNow, 'health'> & { id: string; name: string },
): NewAlert | null {
  const { id, name } = queue;
  const rule = (kind: NewAlert['kind'], threshold: number | null) => ({ kind, queue: { id, name }, threshold });
  switch (condition) {
    case 'signature':
      return rule('SIGNATURE_REJECTED', UNAUTHORIZED_PERCENT);
    case 'failing':
      return rule('FAILURE_SHARE', FAILING_PERCENT);
    case 'breaker':
      return rule('BREAKER', HELD_SECONDS);
    case 'held':
    case 'probing':
    case 'pressure':
      return rule('HOLD', HELD_SECONDS);
    case 'awaiting':
    case 'stuck':
    case 'behind':
    case 'catching-up':
      return rule('OLDEST_DUE', BEHIND_SECONDS);
    case 'slow':
      return rule('SLOW_RECEIVER', slowSeconds(queue));
    default:
      return null;
  }
}

/** A little below what is slow now. */
function slowSeconds({ health }: Pick<QueueNow, 'health'>): number | null {
  const p95 = health?.duration.p95 ?? null;
  return p95 === null ? null : Math.min(Math.max(Math.floor(p95 / 1000), 1), 600);
}
