import type { ChangeRow, FaultKind, FaultRecord, Run } from '../records.ts';
import { type Arrival, type Facts, groupBy, isSeenLate } from './facts.ts';

/**
 * I-41: which workers may claim, whose claims may be taken back, and how often a job may be delivered because of it.
 */

/** Milliseconds for which a worker may claim after the server's last confirmation of its lease lock. */
const CONFIRMED_MS = 2000;
/** A claim that was sent in time may be executed later; and snapshots are taken every 200 ms. */
const SLACK_MS = 1000;
/** Between two snapshots of the locks; when the database was away there are none. */
const SNAPSHOT_GAP_MS = 700;
/** A statement that finds no lock writes a little later; meanwhile the worker may take its lock again. */
const STATEMENT_MS = 500;
/** The server ends statements of the service after this time. */
const STATEMENT_LIMIT_MS = 4000;
/** After so many kills of busy workers some claims must have been taken back. */
const MANY_KILLS = 10;

/** Faults that concern one worker. All others may have concerned any. */
const OF_ONE_WORKER: readonly FaultKind[] = [
  ...(['kill-worker', 'freeze-worker', 'suspend-worker', 'stall-worker', 'term-worker'] as const),
  ...(['server-gone', 'client-gone', 'black-hole'] as const),
];
/** Faults that keep no worker from holding its lease lock. */
const HARMLESS: readonly FaultKind[] = [
  ...(['kill-api', 'lose-wake-ups', 'foreign-lock', 'connect-many', 'unexpected-exit'] as const),
  // But not `proxy-away`: a request may have reached its receiver before its tunnel is cut.
  ...(['name-server', 'names-away'] as const),
];

interface TakenBack {
  claim: ChangeRow;
  at: number;
}

export function checkLeases(facts: Facts): string[] {
  return [...countDeliveries(facts), ...explainTakeBacks(facts), ...checkClaims(facts), ...checkTakers(facts)];
}

/** A job is delivered once for each claim; a request that the receiver reset is sent again on purpose. */
function countDeliveries({ arrivals, changes, history, jobs }: Facts): string[] {
  const found: string[] = [];
  for (const [id, list] of arrivals) {
    const moves = changes.get(id);
    if (moves === undefined) continue;
    const entries = (history.get(id) ?? []).filter(({ error }) => error !== 'worker_lost').length;
    const isOpen = ['processing', 'awaiting_ack'].includes(jobs.get(id)?.status ?? '') ? 1 : 0;
    const interrupted = takenBack(moves).length;
    const resets = list.filter(({ end }) => end === 'reset').length;
    const most = entries + isOpen + interrupted + resets;
    if (list.length > most) {
      found.push(`${id} was delivered ${list.length} times: ${entries} ended attempts, ${interrupted} interruptions`);
    }
  }
  return found;
}

/** A claim that was taken back: its attempt is given back, without a hold. After several in a row an attempt counts. */
function takenBack(moves: readonly ChangeRow[]): TakenBack[] {
  const found: TakenBack[] = [];
  let claim: ChangeRow | null = null;
  for (const move of moves) {
    if (move.to === 'processing') claim = move;
    else if (move.from === 'processing' && claim !== null) {
      const isBack = move.to === 'pending' && move.attempts < claim.attempts && move.deferCount === claim.deferCount;
      if (isBack) found.push({ claim, at: move.at });
      claim = null;
    }
  }
  return found;
}

/**
 * The claims of a worker are taken back only if a fault hit the worker when it claimed or afterwards. A worker that was
 * too slow to begin a delivery in time may give that job back itself.
 */
function explainTakeBacks({ run, changes, arrivals }: Facts): string[] {
  const found: string[] = [];
  for (const [id, moves] of changes) {
    const delivered = arrivals.get(id) ?? [];
    for (const { claim, at } of takenBack(moves)) {
      if (!delivered.some((arrival) => arrival.at >= claim.at && arrival.at <= at)) continue;
      if (run.faults.some((fault) => explains(fault, claim, at))) continue;
      found.push(`${id} was taken back from worker ${claim.workerId}, which no fault had hit`);
    }
  }
  return found;
}

/** Faults after which a worker runs that other processes cannot distinguish from a dead one. */
const CUTS_OFF: readonly FaultKind[] = [
  ...(['server-gone', 'client-gone', 'black-hole', 'fail-over', 'went-back'] as const),
  ...(['kill-leader', 'switch-over', 'freeze-leader'] as const),
];
const cutOff = new WeakMap<Facts, Map<string, { from: number; to: number }[]>>();

