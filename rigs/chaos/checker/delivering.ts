import { createHmac } from 'node:crypto';
import type { FaultRecord, HistoryRow, QueueRecord } from '../records.ts';
import { isMoved } from './clocks.ts';
import { type Arrival, type Facts, groupBy, isTerminal } from './facts.ts';
import { isLeftOut } from './leases.ts';

/** The content of each delivery, and when it may arrive. */

/** The database stores whole milliseconds, so a time may appear this much too late. */
const ROUNDING_MS = 1;

/** I-4: the payload's bytes are those that were published, in every delivery and in the database. */
export function checkVerbatim({ run, arrivals, publishes, jobs }: Facts): string[] {
  const found: string[] = [];
  const sourceOf = (id: string): string | undefined => {
    const replayOf = jobs.get(id)?.replayOf;
    return publishes.get(id)?.[0]?.payload ?? (replayOf == null ? undefined : sourceOf(replayOf));
  };
  for (const [id, list] of arrivals) {
    const source = sourceOf(id);
    if (source === undefined) continue; // no recorded publish: I-2
    if (list.some(({ envelope }) => envelope.payloadText !== source)) found.push(`payload of ${id} was changed`);
  }
  for (const { id, payload } of run.jobs) {
    const source = sourceOf(id);
    if (source !== undefined && source !== payload) found.push(`payload of ${id} was stored otherwise`);
  }
  return found;
}

/** I-5: every delivery carries exactly one signature, over its own bytes with the queue's secret. */
export function checkSignature({ arrivals, queuesByName, unreadable }: Facts): string[] {
  const found = unreadable.map(({ at }) => `a delivery at ${at} is no envelope`);
  for (const { envelope, raw, signatures } of [...arrivals.values()].flat()) {
    const secret = queuesByName.get(envelope.queue)?.signingSecret ?? '';
    const expected = `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`;
    if (signatures.length !== 1 || signatures[0] !== expected) found.push(`signature of ${envelope.id} is wrong`);
  }
  return found;
}

/** I-6: the envelopes of a job differ in nothing but the attempt, which never goes back. */
export function checkEnvelope(facts: Facts): string[] {
  const { arrivals, jobs } = facts;
  const found: string[] = [];
  for (const [id, all] of arrivals) {
    const list = all.filter((arrival) => !isLeftOut(facts, arrival));
    const constant = ({ envelope }: Arrival) =>
      `${envelope.queue} ${envelope.maxAttempts} ${envelope.createdAt} ${jobs.get(id)?.maxAttempts}`;
    if (new Set(all.map(constant)).size > 1) found.push(`envelopes of ${id} contradict one another`);
    list.forEach(({ envelope: { attempt, maxAttempts } }, n) => {
      const before = list[n - 1]?.envelope.attempt ?? 1;
      if (attempt < 1 || attempt > maxAttempts) found.push(`${id} was delivered as attempt ${attempt}`);
      else if (attempt < before) found.push(`${id} was delivered as attempt ${attempt} after ${before}`);
    });
    const row = jobs.get(id);
    const createdAt = Date.parse(all[0]?.envelope.createdAt ?? '');
    if (row !== undefined && createdAt !== row.createdAt) found.push(`${id} was delivered with another createdAt`);
  }
  return found;
}

/** I-7: no job has more attempts than it may have, in any row or document that was read. */
export function checkAttemptCap({ run, arrivals, jobs }: Facts): string[] {
  const found: string[] = [];
  const maxOf = (id: string) => jobs.get(id)?.maxAttempts ?? Number.POSITIVE_INFINITY;
  for (const { jobId, attempts } of run.changes) {
    if (attempts > maxOf(jobId)) found.push(`${jobId} had ${attempts} attempts`);
  }
  for (const [id, list] of arrivals) {
    if (new Set(list.map(({ envelope }) => envelope.attempt)).size > maxOf(id)) found.push(`${id} had too many`);
  }
  return found;
}

