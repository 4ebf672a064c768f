import type { Run, Violation } from '../records.ts';
import * as accounting from './accounting.ts';
import { byDatabaseClock, byMachineClock } from './clocks.ts';
import * as delivering from './delivering.ts';
import { establish, type Facts, story } from './facts.ts';
import { checkLeases } from './leases.ts';
import * as losing from './losing.ts';
import { checkRecovery, type Recovery, recoveries } from './recovering.ts';
import * as telling from './telling.ts';

/** Every invariant that can be checked from outside (docs/invariants.md), by its id. */
export const CHECKS: Readonly<Record<string, (facts: Facts) => string[]>> = {
  'I-1': losing.checkNoLoss,
  'I-2': losing.checkNoPhantom,
  'I-3': losing.checkCommitBeforeAck,
  'I-4': delivering.checkVerbatim,
  'I-5': delivering.checkSignature,
  'I-6': delivering.checkEnvelope,
  'I-7': delivering.checkAttemptCap,
  'I-8': accounting.checkBackpressureFree,
  'I-9': accounting.checkDeferCap,
  'I-10': delivering.checkNotEarly,
  'I-11': delivering.checkLifetime,
  'I-12': accounting.checkSlotCap,
  'I-13': delivering.checkWireCap,
  'I-14': delivering.checkRateLimit,
  'I-17': losing.checkIdempotent,
  'I-18': delivering.checkTerminalFinal,
  'I-19': accounting.checkTransitions,
  'I-20': accounting.checkOneReport,
  'I-21': accounting.checkAckTimeout,
  'I-22': accounting.checkHistory,
  'I-23': accounting.checkCounts,
  'I-24': accounting.checkFencing,
  'I-25': accounting.checkDeadLetters,
  'I-26': accounting.checkReplayOnce,
  'I-29': accounting.checkUsage,
  'I-35': checkRecovery,
  'I-37': (facts) => [...losing.checkHonestOutage(facts), ...telling.checkProbes(facts)],
  'I-40': telling.checkFairShare,
  'I-41': checkLeases,
  'I-42': telling.checkOnlyEnded,
  'I-43': telling.checkHonestRefusal,
  'I-44': telling.checkNoPast,
  'I-45': telling.checkRevokedEnds,
  'I-48': telling.checkEnds,
  'I-49': delivering.checkAnswersRead,
  'I-50': delivering.checkOwnWay,
};

/** Checks that use the database's time. All others use the machine's, which has no gaps. */
const BY_DATABASE_CLOCK = new Set(['I-10', 'I-11', 'I-14', 'I-21']);

export interface Verdict {
  violations: Violation[];
  recoveries: Recovery[];
  /** Ids that were accepted and are not delivered, not there, or not at an end. */
  lost: number;
  delivered: number;
  /** Deliveries beyond the first of the same attempt. */
  duplicates: number;
}

/** Checks a run. Imports nothing of the service, and relies on no statement of the service about itself alone. */
export function check(run: Run): Verdict {
  const facts = establish(byMachineClock(run));
  const databaseFacts = establish(byDatabaseClock(run));
  const violations = Object.entries(CHECKS).flatMap(([id, find]) =>
    find(BY_DATABASE_CLOCK.has(id) ? databaseFacts : facts).map((what) => ({ id, what: withStory(facts, what) })),
  );
  let duplicates = 0;
  for (const [id, list] of facts.arrivals) {
    // A hold repeats the number of the attempt; that is another delivery and no duplicate.
    const holds = (facts.history.get(id) ?? []).filter(({ status }) => status === 'deferred').length;
    duplicates += Math.max(0, list.length - new Set(list.map(({ envelope }) => envelope.attempt)).size - holds);
  }
  return {
    violations,
    recoveries: recoveries(facts),
    lost: new Set(losing.checkNoLoss(facts)).size,
    delivered: facts.arrivals.size,
    duplicates,
  };
}

/** The history of the job that the violation names, if it names one. */
function withStory(facts: Facts, what: string): string {
  const id = what.match(/[0-9a-f]{24}/g)?.find((candidate) => facts.jobs.has(candidate));
  return id === undefined ? what : `${what}: ${story(facts, id)}`;
}
