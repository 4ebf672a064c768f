import { type ConditionFacts, conditionOf, type QueueCondition } from '../../domain/queue-condition.ts';
import { time } from './output.ts';

/** The state of a queue and its breaker, as commands print them from the API and from the database. */

/** Returns the state of a queue in words, from what both the API and the database tell. */
export function stateText({ isPaused, hold, holdUntil, oldestDueMs }: ShownState): string {
  const condition = conditionOf({ isDeleted: false, isPaused, hold, warnings: [], oldestDueMs, flow: null });
  if (condition === 'held' && holdUntil !== null) return `held until ${time(holdUntil)}`;
  return STATES[condition] ?? 'running';
}

interface ShownState extends Pick<ConditionFacts, 'isPaused' | 'hold' | 'oldestDueMs'> {
  /** Null if it is not held. */
  holdUntil: Date | null;
}

const STATES: Partial<Record<QueueCondition, string>> = {
  paused: 'paused',
  breaker: 'breaker open',
  probing: 'held until a job has probed the receiver',
  behind: 'behind',
};

interface ShownBreaker {
  failures: number | null;
  seconds: number | null;
  /** Null while it is closed. */
  openedAt: Date | string | null;
  failedProbes: number;
  /** While it is open. */
  nextProbeAt: Date | string | null | undefined;
}

type Fact = readonly [string, string | number | null | undefined];

/** @param breaker null for a queue without one */
export function breakerFacts(breaker: ShownBreaker | null): Fact[] {
  if (breaker === null) return [['breaker', null]];
  const { failures, seconds, openedAt, failedProbes, nextProbeAt } = breaker;
  const byNumber = failures === null ? [] : [`after ${failures} failed answers in a row`];
  const byTime = seconds === null ? [] : [`when all answers of ${seconds} s have failed`];
  const settings: Fact = ['breaker', `opens ${[...byNumber, ...byTime].join(', or ')}`];
  if (openedAt === null) return [settings];
  return [
    settings,
    ['breaker open since', at(openedAt)],
    ['failed probes', failedProbes],
    ['next probe', nextProbeAt == null ? undefined : at(nextProbeAt)],
  ];
}

const at = (moment: Date | string) => time(new Date(moment));