/** I-10: nothing is claimed or delivered before its delay, its backoff or its hold has ended. */
export function checkNotEarly(facts: Facts): string[] {
  const found: string[] = [];
  for (const job of facts.jobs.values()) {
    const queue = facts.queues.get(job.queueId);
    const { id } = job;
    const due = job.createdAt + (facts.publishes.get(id)?.[0]?.delayMs ?? 0) - ROUNDING_MS;
    const starts = startsOf(facts, id);
    // A clock that went back may be before the job's own beginning; its first claim was after that all the same.
    const wasMoved = isMoved(facts.run, 0, Number.POSITIVE_INFINITY, 0);
    const since = wasMoved ? starts.slice(0, 1) : starts;
    // Unless it went back within the statement that published and claimed the job, which reads it twice.
    const [stored] = facts.changes.get(id) ?? [];
    const isTorn = wasMoved && stored?.from === null && (stored.claimedAt ?? job.createdAt) < job.createdAt;
    if (!isTorn && since.some((at) => at < due)) found.push(`${id} was delivered before its delay had passed`);
    for (const { at: from, status } of facts.history.get(id) ?? []) {
      if (queue === undefined || status === 'success') continue;
      const until = from + (status === 'deferred' ? queue.retryAfterMs : queue.backoffMs) - ROUNDING_MS;
      if (starts.some((at) => at > from + ROUNDING_MS && at < until)) {
        found.push(`${id} was delivered too early after being ${status}`);
      }
    }
  }
  return found;
}

/** I-11: nothing is claimed after the end of its lifetime. */
export function checkLifetime({ changes, jobs }: Facts): string[] {
  return [...changes].flatMap(([id, list]) => {
    const end = jobs.get(id)?.deliverBy ?? Number.POSITIVE_INFINITY;
    const late = list.find(({ to, claimedAt }) => to === 'processing' && claimedAt !== null && claimedAt >= end);
    return late === undefined ? [] : [`${id} was claimed ${(late.claimedAt ?? 0) - end} ms after its lifetime`];
  });
}

/** The starts of deliveries in the database and at the receiver. */
function startsOf(facts: Facts, id: string): number[] {
  const claims = (facts.changes.get(id) ?? []).flatMap(({ to, claimedAt }) =>
    to === 'processing' && claimedAt !== null ? [claimedAt] : [],
  );
  const seen = (facts.arrivals.get(id) ?? []).filter((arrival) => !isLeftOut(facts, arrival));
  return [...claims, ...seen.map(({ at }) => at)];
}

/**
 * I-13: at no instant are more requests of a queue open than its concurrency. A request that is
 * older than the webhook's time-out is not counted: only a frozen process that has lost the job may still wait for it.
 */
export function checkWireCap(facts: Facts): string[] {
  const { run, arrivals, queuesByName } = facts;
  const found: string[] = [];
  const seen = [...arrivals.values()].flat().filter((arrival) => !isLeftOut(facts, arrival));
  for (const [name, list] of groupBy(seen, ({ envelope }) => envelope.queue)) {
    const cap = queuesByName.get(name)?.concurrency ?? 0;
    const moves = list.flatMap(({ at, endedAt }) => {
      const end = Math.min(endedAt ?? Number.POSITIVE_INFINITY, at + run.webhookTimeoutMs);
      return [
        { at, by: 1 },
        { at: end, by: -1 },
      ];
    });
    // A request that ends in the same instant has freed its slot.
    moves.sort((a, b) => a.at - b.at || a.by - b.by);
    let open = 0;
    let most = 0;
    for (const { by } of moves) {
      open += by;
      most = Math.max(most, open);
    }
    if (most > cap) found.push(`queue ${name} had ${most} requests open of ${cap}`);
  }
  return found;
}

/** I-14: no more claims in a window than the queue's limit, and no more arrivals than two windows may give. */
export function checkRateLimit({ run, queues, jobs, arrivals }: Facts): string[] {
  const found: string[] = [];
  const claims = run.changes.filter(({ to, claimedAt }) => to === 'processing' && claimedAt !== null);
  for (const [queueId, list] of groupBy(claims, (claim) => claim.queueId)) {
    const queue = queues.get(queueId);
    if (queue?.rateLimitMax == null) continue;
    const windowOf = (at: number) => String(Math.floor(at / queue.rateLimitWindowMs));
    for (const [, inWindow] of groupBy(list, ({ claimedAt }) => windowOf(claimedAt as number))) {
      if (inWindow.length > queue.rateLimitMax)
        found.push(`queue ${queue.name}: ${inWindow.length} claims in a window`);
    }
    if (run.faults.length === 0) found.push(...burst(queue, arrivalsOf(queueId, { jobs, arrivals })));
  }
  return found;
}

function arrivalsOf(queueId: string, { jobs, arrivals }: Pick<Facts, 'jobs' | 'arrivals'>): number[] {
  return [...arrivals.values()]
    .flat()
    .filter(({ envelope }) => jobs.get(envelope.id)?.queueId === queueId)
    .map(({ at }) => at)
    .sort((a, b) => a - b);
}