/**
 * Whether a delivery may be one of a worker that is cut off from the database: it goes on to its end while another
 * takes the job over; docs/delivery-promise.md allows that. Only where the fault explains it.
 */
function isCutOff(facts: Facts, { at, envelope }: Arrival): boolean {
  let spans = cutOff.get(facts);
  if (spans === undefined) {
    spans = new Map([...facts.changes].map(([id, moves]) => [id, spansOf(facts.run, moves)]));
    cutOff.set(facts, spans);
  }
  return spans.get(envelope.id)?.some(({ from, to }) => at >= from && at <= to) ?? false;
}

function spansOf({ faults, webhookTimeoutMs }: Run, moves: ChangeRow[]): { from: number; to: number }[] {
  return takenBack(moves).flatMap(({ claim, at }) => {
    const isExplained = faults.some((fault) => CUTS_OFF.includes(fault.kind) && explains(fault, claim, at));
    return isExplained ? [{ from: claim.at, to: at + webhookTimeoutMs + SLACK_MS }] : [];
  });
}

function explains(fault: FaultRecord, claim: ChangeRow, takenAt: number): boolean {
  if (HARMLESS.includes(fault.kind)) return false;
  if (OF_ONE_WORKER.includes(fault.kind) && fault.workerId !== claim.workerId) return false;
  // A silent connection is never healed; the worker must detect it by itself, and stop.
  const isSilent = fault.kind.endsWith('-gone') || fault.kind === 'black-hole';
  const until = isSilent ? fault.at : (fault.healedAt ?? Number.POSITIVE_INFINITY);
  return fault.at <= takenAt && (claim.claimedAt ?? claim.at) <= until + CONFIRMED_MS + SLACK_MS;
}

/** Longest time from SIGCONT to the arrival of the request that the process was writing. */
const RESUMED_MS = 100;
/** The harness notes the time after it has sent SIGCONT. */
const NOTED_MS = 20;
const STOPPED: readonly FaultKind[] = ['freeze-worker', 'suspend-worker'];
const heldBack = new WeakMap<Facts, Set<Arrival>>();

/**
 * Whether a delivery is the one that its process was writing when it was stopped: between its last check of the claim
 * and the write no process can be kept from being stopped. At most one per stop, because the check and the write are in
 * one turn of the event loop.
 */
function isHeldBack(facts: Facts, arrival: Arrival): boolean {
  let all = heldBack.get(facts);
  if (all === undefined) {
    all = new Set(facts.run.faults.flatMap((fault) => (STOPPED.includes(fault.kind) ? heldBackBy(fault, facts) : [])));
    heldBack.set(facts, all);
  }
  return all.has(arrival);
}

/** The first delivery of a claim from before the stop that arrives right after the process was resumed. */
function heldBackBy({ at: from, healedAt, workerId }: FaultRecord, { arrivals, changes }: Facts): Arrival[] {
  if (healedAt === null) return [];
  const late = [...arrivals].flatMap(([id, list]) => {
    const isTheirs = takenBack(changes.get(id) ?? []).some(
      ({ claim, at }) => claim.workerId === workerId && claim.at <= from && at >= from,
    );
    return isTheirs ? list.filter(({ at }) => at >= healedAt - NOTED_MS && at <= healedAt + RESUMED_MS) : [];
  });
  return late.sort((a, b) => a.at - b.at).slice(0, 1);
}

/** Whether the arrival of a delivery does not show when the service sent it. */
export function isLeftOut(facts: Facts, arrival: Arrival): boolean {
  return isSeenLate(facts, arrival) || isCutOff(facts, arrival) || isHeldBack(facts, arrival);
}

/**
 * No worker claims when the server has not had its lease lock for longer than the worker may rely on its last
 * confirmation, unless the worker takes the lock at that moment.
 */
function checkClaims({ run }: Facts): string[] {
  const found: string[] = [];
  const sightings = new Sightings(run);
  const claims = run.changes.filter(({ to, workerId }) => to === 'processing' && workerId !== null);
  for (const [workerId, list] of groupBy(claims, (claim) => String(claim.workerId))) {
    const bad = list.filter(
      ({ at }) =>
        sightings.allSay(false, Number(workerId), {
          from: sentBy(run, at) - CONFIRMED_MS - SLACK_MS,
          past: at,
          to: at + SLACK_MS,
        }) && !run.faults.some((fault) => fault.workerId === Number(workerId) && isRightAfter(fault, at)),
    );
    if (bad.length > 0) {
      const [{ at }] = bad as [ChangeRow];
      const seen = sightings.around(Number(workerId), at);
      const struck = run.faults
        .filter((fault) => fault.at > at - 10_000 && fault.at < at + SLACK_MS)
        .map((fault) => `${fault.kind} ${fault.workerId ?? ''} ${fault.at - at}..${(fault.healedAt ?? at) - at}`);
      found.push(
        `worker ${workerId} claimed ${bad.length} times without its lease lock (${seen}; faults ${struck.join(', ')})`,
      );
    }
  }
  return found;
}

