import { type Arrival, type Facts, isTerminal } from './facts.ts';

/** Milliseconds until an interrupted job must be pending again: the lease, and the 5 s of the reconciler (I-35). */
const RECONCILED_MS = 5000;

export interface Recovery {
  jobId: string;
  kind: string;
  /** The time of the fault. */
  at: number;
  /** Milliseconds from the fault to the next delivery of the job. */
  ms: number;
}

/** Redeliveries of jobs that a killed or frozen process had in flight, in queues where nothing else delays them. */
export function recoveries(facts: Facts): Recovery[] {
  const { run, jobs, queues } = facts;
  return run.faults.flatMap(({ kind, at, interrupted }) =>
    interrupted.flatMap((jobId) => {
      if (queues.get(jobs.get(jobId)?.queueId ?? '')?.unlimited !== true) return [];
      const next = redelivery(facts, jobId, at);
      if (next === undefined || isStruckAgain(facts, jobId, at, next.at)) return [];
      return [{ jobId, kind, at, ms: next.at - at }];
    }),
  );
}

/** Whether another fault interrupted the job before it was delivered again: then that one's time counts. */
function isStruckAgain({ run }: Facts, jobId: string, from: number, to: number): boolean {
  return run.faults.some(({ at, interrupted }) => at > from && at < to && interrupted.includes(jobId));
}

/** The first delivery of a later claim. One of the claim that was interrupted may still have been on the wire. */
function redelivery({ arrivals, changes }: Facts, jobId: string, after: number): Arrival | undefined {
  const claimedAt = changes.get(jobId)?.find((change) => change.to === 'processing' && change.at > after)?.claimedAt;
  if (claimedAt == null) return undefined;
  return arrivals.get(jobId)?.find(({ at }) => at >= claimedAt);
}

/**
 * I-35: a delivery that a fault interrupted is repeated in time, all work ends, and no process needs a restart by hand.
 */
export function checkRecovery(facts: Facts): string[] {
  const { run, jobs, queues, changes } = facts;
  const boundMs = run.leaseMs + RECONCILED_MS;
  const found = run.faults
    .filter(({ kind }) => kind === 'unexpected-exit')
    .map(({ at }) => `a process ended by itself at ${at}`);
  for (const { kind, at, overAt = at, healedAt, boundMs, connections } of run.faults) {
    if (boundMs === undefined) continue;
    const tookMs = healedAt === null ? null : Math.round(healedAt - overAt);
    if (tookMs === null || tookMs > boundMs) {
      found.push(`${connections ?? 'work'} took ${tookMs ?? 'for ever'} of ${boundMs} ms after ${kind}`);
    }
  }
  for (const { id, status } of run.jobs) {
    if (!isTerminal(status) && status !== 'awaiting_ack') found.push(`${id} was still ${status} at the end`);
  }
  for (const { kind, at, interrupted } of run.faults) {
    for (const id of interrupted) {
      const job = jobs.get(id);
      if (job === undefined || queues.get(job.queueId)?.unlimited !== true) continue;
      const next = redelivery(facts, id, at);
      // Its result may just have been on the way to the database, and arrived there.
      const settled = changes.get(id)?.find((change) => change.at > at - 100 && change.from === 'processing');
      const backAt = next?.at ?? (settled !== undefined && settled.to !== 'pending' ? settled.at : null);
      if (backAt === null) found.push(`${id} was not delivered again after ${kind}`);
      else if (backAt - at > boundMs && !disturbed(facts, at, backAt)) {
        found.push(`${id} was delivered again ${Math.round(backAt - at)} ms after ${kind}`);
      }
    }
  }
  return found;
}

/** Whether another fault struck before the recovery from this one was over: then its time starts again. */
function disturbed({ run }: Facts, from: number, to: number): boolean {
  return run.faults.some(({ at, healedAt }) => (healedAt ?? at) > from + 1 && at < to && at !== from);
}
