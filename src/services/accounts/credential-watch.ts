import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/connection/database.ts';
import { credentialsInForce } from '../../db/sessions.ts';

const POLL_EVERY_MS = 400;
/** An older poll confirms nothing: no event may reach a revoked credential after a second (I-45). */
const MAX_AGE_MS = 800;

/**
 * Polls the credentials (API keys and sessions) of open streams, and calls back when one was revoked. Any process may
 * have revoked it, so only the database knows. One small statement covers all; when no stream is open, it sends none.
 */
export class CredentialWatch {
  readonly #db: Database;
  readonly #followers = new Map<string, Set<() => void>>();
  #timer: NodeJS.Timeout | null = null;
  #polling: Promise<void> | null = null;
  /** When the last successful poll began. */
  #seenAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database) {
    this.#db = db;
  }

  /** @returns a function that stops following the credential */
  follow(id: string, revoked: () => void): () => void {
    const followers = this.#followers.get(id);
    if (followers === undefined) {
      this.#followers.set(id, new Set([revoked]));
      // The last poll did not include this credential.
      this.#seenAt = Number.NEGATIVE_INFINITY;
    } else {
      followers.add(revoked);
    }
    this.#timer ??= setInterval(() => void this.#poll().catch(() => undefined), POLL_EVERY_MS).unref();
    return () => this.#leave(id, revoked);
  }

  /** Resolves when all followed credentials that were not reported as revoked were in force less than a second ago. */
  async confirmed(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && performance.now() - this.#seenAt > MAX_AGE_MS) {
      // Without a database nothing can be confirmed, but there are no events to send either.
      await this.#poll().catch(() => sleep(POLL_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined));
    }
  }

  #leave(id: string, revoked: () => void): void {
    const followers = this.#followers.get(id);
    followers?.delete(revoked);
    if (followers?.size === 0) this.#followers.delete(id);
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
    const inForce = await credentialsInForce(this.#db, [...polled]);
    for (const id of polled) {
      if (inForce.has(id)) continue;
      for (const revoked of [...(this.#followers.get(id) ?? [])]) revoked();
    }
    // A credential that was added meanwhile was not polled. Followers of a revoked one were called back, and may still
    // be leaving.
    if ([...this.#followers.keys()].every((id) => polled.has(id))) this.#seenAt = startedAt;
  }
}
