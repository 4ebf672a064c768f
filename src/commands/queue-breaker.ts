import { time } from './output.ts';

/** The state of a queue and its breaker, as commands print them from the API and from the database. */

/** Says whether a queue runs, and what stops it. @param holdUntil null if it is not held */
export function stateText(isPaused: boolean, holdUntil: Date | null): string {
  if (isPaused) return 'paused';
  if (holdUntil === null) return 'running';
  return holdUntil > new Date() ? `held until ${time(holdUntil)}` : 'held until a job has probed the receiver';
}

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
