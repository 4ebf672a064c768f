import { type Facts, groupBy, isTerminal } from './facts.ts';

/** Answers to clients and operators are true, and only rows that may be removed are removed. */

/** The pool and the connections beside it, with those that are just being replaced. */
const SESSIONS_OF_A_PROCESS = 30;
/** A revoked key gets no event after a second; the other second is for a busy machine and for events already sent. */
const REVOKED_MS = 1000 + 1000;
/** Readiness is cached for a second, and its query takes at most another. */
const READINESS_MS = 2000 + 500;

/**
 * I-40, as far as such a run can see it: an account whose webhook's name is answered has neither refusals nor failures
 * because another account's name is not; and no process has more sessions than its bound.
 */
export function checkFairShare(facts: Facts): string[] {
  const { run, queues, queuesByName, jobs, history } = facts;
  const found = run.sessions
    .filter(({ sessions }) => sessions > SESSIONS_OF_A_PROCESS)
    .map(({ process, sessions }) => `${process} had ${sessions} sessions`);
  const struck = run.faults.filter(({ kind }) => kind === 'name-server');
  if (struck.length === 0) return found;
  const isNamed = (host: string | null | undefined, at: number) =>
    host != null &&
    struck.some(({ hosts, at: from, healedAt }) => hosts?.includes(host) && from <= at && at <= after(healedAt));
  const isAlone = (at: number) =>
    struck.some((fault) => fault.at <= at && at <= after(fault.healedAt)) &&
    run.faults.every((fault) => fault.kind === 'name-server' || fault.at > at || after(fault.healedAt) < at);

  for (const { queue, status, endedAt, invokedAt } of run.publishes) {
    if (status !== null && status >= 429 && isAlone(invokedAt) && isAlone(endedAt)) {
      found.push(`a publish to ${queue} was refused with ${status} while names were not answered`);
    }
  }
  for (const [id, entries] of history) {
    const queue = queues.get(jobs.get(id)?.queueId ?? '');
    if (queue === undefined || queuesByName.get(queue.name)?.host == null) continue;
    for (const { code, error, at } of entries) {
      if (code === null && error !== 'ack_timeout' && isAlone(at) && !isNamed(queue.host, at)) {
        found.push(`${id} failed with ${error}, although the name of its webhook was answered`);
      }
    }
  }
  return found;
}

function after(healedAt: number | null): number {
  /** An attempt that began during the fault may last until its time-out after the end of the fault. */
  return (healedAt ?? Number.POSITIVE_INFINITY) + 15_000;
}

/** I-42: whatever clocks do, only what has ended is removed. */
export function checkOnlyEnded({ run }: Facts): string[] {
  return run.removals
    .filter(({ status }) => !isTerminal(status))
    .map(({ jobId, status }) => `${jobId} was removed while it was ${status}`);
}

/** I-43: if a 503 states that nothing was stored, nothing was; every other 503 states that it may have been. */
export function checkHonestRefusal({ run }: Facts): string[] {
  const found: string[] = [];
  const replays = new Set(run.deadLetters.map(({ replayedJobId }) => replayedJobId));
  const stored = new Set(run.jobs.filter(({ id }) => !replays.has(id)).map(({ payload }) => payload));
  // Racers for a key have one payload: one of them may have stored what another could not.
  for (const [payload, calls] of groupBy(run.publishes, (call) => call.payload)) {
    const refusals = calls.filter(({ status }) => status === 503);
    const vague = refusals.filter(({ said }) => !saysNothing(said) && !saysPerhaps(said));
    for (const { said } of vague.slice(0, 1)) found.push(`a 503 leaves open whether the job was stored: ${said}`);
    const isDenied = calls.every(({ outcome, said }) => saysNothing(said) || outcome === 'fail');
    if (isDenied && stored.has(payload))
      found.push(`a job is stored of which each answer says that nothing was: ${payload}`);
  }
  return found;
}

function saysNothing(said: string | null): boolean {
  return said?.includes('nothing was stored') ?? false;
}

function saysPerhaps(said: string | null): boolean {
  return said?.includes('may have been stored') ?? false;
}

/** I-44: in a server that was failed over from, nothing changes any more. */
export function checkNoPast({ run }: Facts): string[] {
  return run.pastWrites.map(({ what }) => `${what} in a server of the past`);
}

/** I-45: a revoked key gets no event and no answer any more, on streams that were open as well. */
export function checkRevokedEnds({ run }: Facts): string[] {
  return run.revocations.flatMap(({ revokedAt, lastEventAt, lastAnswerAt }) => {
    const late = (what: string, at: number | null) =>
      at !== null && at > revokedAt + REVOKED_MS ? [`${what} reached a key ${at - revokedAt} ms after its end`] : [];
    return [...late('an event', lastEventAt), ...late('an answer', lastAnswerAt)];
  });
}

/** The time that docker waits after SIGTERM. Without work, a process needs a part of a second. */
const ENDS_MS = 10_000;

/** I-48: a connection that was lost would keep its process from ending. */
export function checkEnds({ run }: Facts): string[] {
  return run.exits
    .filter(({ tookMs }) => tookMs === null || tookMs > ENDS_MS)
    .map(({ process, tookMs }) => `${process} ${tookMs === null ? 'did not end' : `ended ${tookMs} ms`} after SIGTERM`);
}

/** I-37, for a database that takes no writes: reads succeed, and /readyz answers 503. */
export function checkProbes({ run }: Facts): string[] {
  return run.probes.flatMap(({ kind, status, at, since }) => {
    if (kind === 'read' && status !== 200) return [`a read answered ${status} while the database took no writes`];
    const isLate = kind === 'readiness' && at - since > READINESS_MS && status !== 503;
    return isLate ? [`/readyz answered ${status} ${at - since} ms after the database took no writes`] : [];
  });
}
