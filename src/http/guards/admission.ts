import { arrivals } from '../../pacing/arrivals.ts';
import { WaitingList } from '../../pacing/waiting-list.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** With fewer running publishes than this, the process has no load and no publish waits. */
const CALM = 128;
/** Limit of running publishes: a batch that is being written, and the publishes that gather for the next one. */
const MOST = 256;
/** A body counts as one more publish for each of these bytes: reading it takes the event loop longer. */
const BYTES_OF_ONE = 16 * KIB;
/** The smallest share of an account, however many accounts there are. */
const FEW = 4;
/** The most that proceeds in one turn of the event loop, so that it also serves deliveries and the database. */
const TURN = { items: 32, bytes: 256 * KIB };
/** The most that may wait. If a request waits before its body is read, the operating system holds the body. */
const ROOM = { items: 10_000, bytes: 64 * MIB };
const ROOM_OF_ONE = { items: 5000, bytes: 32 * MIB };
/** These times are those of the batcher, for the same reasons (decision 15). */
const PATIENCE = { busyMs: 400, busyAfterMs: 1000 };
const CHECK_EVERY_MS = 25;
/**
 * A refusal is sent this much later, and the client's connection waits meanwhile. Otherwise clients that retry at once
 * would keep the process busy with refusals. If this many refusals are waiting, further ones are sent at once.
 */
const HELD = { ms: 500, atOnce: 10_000 };

/** Bytes of bodies that are being received, by their announced length. */
const BODIES = { ofAll: 256 * MIB, ofOne: 64 * MIB, alwaysOfOne: 2 * MIB };
/** A smaller body counts as this many bytes. */
const SMALLEST_BODY = 64 * KIB;

/** Another account that published within this time is active. */
const ACTIVE_MS = 1000;

/** A publish is answered within 5 s (I-37). One that runs for longer than this does not end any more. */
const LONGEST_MS = 10_000;

/**
 * Why a publish is refused. `busy`: the process cannot do more. `over_share`: at least half of what it does is for the
 * account of the publish although other accounts are active, so that the account is the cause.
 */
export type Refusal = 'busy' | 'over_share';

/** A publish with a valid key, until its answer is written. */
export interface Publish {
  account: string;
  stage: 'receiving' | 'waiting' | 'under way' | 'over';
  /** Bytes that it counts for in `BODIES`. */
  bytes: number;
  /** Number of publishes that it counts for while it is running. */
  weight: number;
  /** Number of the period of `LONGEST_MS` in which it began to run; 0 before. */
  period: number;
}

interface Entry {
  account: string;
  bytes: number;
  since: number;
  proceed(): void;
  refuse(why: Refusal): void;
}

/**
 * Bounds the publishes that a process works on at once. Further ones wait before any work is done for them, in order
 * within each account and with the accounts in turn. A publish that has waited too long is refused, so it costs only
 * the answer. A publish counts from the last byte of its body on, so clients that send bodies slowly take no other's
 * place.
 */
export class Admission {
  readonly #waiting = new WaitingList<Entry>(ROOM, ROOM_OF_ONE);
  readonly #bodies = new Map<string, number>();
  #bodiesOfAll = 0;
  readonly #inFlightOf = new Map<string, number>();
  #inFlight = 0;
  /** Running publishes by the period in which they began. */
  readonly #inFlightSince = new Map<number, number>();
  /** The last publish that began, and the last one of another account than that. */
  #latest = { account: '', at: Number.NEGATIVE_INFINITY };
  #latestOfOthers = this.#latest;
  /** When no publish was waiting for the last time. */
  #emptyAt = 0;
  /** Refusals that are not sent yet, the oldest first. */
  readonly #held: { refuse(): void; at: number }[] = [];
  #turnIsDue = false;
  #timer: NodeJS.Timeout | null = null;
  /** Number of the current turn. */
  turn = 1;

  /** Number of running publishes; large ones count several times. */
  get running(): number {
    return this.#inFlight;
  }

