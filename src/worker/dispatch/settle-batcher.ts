import type { Database } from '../../db/connection/database.ts';
import type { ClaimedJob } from '../../db/delivery/claim.ts';
import { settle } from '../../db/delivery/settle.ts';
import { isUnavailable } from '../../domain/errors.ts';
import { Rounds } from '../../pacing/rounds.ts';
import { WaitingList } from '../../pacing/waiting-list.ts';
import { counts } from '../../telemetry/counts/counts.ts';
import type { Delivery } from './deliver.ts';
import { RecentFailure } from './recent-failure.ts';

export interface SettledDelivery {
  job: ClaimedJob;
  delivery: Delivery;
  /** The `performance.now()` at which the lease ends. After it another process may have the job. */
  giveUpAt: number;
  /** True if it was sent to the database before. That try may have been committed although it failed here. */
  wasTried?: boolean;
}

interface Waiting {
  account: string;
  /** Batches are limited by their number of outcomes only. */
  bytes: 0;
  settled: SettledDelivery;
  resolve(): void;
  reject(error: unknown): void;
}

const MAX_BATCH = 500;
/** The capacity of the dispatcher is the limit. */
const UNBOUNDED = { items: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };
const RETRY_MS = 200;
/** How long an outcome may wait for others. */
const COMPANY_MS = 20;
/** So many outcomes do not wait for others any more. */
const COMPANY = 16;

/**
 * Writes the outcomes of all queues of the process in one statement (group commit). Outcomes that arrive while a
 * statement runs share the next one; accounts take turns. An outcome for which nothing waits may wait a moment for
 * others, because a statement and its commit cost as much as several outcomes (docs/decisions/0061). A lost outcome
 * means that the job is delivered again, so an outcome is retried until its lease ends while the database is
 * unavailable. The dispatcher's capacity limits how many outcomes can wait.
 */
export class SettleBatcher {
  readonly failure = new RecentFailure();
  readonly #db: Database;
  readonly #onSettled: (settled: SettledDelivery, applied: boolean) => void;
  readonly #waiting = new WaitingList<Waiting>(UNBOUNDED, UNBOUNDED);
  /** Runs while outcomes wait for others. */
  #timer: NodeJS.Timeout | null = null;
  readonly #rounds = new Rounds(
    () => this.#waiting.count > 0,
    () => this.#flush(this.#waiting.take(MAX_BATCH, UNBOUNDED.bytes)),
  );

  constructor(db: Database, onSettled: (settled: SettledDelivery, applied: boolean) => void) {
    this.#db = db;
    this.#onSettled = onSettled;
  }

  /**
   * Resolves when the outcome is committed, or when it is known that another outcome was committed first.
   * @param mayWait whether nothing waits for it, such as a job for the slot of this one
   */
  add(settled: SettledDelivery, mayWait: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({ account: settled.job.accountId, bytes: 0, settled, resolve, reject });
      if (!mayWait || this.#waiting.count >= COMPANY) this.#begin();
      else this.#timer ??= setTimeout(() => this.#begin(), COMPANY_MS);
    });
  }

  /** Resolves when no outcome is left to write. */
  idle(): Promise<void> {
    return this.#rounds.idle();
  }

  /** Something waits for these outcomes now. */
  hurry(): void {
    if (this.#timer !== null) this.#begin();
  }

  #begin(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#rounds.begin();
  }

  async #flush(batch: Waiting[]): Promise<void> {
    const startedAt = performance.now();
    try {
      const applied = await settle(
        this.#db,
        batch.map(({ settled }) => settled.delivery.settlement),
      );
      this.failure.clear();
      counts.settles.done('ok', startedAt, batch.length);
      for (const { settled, resolve } of batch) {
        this.#onSettled(settled, applied.has(settled.job.id));
        resolve();
      }
    } catch (error) {
      this.failure.record();
      counts.settles.done('error', startedAt, batch.length);
      for (const { settled } of batch) settled.wasTried = true;
      await this.#retry(batch, error);
    }
  }

  async #retry(batch: Waiting[], error: unknown): Promise<void> {
    const canHeal = isUnavailable(error);
    if (!canHeal && batch.length > 1) {
      // One outcome that cannot be written must not prevent the others from being written.
      for (const waiting of batch) await this.#flush([waiting]);
      return;
    }
    const now = performance.now();
    for (const waiting of batch) {
      if (canHeal && waiting.settled.giveUpAt > now) this.#waiting.add(waiting);
      else waiting.reject(error);
    }
    if (canHeal) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
