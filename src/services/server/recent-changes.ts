import type { Account } from '../../domain/account.ts';

/** Clients that are remembered by themselves. */
const MAX_CLIENTS = 10_000;

/** When clients changed something, or saw a change, as times of `performance.now()`. */
export class RecentChanges {
  readonly #rememberMs: number;
  /** By client, in the order of time. */
  readonly #at = new Map<string, number>();
  /** The last change by any client that is not remembered by itself. */
  #ofOthers = Number.NEGATIVE_INFINITY;

  /** @param rememberMs earlier changes are of no interest */
  constructor(rememberMs: number) {
    this.#rememberMs = rememberMs;
  }

  note(account: Account, now = performance.now()): void {
    const client = nameOf(account);
    this.#at.delete(client);
    this.#at.set(client, now);
    for (const [oldest, at] of this.#at) {
      if (now - at <= this.#rememberMs && this.#at.size <= MAX_CLIENTS) break;
      this.#at.delete(oldest);
      this.#ofOthers = Math.max(this.#ofOthers, at);
    }
  }

  /** @returns the time of the client's last change, or a later one */
  lastOf(account: Account): number {
    return this.#at.get(nameOf(account)) ?? this.#ofOthers;
  }
}

/** A person is the same client in all sessions. */
function nameOf({ id, actor }: Account): string {
  return `${id} ${actor.type} ${actor.id ?? ''}`;
}
