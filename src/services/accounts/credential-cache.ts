import { FairTurns } from '../../db/connection/fair-turns.ts';
import { unavailable } from '../../domain/errors.ts';
import { decideAfter } from '../../pacing/decide-after.ts';

/**
 * Lifetime of a cached result, in milliseconds. Every process must refuse a revoked credential within a second (I-33).
 */
export const CACHE_MS = 900;
const MAX_CACHED = 10_000;
/** Bounds of the look-ups of unknown credentials: these must not take the connections that known ones need. */
const STRANGERS = { atOnce: 2, atOnceOfOne: 2, waiting: 500, waitingOfOne: 500, maxWaitMs: 2000 };
/**
 * Time limit of a look-up, with its waits for a turn and for a connection. A publish may wait for its turn before and
 * after it, and must be answered within 5 s (I-37).
 */
const LOOK_UP_MS = 3000;
const NOTE_USE_EVERY_MS = 60_000;

interface Cached<Holder> {
  holder: Promise<Holder | null>;
  /** The holder that this look-up or, while it is running, the one before it returned; null when there was none. */
  found: Holder | null;
  isRunning: boolean;
  until: number;
}

/**
 * Looks up the holders of credentials (API keys, sessions) by their hash,
 * and caches each result for less than a second.
 */
export class CredentialCache<Holder> {
  readonly #read: (hash: string) => Promise<Holder | null>;
  readonly #good = new Map<string, Cached<Holder>>();
  /** Credentials without a holder, and credentials whose first look-up is still running. */
  readonly #others = new Map<string, Cached<Holder>>();
  readonly #strangers = new FairTurns(STRANGERS);

  constructor(read: (hash: string) => Promise<Holder | null>) {
    this.#read = read;
  }

  /** Returns the cached result; undefined when a look-up is needed. */
  cached(hash: string): Promise<Holder | null> | undefined {
    const present = this.#good.get(hash) ?? this.#others.get(hash);
    return present !== undefined && present.until > performance.now() ? present.holder : undefined;
  }

  /** Whether the last look-up of the credential found a holder. */
  isKnown(hash: string): boolean {
    return this.#good.has(hash);
  }

  /** Returns the cached holder without a query; null when a look-up is needed, or there is no holder. */
  recent(hash: string): Holder | null {
    const known = this.#good.get(hash);
    return known !== undefined && known.until > performance.now() ? known.found : null;
  }

  /**
   * Returns the holder in the cached result, once its look-up has ended;
   * null when there is no such result, or no holder.
   */
  present(hash: string): Holder | null {
    return this.#good.get(hash)?.isRunning === false ? this.recent(hash) : null;
  }

  /** Returns the cached result, or that of a look-up. */
  find(hash: string): Promise<Holder | null> {
    return this.cached(hash) ?? this.lookUp(hash);
  }

  /** Looks the credential up. Requests that come meanwhile share the look-up. */
  lookUp(hash: string): Promise<Holder | null> {
    const known = this.#good.get(hash);
    const cached: Cached<Holder> = {
      holder: Promise.resolve(null),
      found: known?.found ?? null,
      isRunning: true,
      until: Number.POSITIVE_INFINITY,
    };
    keep(known === undefined ? this.#others : this.#good, hash, cached);
    const look = () => this.#lookUp(hash, cached);
    cached.holder = inTime(known === undefined ? this.#strangers.run('', look) : look());
    cached.holder.catch(() => {
      // The next request looks the credential up again. A known one stays known.
      cached.until = 0;
    });
    return cached.holder;
  }

  /** Makes the next request look the credential up again. */
  forget(hash: string): void {
    this.#good.delete(hash);
    this.#others.delete(hash);
  }

  async #lookUp(hash: string, cached: Cached<Holder>): Promise<Holder | null> {
    // The time is taken before the query, so the result is at least as new as that.
    cached.until = performance.now() + CACHE_MS;
    const holder = await this.#read(hash);
    cached.found = holder;
    cached.isRunning = false;
    if (holder === null) {
      this.#good.delete(hash);
      keep(this.#others, hash, cached);
    } else {
      this.#others.delete(hash);
      keep(this.#good, hash, cached);
    }
    return holder;
  }
}

/**
 * @throws JobferryError `unavailable` when the look-up takes too long;
 * a credential that it then finds is known all the same
 */
export function inTime<T>(looking: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const tooLate = () => reject(unavailable('the database did not answer in time', 'nothing'));
    looking.then(resolve, reject).finally(decideAfter(LOOK_UP_MS, tooLate));
  });
}

/** A full cache drops its oldest entry only. If it dropped all, every credential would be looked up again at once. */
function keep<Holder>(place: Map<string, Cached<Holder>>, hash: string, cached: Cached<Holder>): void {
  place.delete(hash);
  place.set(hash, cached);
  const [oldest] = place.keys();
  if (place.size > MAX_CACHED && oldest !== undefined) place.delete(oldest);
}

/**
 * Records the use of a credential outside of the request, once a minute: a row that every request rewrites would be a
 * hot spot.
 */
export function createUseNotes(note: (id: string) => Promise<void>): (id: string) => void {
  const notedAt = new Map<string, number>();
  return (id) => {
    const now = performance.now();
    if (now - (notedAt.get(id) ?? Number.NEGATIVE_INFINITY) < NOTE_USE_EVERY_MS) return;
    if (notedAt.size >= MAX_CACHED) notedAt.clear();
    notedAt.set(id, now);
    // If the database is read-only or unreachable, the use is not recorded, and no request fails.
    note(id).catch(() => undefined);
  };
}
