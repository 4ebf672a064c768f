import type { FaultRecord, HistoryRow } from '../records.ts';
import { isAtShift } from './clocks.ts';
import { type Arrival, type Facts, groupBy, isTerminal } from './facts.ts';
import { isLeftOut } from './leases.ts';

/** The rows of a job agree with its deliveries, reports and changes as the run recorded them. */

/** I-8: backpressure costs no attempt: the next delivery has the same number, and the job has one hold more. */
export function checkBackpressureFree(facts: Facts): string[] {
  const { arrivals, history } = facts;
  const found: string[] = [];
  for (const [id, entries] of history) {
    entries.forEach((entry, n) => {
      if (entry.status !== 'deferred') return;
      const next = entries[n + 1];
      if (next !== undefined && next.attempt !== entry.attempt) found.push(`${id} lost an attempt to backpressure`);
      const later = (arrivals.get(id) ?? []).find(
        (one) => one.at > entry.at && one.at <= (next?.at ?? Infinity) && !isLeftOut(facts, one),
      );
      if (later !== undefined && later.envelope.attempt !== entry.attempt) {
        found.push(`${id} was delivered as attempt ${later.envelope.attempt} after holding ${entry.attempt}`);
      }
    });
  }
  return found;
}

function isAtWrongClock(faults: readonly FaultRecord[], moment: number): boolean {
  return faults.some(
    ({ kind, at, healedAt }) => kind === 'clock' && at <= moment && moment <= (healedAt ?? Number.POSITIVE_INFINITY),
  );
}

/** I-9: a job has at most `maxDefers` holds; one hold more ends it with that reason. */
export function checkDeferCap({ run, queues, history, changes }: Facts): string[] {
  const found: string[] = [];
  for (const { id, queueId, deferCount, deadReason, status } of run.jobs) {
    const max = queues.get(queueId)?.maxDefers ?? 0;
    const last = history.get(id)?.at(-1);
    if (deferCount > max) found.push(`${id} was held ${deferCount} times of ${max}`);
    if (deadReason === 'defer_cap_exhausted' && deferCount !== max) found.push(`${id} died of ${deferCount} holds`);
    // A due time that was computed with a wrong clock may be after the lifetime; the service cannot detect that. It is
    // that of the last hold, or of an interruption after it, which leaves no entry.
    const delayed = changes.get(id)?.findLast(({ to }) => to === 'pending');
    const isMisled = [last, delayed].some((one) => one !== undefined && isAtWrongClock(run.faults, one.at));
    if (deadReason === 'delivery_lifetime_exceeded' && isMisled) continue;
    if (status === 'dead' && last?.status === 'deferred' && deadReason !== 'defer_cap_exhausted') {
      found.push(`${id} died of a hold with the reason ${deadReason}`);
    }
  }
  return found;
}

/** I-12: claimed jobs of a queue never exceed its concurrency, in snapshots and in the order of changes. */
export function checkSlotCap({ run, queues }: Facts): string[] {
  const found: string[] = [];
  for (const { queueId, inFlight, at } of run.snapshots) {
    const cap = queues.get(queueId)?.concurrency ?? 0;
    if (inFlight > cap) found.push(`queue ${queueId} had ${inFlight} of ${cap} in flight at ${at}`);
  }
  const inFlight = (status: string | null) => (status === 'processing' || status === 'awaiting_ack' ? 1 : 0);
  for (const [queueId, changes] of groupBy(run.changes, (change) => change.queueId)) {
    const cap = queues.get(queueId)?.concurrency ?? 0;
    let now = 0;
    let most = 0;
    for (const { from, to } of changes) {
      now += inFlight(to) - inFlight(from);
      most = Math.max(most, now);
    }
    if (most > cap) found.push(`queue ${queueId} had ${most} of ${cap} in flight`);
  }
  return found;
}

/** The transitions of docs/state-machine.md. */
const ALLOWED = new Set([
  'null>pending',
  // A publish that claims.
  'null>processing',
  'pending>processing',
  'pending>dead',
  'processing>completed',
  'processing>awaiting_ack',
  'processing>pending',
  'processing>dead',
  'awaiting_ack>completed',
  'awaiting_ack>pending',
  'awaiting_ack>dead',
]);

/** I-19: a job makes only transitions of the state machine, one after the other. */
export function checkTransitions({ changes }: Facts): string[] {
  const found: string[] = [];
  for (const [id, list] of changes) {
    let status: string | null = null;
    for (const { from, to } of list) {
      const move = `${from}>${to}`;
      // I-18 checks transitions out of a final state.
      if (!ALLOWED.has(move) && !(from !== null && isTerminal(from))) found.push(`${id} made the move ${move}`);
      if (from !== status) found.push(`${id} went on from ${from} and was ${status}`);
      status = to;
    }
  }
  return found;
}