/** Only without faults: a frozen worker may have claimed in one window and send in a later one. */
function burst(queue: QueueRecord, times: number[]): string[] {
  const max = 2 * (queue.rateLimitMax ?? 0);
  const tooMany = times.some(
    (at, n) => (times[n + max] ?? Number.POSITIVE_INFINITY) - at < queue.rateLimitWindowMs / 2,
  );
  return tooMany ? [`queue ${queue.name} sent more than ${max} requests in half a window`] : [];
}

/** I-18: a job that is completed or dead stays as it is, and is not delivered again. */
export function checkTerminalFinal(facts: Facts): string[] {
  const { run, changes, arrivals, jobs } = facts;
  const found: string[] = [];
  for (const { from, to, jobId } of run.changes) {
    if (from !== null && isTerminal(from)) found.push(`${jobId} went from ${from} to ${to}`);
  }
  for (const { id, state } of run.terminalReads) {
    const job = jobs.get(id);
    if (job === undefined || stateOf(job) !== state) found.push(`${id} was read as ${state} and then changed`);
  }
  for (const [id, list] of arrivals) {
    const end = changes.get(id)?.find(({ to }) => isTerminal(to));
    if (end === undefined) continue;
    if (list.some((arrival) => arrival.at > end.at + ROUNDING_MS && !isLeftOut(facts, arrival)))
      found.push(`${id} was delivered after it was ${end.to}`);
  }
  return found;
}

/** The columns of a finished job that could change, as text. The harness reads the same ones. */
export function stateOf(job: TerminalState): string {
  return [job.status, job.attempts, job.deferCount, job.historyCount, job.completedAt, job.deadReason].join(' ');
}

interface TerminalState {
  status: string;
  attempts: number;
  deferCount: number;
  historyCount: number;
  completedAt: number | null;
  deadReason: string | null;
}

/** A delivery that arrived this long before its worker stalled cannot have reached its time limit then. */
const ARRIVED_MS = 500;

/**
 * I-49: an answer that the receiver wrote while the process of its delivery was stalled is read before the time limit
 * is said to have passed.
 */
export function checkAnswersRead({ run, arrivals, history, changes }: Facts): string[] {
  const stalls = run.faults.filter(({ kind }) => kind === 'stall-worker');
  if (stalls.length === 0) return [];
  const found: string[] = [];
  for (const [id, list] of arrivals) {
    for (const { at, end, endedAt, envelope } of list) {
      if (end !== 'answered' || endedAt === null) continue;
      const claim = changes.get(id)?.findLast((change) => change.to === 'processing' && change.at <= at);
      const isUnread = ({ workerId, at: from, healedAt }: FaultRecord) =>
        workerId === claim?.workerId && from - ARRIVED_MS < at && from < endedAt && endedAt < (healedAt ?? 0);
      // A delivery after a hold repeats the number of the attempt.
      const next = changes.get(id)?.find((change) => change.to === 'processing' && change.at > at);
      const isOfThis = (entry: HistoryRow) => entry.at > endedAt && entry.at < (next?.at ?? Number.POSITIVE_INFINITY);
      const isTimeout = (entry: HistoryRow) =>
        entry.attempt === envelope.attempt && entry.error === 'timeout' && isOfThis(entry);
      if (stalls.some(isUnread) && history.get(id)?.some(isTimeout)) {
        found.push(`${id} counts as timeout, although its answer had arrived`);
      }
    }
  }
  return found;
}

/** A delivery that had begun before the fault may fail until then. */
const BEGUN_MS = 1500;

/** I-50: while the operator's own way is gone, no attempt fails that did not reach a receiver. */
export function checkOwnWay({ run, arrivals, history }: Facts): string[] {
  const outages = run.faults.filter(({ kind }) => kind === 'proxy-away' || kind === 'names-away');
  if (outages.length === 0) return [];
  const found: string[] = [];
  for (const [id, entries] of history) {
    for (const { at, attempt, code, error, status } of entries) {
      if (code !== null || status !== 'failed' || error === 'ack_timeout' || error === 'worker_lost') continue;
      const isAway = outages.some(
        (fault) => fault.at + BEGUN_MS < at && at < (fault.overAt ?? Number.POSITIVE_INFINITY),
      );
      const hasArrived = arrivals.get(id)?.some(({ envelope }) => envelope.attempt === attempt);
      if (isAway && !hasArrived) found.push(`${id} lost attempt ${attempt} to ${error} while no delivery could begin`);
    }
  }
  return found;
}
