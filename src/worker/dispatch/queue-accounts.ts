import type { Database } from '../../db/connection/database.ts';
import { accountsOfQueues } from '../../db/delivery/claim.ts';
import type { Logger } from '../../telemetry/log.ts';

/** Queues in the cache. */
const MAX_KNOWN = 50_000;
/** Queues per query. */
const MAX_PER_QUERY = 1000;
const RETRY_MS = 250;
/** Account of a queue that no longer exists. */
const NO_ACCOUNT = '';

/**
 * Caches the account of each queue, which never changes. Wake-ups carry only the id of the queue, and a claim needs to
 * know whose share of the capacity it uses. Queues that are requested while a query runs share the next query.
 */
export class QueueAccounts {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #onFound: (queueId: string, accountId: string) => void;
  readonly #known = new Map<string, string>();
  readonly #unknown = new Set<string>();
  #running: Promise<void> | null = null;
  #stopped = false;

  /** @param onFound called for each queue that was looked up; `accountId` is empty if the queue no longer exists */
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
    // One event loop turn later: queues that were woken together are looked up together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#unknown.size > 0 && !this.#stopped) {
      const queueIds = [...this.#unknown].slice(0, MAX_PER_QUERY);
      try {
        const accounts = await accountsOfQueues(this.#db, queueIds);
        for (const queueId of queueIds) this.#found(queueId, accounts.get(queueId));
      } catch (error) {
        this.#log.warn(
          { err: error, queues: queueIds.length },
          'the accounts of queues could not be read; this will be retried',
        );
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
    // Not after the promise has resolved: a queue that is requested in between would not start a new run.
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