/** I-20: one report on a delivery counts; each accepted report left exactly one entry. */
export function checkOneReport({ reports, history, jobs }: Facts): string[] {
  const found: string[] = [];
  for (const [id, list] of reports) {
    const entries = history.get(id) ?? [];
    for (const { kind, reason, outcome, status } of list) {
      // If a hold ended the job, its entry has the reason of the death, not that of the report.
      if (kind === 'ack' || jobs.get(id)?.deadReason === 'defer_cap_exhausted') continue;
      const count = entries.filter(({ error }) => error === reason).length;
      if (outcome === 'ok' && count !== 1) found.push(`${kind} ${reason} was accepted and left ${count} entries`);
      if (outcome === 'fail' && count > 0) found.push(`${kind} ${reason} was refused with ${status} and counted`);
    }
    const acks = list.filter(({ kind, outcome }) => kind === 'ack' && outcome === 'ok').length;
    if (acks > 1) found.push(`${id} was acked ${acks} times`);
    if (acks === 1 && jobs.get(id)?.status !== 'completed') found.push(`${id} was acked and is not completed`);
  }
  return found;
}

/** I-21: an ack timeout does not come before its time. */
export function checkAckTimeout({ run, changes, history, queues, jobs }: Facts): string[] {
  const found: string[] = [];
  for (const [id, entries] of history) {
    const timeoutMs = queues.get(jobs.get(id)?.queueId ?? '')?.ackTimeoutMs ?? 0;
    for (const { error, at } of entries) {
      if (error !== 'ack_timeout') continue;
      const since = changes.get(id)?.findLast((change) => change.to === 'awaiting_ack' && change.at <= at)?.at;
      if (since !== undefined && isAtShift(run, since)) continue;
      // The trigger writes a little after the moment that the deadline counts from.
      if (since === undefined || at - since < timeoutMs - 250)
        found.push(`${id} timed out after ${at - (since ?? at)} ms`);
    }
  }
  return found;
}

/**
 * I-22: every answer leaves one entry with its code, in order, and the last one agrees with the status. An answer may
 * be missing only where the claim was interrupted, which the trigger shows: back to pending without an entry.
 */
export function checkHistory(facts: Facts): string[] {
  const found: string[] = [];
  for (const [id, job] of facts.jobs) {
    const entries = facts.history.get(id) ?? [];
    if (entries.some(({ ordinal }, n) => ordinal !== n + 1)) found.push(`history of ${id} has gaps`);
    if (entries.some(({ attempt, at }, n) => n > 0 && isBefore({ attempt, at }, entries[n - 1] as HistoryRow))) {
      found.push(`history of ${id} goes back`);
    }
    const last = entries.at(-1)?.status;
    if (job.status === 'completed' && last !== 'success') found.push(`${id} is completed after ${last}`);
    if (job.status === 'dead' && last === 'success') found.push(`${id} is dead after a success`);
    const missing = unexplained(entries, facts.arrivals.get(id) ?? []);
    found.push(...missing.unseen.map((what) => `${id}: ${what}`));
    const interruptions = interruptionsOf(facts, id);
    if (missing.answers > interruptions) {
      found.push(`${id}: ${missing.answers} answers without an entry, ${interruptions} interruptions`);
    }
  }
  return found;
}

function isBefore(entry: { attempt: number; at: number }, former: HistoryRow): boolean {
  return entry.attempt < former.attempt || entry.at < former.at;
}

/** Matches entries to answers of the same attempt: with a code to that one, without a code to any. */
function unexplained(entries: HistoryRow[], arrivals: Arrival[]): { unseen: string[]; answers: number } {
  const left = [...arrivals];
  const take = (matches: (arrival: Arrival) => boolean) => {
    const at = left.findIndex(matches);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  };
  const unseen: string[] = [];
  for (const { attempt, code } of entries) {
    if (code === null) continue;
    if (!take(({ envelope, status, end }) => envelope.attempt === attempt && status === code && end === 'answered')) {
      unseen.push(`entry with ${code} for attempt ${attempt}, which the webhook did not answer`);
    }
  }
  for (const { attempt } of entries.filter(({ code }) => code === null)) {
    // The answer may have come too late for the worker, perhaps after a first try that the receiver reset.
    take(({ envelope, end }) => envelope.attempt === attempt && end === 'answered');
  }
  return { unseen, answers: left.filter(({ end }) => end === 'answered').length };
}