  /** Why no publish gets a turn any more, for the public readiness report; null while publishes end. */
  problem(): string | null {
    const period = periodOf(performance.now());
    let lost = 0;
    for (const [since, count] of this.#inFlightSince) if (since < period - 1) lost += count;
    return lost >= MOST
      ? `${lost} have been running for more than ${LONGEST_MS / 1000} s, so others are refused`
      : null;
  }

  /** Whether a publish that arrives now has to wait for its turn. */
  get isBusy(): boolean {
    return this.#inFlight >= CALM || this.#waiting.count > 0;
  }

  /** To be called before any work is done for a request. Calls either `proceed` or `refuse`, now or later. */
  wait(account: string, bytes: number, proceed: () => void, refuse: (why: Refusal) => void): void {
    if (this.#isBelowShare(account)) {
      // The account's older requests go first, if it had more than its share a moment ago.
      const oldest = this.#waiting.takeFrom(account);
      if (oldest === null) {
        proceed();
        return;
      }
      oldest.proceed();
    }
    const since = performance.now();
    if (this.#waiting.count === 0) this.#emptyAt = since;
    const displaced = this.#waiting.add({ account, bytes, since, proceed, refuse });
    if (displaced !== null) this.#hold(displaced);
    this.#timer ??= setTimeout(() => this.#check(), CHECK_EVERY_MS);
    this.#planTurn();
  }

  /**
   * To be called before the body is read.
   * @param announced length of the body in bytes
   * @returns null if the bodies of the account, or of all accounts, would need too much memory
   */
  receive(account: string, announced: number): Publish | null {
    const bytes = Math.max(announced, SMALLEST_BODY);
    const own = this.#bodies.get(account) ?? 0;
    const part = Math.max(BODIES.ofAll / Math.max(this.#bodies.size, 1), BODIES.alwaysOfOne);
    // If all memory is taken, accounts that have their part are refused; accounts with less are not.
    const isFull = this.#bodiesOfAll + bytes > BODIES.ofAll && own + bytes > part;
    if (own > 0 && (isFull || own + bytes > BODIES.ofOne)) return null;
    this.#bodies.set(account, own + bytes);
    this.#bodiesOfAll += bytes;
    return { account, stage: 'receiving', bytes, weight: 1, period: 0 };
  }

  /**
   * To be called when the body has arrived.
   * @param turn in which the request proceeded, if it waited before
   * @returns true if it proceeds, else a promise; a reason means that it must be refused
   */
  received(publish: Publish, length: number, turn?: number): true | Promise<true | Refusal> {
    this.#freeBody(publish);
    publish.weight += Math.floor(length / BYTES_OF_ONE);
    // The size of the body was not known when the request got its turn: a large one counts as several and must wait.
    if (!this.isBusy || (turn === this.turn && publish.weight === 1)) {
      this.#begin(publish);
      return true;
    }
    publish.stage = 'waiting';
    return new Promise((resolve) => {
      const proceed = () => {
        // Its client has disconnected. Carried out, it would not count as running.
        if (publish.stage === 'over') {
          resolve('busy');
          return;
        }
        this.#begin(publish);
        resolve(true);
      };
      this.wait(publish.account, length, proceed, resolve);
    });
  }

  /** To be called when the answer was written, and when the client has disconnected. Further calls have no effect. */
  end(publish: Publish): void {
    if (publish.stage === 'receiving') this.#freeBody(publish);
    if (publish.stage === 'under way') {
      const { account, weight } = publish;
      this.#inFlight -= weight;
      addTo(this.#inFlightSince, publish.period, -weight);
      addTo(this.#inFlightOf, account, -weight);
      if (this.#isBelowShare(account)) this.#waiting.takeFrom(account)?.proceed();
      if (this.#waiting.count > 0) this.#planTurn();
    }
    publish.stage = 'over';
  }

  /** To be called when a publish of the account is refused. */
  whyRefused(account: string): Refusal {
    const { at } = this.#latest.account === account ? this.#latestOfOthers : this.#latest;
    const isAlone = performance.now() - at > ACTIVE_MS;
    const isLarge = 2 * (this.#inFlightOf.get(account) ?? 0) >= this.#inFlight;
    return isLarge && !isAlone ? 'over_share' : 'busy';
  }

  /**
   * An account below its share does not wait behind accounts above theirs, unless twice `MOST` are running. The share
   * divides `MOST` equally between the accounts that have running publishes and one more.
   */
  #isBelowShare(account: string): boolean {
    if (this.#inFlight >= 2 * MOST) return false;
    return (this.#inFlightOf.get(account) ?? 0) < Math.max(MOST / (this.#inFlightOf.size + 1), FEW);
  }

  #freeBody({ account, bytes }: Publish): void {
    addTo(this.#bodies, account, -bytes);
    this.#bodiesOfAll -= bytes;
  }

  #begin(publish: Publish): void {
    const { account, weight } = publish;
    publish.stage = 'under way';
    if (this.#latest.account !== account) this.#latestOfOthers = this.#latest;
    const at = performance.now();
    this.#latest = { account, at };
    publish.period = periodOf(at);
    addTo(this.#inFlightSince, publish.period, weight);
    this.#inFlight += weight;
    addTo(this.#inFlightOf, account, weight);
  }

  #planTurn(): void {
    if (this.#turnIsDue || this.#inFlight >= MOST) return;
    this.#turnIsDue = true;
    setImmediate(() => this.#takeTurn());
  }

  #takeTurn(): void {
    this.#turnIsDue = false;
    this.turn += 1;
    this.#refuseLate();
    const items = arrivals.goFirst ? 0 : Math.max(Math.min(TURN.items, MOST - this.#inFlight), 0);
    for (const { proceed } of this.#waiting.take(items, TURN.bytes)) proceed();
    if (this.#waiting.count === 0) this.#emptyAt = performance.now();
    else this.#planTurn();
  }

  #check(): void {
    this.#refuseLate();
    const now = performance.now();
    const due = this.#held.findIndex(({ at }) => at > now);
    for (const { refuse } of this.#held.splice(0, due === -1 ? this.#held.length : due)) refuse();
    const isIdle = this.#waiting.count === 0 && this.#held.length === 0;
    this.#timer = isIdle ? null : setTimeout(() => this.#check(), CHECK_EVERY_MS);
  }

  #refuseLate(): void {
    const now = performance.now();
    const { busyMs, busyAfterMs } = PATIENCE;
    const patience = now - this.#emptyAt > busyAfterMs ? busyMs : busyAfterMs;
    for (const entry of this.#waiting.removeWhile(({ since }) => now - since > patience)) this.#hold(entry);
  }

  #hold(entry: Entry): void {
    const why = this.whyRefused(entry.account);
    const refuse = () => entry.refuse(why);
    if (this.#held.length < HELD.atOnce) this.#held.push({ refuse, at: performance.now() + HELD.ms });
    else refuse();
  }
}

function periodOf(time: number): number {
  return Math.floor(time / LONGEST_MS);
}

/** Adds to the sum of a key, and removes a sum that is zero. */
function addTo<Key>(sums: Map<Key, number>, key: Key, more: number): void {
  const sum = (sums.get(key) ?? 0) + more;
  if (sum > 0) sums.set(key, sum);
  else sums.delete(key);
}
