import type { JobRow, Run } from '../records.ts';
import { isMoved } from './clocks.ts';
import { type Facts, groupBy, isTerminal } from './facts.ts';

const HOUR_MS = 3_600_000;
/** The defaults. A clock that is moved by more ends lifetimes, and the 72 h in which a key finds its job. */
const LIFETIME_MS = 24 * HOUR_MS;
const KEY_MS = 72 * HOUR_MS;

/** Accepted jobs are delivered, and no others. Each function returns the violations that it found. */

/** I-1: every id that was answered exists, came to an end and reached the receiver. */
export function checkNoLoss({ run, jobs, arrivals }: Facts): string[] {
  const found: string[] = [];
  const accepted = new Set<string>();
  for (const { outcome, id } of run.publishes) if (outcome === 'ok' && id !== null) accepted.add(id);
  for (const { outcome, replayedJobId } of run.replays) {
    if (outcome === 'ok' && replayedJobId !== null) accepted.add(replayedJobId);
  }
  for (const id of accepted) {
    const job = jobs.get(id);
    if (job === undefined) found.push(`job ${id} was answered and is not there`);
    else if (!isTerminal(job.status) && job.status !== 'awaiting_ack') found.push(`job ${id} stayed ${job.status}`);
    if (!arrivals.has(id) && !(job && outlived(run, job))) found.push(`job ${id} was answered and never delivered`);
  }
  for (const { id, status, job } of run.reads) {
    if (status !== 200) found.push(`GET of job ${id} answered ${status}`);
    else if (job !== null && job.status !== jobs.get(id)?.status) {
      found.push(`GET of job ${id} says ${job.status}, the database ${jobs.get(id)?.status}`);
    }
  }
  return found;
}

/** Whether the database's clock was moved past the end of the job's lifetime. */
function outlived(run: Run, { deadReason }: JobRow): boolean {
  return deadReason === 'delivery_lifetime_exceeded' && isMoved(run, 0, Number.POSITIVE_INFINITY, LIFETIME_MS);
}

/** I-2: a delivered job had been published, or the outcome of its publish is unknown. */
export function checkNoPhantom({ run, arrivals, publishes }: Facts): string[] {
  const uncertain = new Set(
    run.publishes.filter(({ outcome }) => outcome === 'indeterminate').map(({ payload }) => payload),
  );
  const replays = new Set(run.deadLetters.map(({ replayedJobId }) => replayedJobId));
  return [...arrivals]
    .filter(([id, [first]]) => {
      return !publishes.has(id) && !replays.has(id) && !uncertain.has(first?.envelope.payloadText ?? '');
    })
    .map(([id]) => `job ${id} was delivered and never published`);
}

/** I-3: once the answer is there, every other connection sees the job. */
export function checkCommitBeforeAck({ run }: Facts): string[] {
  return run.publishes
    .filter(({ seenByOthers }) => seenByOthers === false)
    .map(({ id }) => `job ${id} was answered before others could see it`);
}

/** I-17: one key, one job, however often and by which clients; the first publish gets 201 and the others 200. */
export function checkIdempotent({ run, arrivals }: Facts): string[] {
  const found: string[] = [];
  const rows = groupBy(run.jobs, ({ queueId, key }) => (key === null ? null : `${queueId} ${key}`));
  for (const [name, jobs] of rows) if (jobs.length > 1) found.push(`key ${name} has ${jobs.length} jobs`);

  for (const [key, calls] of groupBy(run.publishes, ({ queue, key }) => (key === null ? null : `${queue} ${key}`))) {
    if (isForgotten(run, calls)) continue;
    const ids = new Set(calls.flatMap(({ id }) => (id === null ? [] : [id])));
    if (ids.size > 1) found.push(`key ${key} was answered with ${ids.size} ids`);
    const created = calls.filter(({ status }) => status === 201).length;
    const uncertain = calls.some(({ outcome }) => outcome === 'indeterminate');
    if (created > 1) found.push(`key ${key} was created ${created} times`);
    if (ids.size > 0 && created === 0 && !uncertain) found.push(`key ${key} was found and never created`);
  }
  const payloads = groupBy([...arrivals], ([, [first]]) => first?.envelope.payloadText ?? null);
  const keyed = new Set(
    run.publishes.filter((call) => call.key !== null && !isForgotten(run, [call])).map(({ payload }) => payload),
  );
  const replays = new Set(run.deadLetters.map(({ replayedJobId }) => replayedJobId));
  for (const [payload, jobs] of payloads) {
    const published = jobs.filter(([id]) => !replays.has(id));
    if (keyed.has(payload) && published.length > 1) found.push(`${published.length} jobs delivered of ${payload}`);
  }
  return found;
}

/** Whether the database's clock was moved so far meanwhile that a key no longer found its job. */
function isForgotten(run: Run, calls: Run['publishes']): boolean {
  const [from, to] = [Math.min(...calls.map((call) => call.invokedAt)), Math.max(...calls.map((call) => call.endedAt))];
  return isMoved(run, from - HOUR_MS, to + HOUR_MS, KEY_MS);
}

/** I-37: while the database is gone a publish is refused with 503, soon, and with nothing else. */
export function checkHonestOutage({ run }: Facts): string[] {
  /** The promise is 5 s; the rest is a busy machine and the way through Node. */
  const patienceMs = 6500;
  // A worker may serve the API, too, and a process that is frozen answers nothing.
  const isHeldUp = ({ to, invokedAt, endedAt }: Run['publishes'][number]) =>
    run.faults.some(
      ({ baseUrl, at, healedAt }) =>
        baseUrl !== undefined && baseUrl === to && at < endedAt && invokedAt < (healedAt ?? endedAt),
    );
  return run.publishes.flatMap((publish) => {
    const { status, queue, invokedAt, endedAt } = publish;
    const found: string[] = [];
    if (status !== null && ![200, 201, 503].includes(status)) found.push(`a publish to ${queue} answered ${status}`);
    if (status !== null && endedAt - invokedAt > patienceMs && !isHeldUp(publish)) {
      found.push(`a publish to ${queue} took ${Math.round(endedAt - invokedAt)} ms`);
    }
    return found;
  });
}
