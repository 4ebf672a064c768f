import { setTimeout as sleep } from 'node:timers/promises';
import { keysInForce } from '../../db/accounts.ts';
import type { Database } from '../../db/connection/database.ts';

const POLL_EVERY_MS = 400;
/** An older poll confirms nothing: no event may reach a revoked key after a second (I-45). */
const MAX_AGE_MS = 800;

/**
 * Polls the API keys of open streams, and calls back when a key was revoked. Any process may have revoked it, so only
 * the database knows. One small statement covers all keys; when no stream is open, it sends none.
 */
export class KeyWatch {
  readonly #db: Database;
  readonly #followers = new Map<string, Set<() => void>>();
  #timer: NodeJS.Timeout | null = null;
  #polling: Promise<void> | null = null;
  /** When the last successful poll began. */
  #seenAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database) {
    this.#db = db;
  }

  /** @returns a function that stops following the key */
  follow(keyId: string, revoked: () => void): () => void {
    const followers = this.#followers.get(keyId);
    if (followers === undefined) {
      this.#followers.set(keyId, new Set([revoked]));
      // The last poll did not include this key.
      this.#seenAt = Number.NEGATIVE_INFINITY;
    } else {
      followers.add(revoked);
    }
    this.#timer ??= setInterval(() => void this.#poll().catch(() => undefined), POLL_EVERY_MS).unref();
    return () => this.#leave(keyId, revoked);
  }

  /** Resolves when all followed keys that were not reported as revoked were in force less than a second ago. */
  async confirmed(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && performance.now() - this.#seenAt > MAX_AGE_MS) {
      // Without a database nothing can be confirmed, but there are no events to send either.
      await this.#poll().catch(() => sleep(POLL_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined));
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

  #poll(): Promise<void> {
    this.#polling ??= this.#pollNow().finally(() => {
      this.#polling = null;
    });
    return this.#polling;
  }

  async #pollNow(): Promise<void> {
    const startedAt = performance.now();
    const polled = new Set(this.#followers.keys());
    const inForce = await keysInForce(this.#db, [...polled]);
    for (const keyId of polled) {
      if (inForce.has(keyId)) continue;
      for (const revoked of [...(this.#followers.get(keyId) ?? [])]) revoked();
    }
    // A key that was added meanwhile was not polled. Followers of a revoked key were called back, and may still be
    // leaving.
    if ([...this.#followers.keys()].every((keyId) => polled.has(keyId))) this.#seenAt = startedAt;
  }
}
