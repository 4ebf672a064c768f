import { setTimeout as sleep } from 'node:timers/promises';
import { keysInForce } from '../../db/accounts.ts';
import type { Database } from '../../db/connection/database.ts';

/** Milliseconds. */
const LOOK_EVERY = 400;
/** What was seen longer ago says nothing: a revoked key must hear nothing a second later (I-45). */
const TOO_OLD = 800;

/**
 * Looks again and again at the keys of what stays open, and tells when one was revoked: by whichever process, since
 * nothing but the database knows. One small statement for all of them together, and none when nothing is open.
 */
export class KeyWatch {
  readonly #db: Database;
  readonly #followers = new Map<string, Set<() => void>>();
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;
  /** When the last look that answered had begun. */
  #seenAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database) {
    this.#db = db;
  }

  /** @returns ends it */
  follow(keyId: string, revoked: () => void): () => void {
    const followers = this.#followers.get(keyId);
    if (followers === undefined) {
      this.#followers.set(keyId, new Set([revoked]));
      // The last look knew nothing of this one.
      this.#seenAt = Number.NEGATIVE_INFINITY;
    } else {
      followers.add(revoked);
    }
    this.#timer ??= setInterval(() => void this.#look().catch(() => undefined), LOOK_EVERY).unref();
    return () => this.#leave(keyId, revoked);
  }

  /** Resolves when it is known that all keys that are not told to be revoked were in force less than a second ago. */
  async confirmed(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && performance.now() - this.#seenAt > TOO_OLD) {
      // Without a database nothing is known, and there is nothing to tell either.
      await this.#look().catch(() => sleep(LOOK_EVERY, undefined, { signal, ref: false }).catch(() => undefined));
    }
  }

  #leave(keyId: string, revoked: () => void): void {
    const followers = this.#followers.get(keyId);
    followers?.delete(revoked);
    if (followers?.size === 0) this.#followers.delete(keyId);
    if (this.#followers.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookNow().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookNow(): Promise<void> {
    const startedAt = performance.now();
    const asked = new Set(this.#followers.keys());
    const inForce = await keysInForce(this.#db, [...asked]);
    for (const keyId of asked) {
      if (inForce.has(keyId)) continue;
      for (const revoked of [...(this.#followers.get(keyId) ?? [])]) revoked();
    }
    // A key that came meanwhile was not asked for. Whoever follows a revoked one was told, and may take a moment to leave.
    if ([...this.#followers.keys()].every((keyId) => asked.has(keyId))) this.#seenAt = startedAt;
  }
}
