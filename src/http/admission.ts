import { WaitingLines } from '../pacing/waiting-lines.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** So many under way are no load: below this nothing waits. */
const CALM = 128;
/** So many at most: a batch that is being written, and what gathers for the next one meanwhile. */
const MOST = 256;
/** A body counts as one more for each so many bytes: reading it takes the event loop for longer. */
const BYTES_OF_ONE = 16 * KIB;
/** The least share of an account, however many there are. */
const FEW = 4;
/** What goes on in one turn of the event loop, so that deliveries and answers of the database get theirs. */
const TURN = { items: 32, bytes: 256 * KIB };
/** How much may wait. Of a request that waits for its turn the body lies with the system, not here. */
const ROOM = { items: 10_000, bytes: 64 * MIB };
const ROOM_OF_ONE = { items: 5000, bytes: 32 * MIB };
/** As in the queue of the batcher, and for the same reasons (decision 15). */
const PATIENCE = { busyMs: 400, busyAfterMs: 1000 };
const LOOK_EVERY_MS = 25;
/**
 * A refusal is told so much later. Clients that come again at once would otherwise make the process do nothing but
 * refuse; each of their connections waits meanwhile. Beyond so many at once they are told at once.
 */
const HELD = { ms: 500, atOnce: 10_000 };

/** Bytes of bodies that are being received, as announced. */
const BODIES = { ofAll: 256 * MIB, ofOne: 64 * MIB, alwaysOfOne: 2 * MIB };
/** What a request counts for whose body is smaller. */
const SMALLEST_BODY = 64 * KIB;

/** A publish whose key is known, until it is answered. */
export interface Publish {
  account: string;
  stage: 'receiving' | 'waiting' | 'under way' | 'over';
  /** What it takes of the room for bodies. */
  bytes: number;
  /** As how many it counts while it is under way. */
  weight: number;
}

interface Entry {
  account: string;
  bytes: number;
  since: number;
  proceed(): void;
  refuse(): void;
}

/**
 * How many publishes a process works on at once. What is beyond waits before anything is done for it, in lines of which
 * each account has one, and is served in turn; what has waited too long is refused, and its answer is all that it costs.
 * A publish counts from the last byte of its body on, so whoever sends bodies slowly takes nobody's place.
 */
export class Admission {
  readonly #lines = new WaitingLines<Entry>(ROOM, ROOM_OF_ONE);
  readonly #bodies = new Map<string, number>();
  #bodiesOfAll = 0;
  readonly #underWayOf = new Map<string, number>();
  #underWay = 0;
  /** When nothing waited last. */
  #emptyAt = 0;
  /** Refusals that are yet to be told, the oldest first. */
  readonly #held: { refuse(): void; at: number }[] = [];
  #turnIsDue = false;
  #timer: NodeJS.Timeout | null = null;
  /** The number of the present turn. */
  turn = 1;

  /** Whether a publish that comes now has to wait for its turn. */
  get isBusy(): boolean {
    return this.#underWay >= CALM || this.#lines.count > 0;
  }