/** Interrupted claims: the attempt was given back, and there is no entry. */
function interruptionsOf({ changes, jobs, history }: Facts, id: string): number {
  const list = changes.get(id) ?? [];
  const claims = list.filter(({ to }) => to === 'processing').length;
  const open = jobs.get(id)?.status === 'processing' || jobs.get(id)?.status === 'awaiting_ack' ? 1 : 0;
  const lost = (history.get(id) ?? []).filter(({ error }) => error === 'worker_lost').length;
  return claims - open - (history.get(id)?.length ?? 0) + lost;
}

/** I-23: the job's counts of attempts and holds agree with its history. */
export function checkCounts({ run, history }: Facts): string[] {
  const found: string[] = [];
  for (const { id, attempts, deferCount, status, deadReason } of run.jobs) {
    const entries = history.get(id) ?? [];
    const counted = entries.filter((entry) => entry.status !== 'deferred').length;
    // The hold above `maxDefers` has an entry and is not counted as a hold.
    const holds = entries.length - counted - (deadReason === 'defer_cap_exhausted' ? 1 : 0);
    const underWay = status === 'processing' || status === 'awaiting_ack' ? 1 : 0;
    if (attempts !== counted + underWay) found.push(`${id} has ${attempts} attempts and ${counted} entries`);
    if (deferCount !== holds) found.push(`${id} has ${deferCount} holds and ${holds} entries`);
  }
  return found;
}

/** I-24: a claim is settled at most once, under its own token, and each claim has a newer one. */
export function checkFencing({ changes }: Facts): string[] {
  const found: string[] = [];
  for (const [id, list] of changes) {
    let token = -1;
    for (const change of list) {
      if (change.to === 'processing') {
        if (change.token <= token) found.push(`${id} was claimed under the old token ${change.token}`);
        token = change.token;
      } else if (change.from === 'processing' && change.token !== token) {
        found.push(`${id} was settled under token ${change.token} and claimed under ${token}`);
      }
    }
  }
  return found;
}

/** I-25: exactly the dead jobs of queues that keep dead letters have one, and one only. */
export function checkDeadLetters({ run, queues, deadLetters, jobs }: Facts): string[] {
  const found: string[] = [];
  for (const { id, queueId, status, deadReason } of run.jobs) {
    const kept = status === 'dead' && queues.get(queueId)?.dlqEnabled === true && deadReason !== 'cancelled';
    const count = deadLetters.get(id)?.length ?? 0;
    if (count !== (kept ? 1 : 0)) found.push(`${id} is ${status} and has ${count} dead letters`);
  }
  for (const id of deadLetters.keys()) if (!jobs.has(id)) found.push(`a dead letter of ${id}, which is not there`);
  return found;
}

/** I-26: a dead letter is replayed once, however often and by which clients; the other requests are answered so. */
export function checkReplayOnce({ run, replays, jobs }: Facts): string[] {
  const found: string[] = [];
  const made = groupBy(run.jobs, ({ replayOf }) => replayOf);
  for (const { id, jobId, replayedJobId } of run.deadLetters) {
    const count = made.get(jobId)?.length ?? 0;
    if (count !== (replayedJobId === null ? 0 : 1)) found.push(`dead letter ${id} was replayed as ${count} jobs`);
    if (replayedJobId !== null && jobs.get(replayedJobId)?.replayOf !== jobId) {
      found.push(`dead letter ${id} names ${replayedJobId}, which is no replay of it`);
    }
    const won = (replays.get(id) ?? []).filter(({ outcome, replayedJobId: job }) => outcome === 'ok' && job !== null);
    if (won.length > 1) found.push(`${won.length} calls were answered that they replayed ${id}`);
    if (won.some((call) => call.replayedJobId !== replayedJobId)) found.push(`${id} was replayed as another job`);
  }
  return found;
}

/**
 * I-29: the account is billed for every request that reached the receiver, and otherwise only for interrupted claims.
 * If the receiver resets a request on a reused connection, the request is sent again and not billed again
 * (delivery/exchange.ts).
 */
export function checkUsage(facts: Facts): string[] {
  const { run } = facts;
  const requests = run.deliveries.length;
  const least = requests - run.deliveries.filter(({ end }) => end === 'reset').length;
  const interrupted = run.jobs.reduce((sum, { id }) => sum + interruptionsOf(facts, id), 0);
  // An attempt that failed before anything was sent is billed as well, unless it could not begin (D38):
  // then it has no entry.
  const unsent = run.history.filter(({ code }) => code === null).length;
  const most = requests + interrupted + unsent;
  const fits = run.usage >= least && run.usage <= most;
  return fits ? [] : [`billed ${run.usage} for ${requests} requests, of which ${least} to ${most} may be`];
}