/**
 * When a claim at that time was sent, at the earliest. One that waits for a locked table is executed when the lock is
 * released, even if its worker was killed meanwhile: the server notices that no sooner than it answers.
 */
function sentBy({ faults }: Run, at: number): number {
  const locks = faults.filter(
    ({ kind, at: from, healedAt }) => kind === 'lock-table' && at >= from && at <= (healedAt ?? at) + SNAPSHOT_GAP_MS,
  );
  return Math.min(at, ...locks.map((lock) => Math.max(lock.at, at - STATEMENT_LIMIT_MS)));
}

/**
 * Whether a fault struck within one interval of the snapshots after the claim. A worker that is resumed, takes its
 * lock, claims and is suspended again within that interval had its lock, and no snapshot shows it.
 */
function isRightAfter(fault: FaultRecord, at: number): boolean {
  return fault.at >= at - SNAPSHOT_GAP_MS / 2 && fault.at <= at + SNAPSHOT_GAP_MS / 2;
}

/**
 * No process takes back the claims of a worker whose lease lock the server had all the time, before and after, or had
 * confirmed so recently that the worker may rely on it. A worker that is suspended keeps its lock and gets no
 * confirmation, so its claims may be taken back the moment that its lock is gone. The time is that of the change in the
 * database: the process that made it may be suspended, or wait for the reply, before it logs anything.
 */
function checkTakers({ run }: Facts): string[] {
  const sightings = new Sightings(run);
  const takeBacks = run.changes.filter(({ isTakeBack, workerId }) => isTakeBack && workerId !== null);
  const kills = run.faults.filter(({ kind, interrupted }) => kind === 'kill-worker' && interrupted.length > 0);
  if (takeBacks.length === 0 && kills.length > MANY_KILLS) return ['no change is known as one that took a claim back'];
  return [...groupBy(takeBacks, ({ workerId }) => String(workerId))].flatMap(([key, list]) => {
    const workerId = Number(key);
    const bad = list.filter(({ at }) => {
      const [from, to] = [at - CONFIRMED_MS, at + SNAPSHOT_GAP_MS];
      return (
        sightings.allSay(true, workerId, { from, past: at, to }) ||
        sightings.wasConfirmed(workerId, from, at - STATEMENT_MS)
      );
    });
    if (bad.length === 0) return [];
    const seen = sightings.around(workerId, (bad[0] as ChangeRow).at);
    return [`${bad.length} claims of worker ${key} were taken back while it had its lease lock (${seen})`];
  });
}

/** The snapshots of the locks, in the order of time. */
class Sightings {
  readonly #locks: Run['locks'];

  constructor({ locks }: Run) {
    this.#locks = locks;
  }

  /**
   * Whether there were snapshots from `from` on without a gap, the last of which was queried after `past`, and in each
   * the lock was there, or was not. Those that had arrived after `to` do not count.
   */
  allSay(isHeld: boolean, workerId: number, { from, past, to }: { from: number; past: number; to: number }): boolean {
    let last = from;
    for (let n = this.#firstFrom(from); n < this.#locks.length; n += 1) {
      const { askedAt, at, workerIds } = this.#locks[n] as Run['locks'][number];
      if (at > to) break;
      if (at - last > SNAPSHOT_GAP_MS || workerIds.includes(workerId) !== isHeld) return false;
      last = askedAt;
    }
    return last > from && last >= past;
  }

  /** Whether a snapshot shows that the server confirmed the lock between the two moments. */
  wasConfirmed(workerId: number, from: number, to: number): boolean {
    return this.#locks.some(({ confirmed }) =>
      confirmed.some((one) => one.workerId === workerId && one.at > from && one.at < to),
    );
  }

  /** For people: when snapshots were taken around a moment, and whether the lock was in them. */
  around(workerId: number, moment: number): string {
    return this.#locks
      .filter(({ at }) => at > moment - CONFIRMED_MS - SLACK_MS && at < moment + 2 * SLACK_MS)
      .map(({ askedAt, at, workerIds }) => {
        return `${askedAt - moment}..${at - moment} ms: ${workerIds.includes(workerId) ? 'held' : 'absent'}`;
      })
      .join(', ');
  }

  #firstFrom(from: number): number {
    let [low, high] = [0, this.#locks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#locks[middle]?.askedAt ?? 0) < from) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