  /** Before anything is done for a request: one of the two is called, at some time. */
  wait(account: string, bytes: number, proceed: () => void, refuse: () => void): void {
    if (this.#isBelowShare(account)) {
      // Its older ones first, if it had more than its share a moment ago.
      const oldest = this.#lines.takeFrom(account);
      if (oldest === null) {
        proceed();
        return;
      }
      oldest.proceed();
    }
    const since = performance.now();
    if (this.#lines.count === 0) this.#emptyAt = since;
    const displaced = this.#lines.add({ account, bytes, since, proceed, refuse });
    if (displaced !== null) this.#hold(displaced.refuse);
    this.#timer ??= setTimeout(() => this.#look(), LOOK_EVERY_MS);
    this.#planTurn();
  }

  /**
   * Before the body is read.
   * @param announced bytes
   * @returns null when the account, or all together, are sending more than there is memory for
   */
  receive(account: string, announced: number): Publish | null {
    const bytes = Math.max(announced, SMALLEST_BODY);
    const own = this.#bodies.get(account) ?? 0;
    const part = Math.max(BODIES.ofAll / Math.max(this.#bodies.size, 1), BODIES.alwaysOfOne);
    // When all is full those are refused that have their part; who has little is let in.
    const isFull = this.#bodiesOfAll + bytes > BODIES.ofAll && own + bytes > part;
    if (own > 0 && (isFull || own + bytes > BODIES.ofOne)) return null;
    this.#bodies.set(account, own + bytes);
    this.#bodiesOfAll += bytes;
    return { account, stage: 'receiving', bytes, weight: 1 };
  }

  /**
   * When the body is there.
   * @param turn in which the request went on, if it waited before
   * @returns true when it goes on, else a promise, of false when it is to be refused
   */
  received(publish: Publish, length: number, turn?: number): true | Promise<boolean> {
    this.#freeBody(publish);
    publish.weight += Math.floor(length / BYTES_OF_ONE);
    // The turn was given to a body that was not known yet: a large one takes the places of many.
    if (!this.isBusy || (turn === this.turn && publish.weight === 1)) {
      this.#begin(publish);
      return true;
    }
    publish.stage = 'waiting';
    return new Promise((resolve) => {
      const proceed = () => {
        if (publish.stage === 'waiting') this.#begin(publish);
        resolve(true);
      };
      this.wait(publish.account, length, proceed, () => resolve(false));
    });
  }

  /** When it was answered, or its client has gone. */
  end(publish: Publish): void {
    if (publish.stage === 'receiving') this.#freeBody(publish);
    if (publish.stage === 'under way') {
      const { account, weight } = publish;
      this.#underWay -= weight;
      const left = (this.#underWayOf.get(account) ?? 0) - weight;
      if (left > 0) this.#underWayOf.set(account, left);
      else this.#underWayOf.delete(account);
      if (this.#isBelowShare(account)) this.#lines.takeFrom(account)?.proceed();
      if (this.#lines.count > 0) this.#planTurn();
    }
    publish.stage = 'over';
  }

  /**
   * An account below the share does not wait behind those above it, unless twice as many as usual are under way. The share
   * is what each has when all that have something under way have as much, and one more comes.
   */
  #isBelowShare(account: string): boolean {
    if (this.#underWay >= 2 * MOST) return false;
    return (this.#underWayOf.get(account) ?? 0) < Math.max(MOST / (this.#underWayOf.size + 1), FEW);
  }

  #freeBody({ account, bytes }: Publish): void {
    const left = (this.#bodies.get(account) ?? 0) - bytes;
    if (left > 0) this.#bodies.set(account, left);
    else this.#bodies.delete(account);
    this.#bodiesOfAll -= bytes;
  }

  #begin(publish: Publish): void {
    const { account, weight } = publish;
    publish.stage = 'under way';
    this.#underWay += weight;
    this.#underWayOf.set(account, (this.#underWayOf.get(account) ?? 0) + weight);
  }

  #planTurn(): void {
    if (this.#turnIsDue || this.#underWay >= MOST) return;
    this.#turnIsDue = true;
    setImmediate(() => this.#takeTurn());
  }

  #takeTurn(): void {
    this.#turnIsDue = false;
    this.turn += 1;
    this.#refuseLate();
    const items = Math.max(Math.min(TURN.items, MOST - this.#underWay), 0);
    for (const { proceed } of this.#lines.take(items, TURN.bytes)) proceed();
    if (this.#lines.count === 0) this.#emptyAt = performance.now();
    else this.#planTurn();
  }

  #look(): void {
    this.#refuseLate();
    const now = performance.now();
    const due = this.#held.findIndex(({ at }) => at > now);
    for (const { refuse } of this.#held.splice(0, due === -1 ? this.#held.length : due)) refuse();
    const isIdle = this.#lines.count === 0 && this.#held.length === 0;
    this.#timer = isIdle ? null : setTimeout(() => this.#look(), LOOK_EVERY_MS);
  }

  #refuseLate(): void {
    const now = performance.now();
    const { busyMs, busyAfterMs } = PATIENCE;
    const patience = now - this.#emptyAt > busyAfterMs ? busyMs : busyAfterMs;
    for (const { refuse } of this.#lines.removeWhile(({ since }) => now - since > patience)) this.#hold(refuse);
  }

  #hold(refuse: () => void): void {
    if (this.#held.length < HELD.atOnce) this.#held.push({ refuse, at: performance.now() + HELD.ms });
    else refuse();
  }
}
