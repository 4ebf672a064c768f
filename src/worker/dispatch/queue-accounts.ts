import type { Database } from '../../db/connection/database.ts';
import { accountsOfQueues } from '../../db/delivery/claim.ts';
import type { Logger } from '../../log.ts';

/** Remembered queues. */
const MAX_KNOWN = 50_000;
/** Of one look-up. */
const MAX_ASKED = 1000;
const RETRY_MS = 250;
/** Of a queue that is gone. */
const NO_ACCOUNT = '';

/**
 * Which account a queue belongs to, which never changes. Wake-ups name only the queue, and a claim has to know whose
 * share it uses. What is asked for while a look-up is under way shares the next one.
 */
export class QueueAccounts {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #onFound: (queueId: string, accountId: string) => void;
  readonly #known = new Map<string, string>();
  readonly #unknown = new Set<string>();
  #running: Promise<void> | null = null;
  #stopped = false;

  /** @param onFound told for each queue that was looked up; of one that is gone the account is the empty string */
  constructor(db: Database, log: Logger, onFound: (queueId: string, accountId: string) => void) {
    this.#db = db;
    this.#log = log;
    this.#onFound = onFound;
  }

  known(queueId: string): string | null {
    return this.#known.get(queueId) ?? null;
  }

  lookUp(queueId: string): void {
    this.#unknown.add(queueId);
    if (!this.#stopped) this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // A turn later: queues that were woken together are looked up together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#unknown.size > 0 && !this.#stopped) {
      const queueIds = [...this.#unknown].slice(0, MAX_ASKED);
      try {
        const accounts = await accountsOfQueues(this.#db, queueIds);
        for (const queueId of queueIds) this.#found(queueId, accounts.get(queueId));
      } catch (error) {
        this.#log.warn(
          { err: error, queues: queueIds.length },
          'looking up the accounts of queues failed, trying again',
        );
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
    // At once, and not when the promise has ended: what is asked for in between would wait for the next one.
    this.#running = null;
  }

  #found(queueId: string, accountId: string | undefined): void {
    this.#unknown.delete(queueId);
    if (accountId !== undefined) {
      if (this.#known.size >= MAX_KNOWN) this.#known.delete(this.#known.keys().next().value as string);
      this.#known.set(queueId, accountId);
    }
    this.#onFound(queueId, accountId ?? NO_ACCOUNT);
  }
}
