import type { Database } from '../../db/connection/database.ts';
import type { ClaimedJob } from '../../db/delivery/claim.ts';
import { settle } from '../../db/delivery/settle.ts';
import { isUnavailable } from '../../domain/errors.ts';
import { Rounds } from '../../pacing/rounds.ts';
import { WaitingLines } from '../../pacing/waiting-lines.ts';
import type { Delivery } from './deliver.ts';
import { LastTry } from './last-try.ts';

export interface SettledDelivery {
  job: ClaimedJob;
  delivery: Delivery;
  /** On `performance.now()`: the lease is over, and somebody else may have the job. */
  giveUpAt: number;
  /** It was sent to the database before, which may have written it and not said so. */
  wasTried?: boolean;
}

interface Waiting {
  account: string;
  /** Only their number counts here. */
  bytes: 0;
  settled: SettledDelivery;
  resolve(): void;
  reject(error: unknown): void;
}

const MAX_BATCH = 500;
/** The capacity of the dispatcher is the bound. */
const UNBOUNDED = { items: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };
const RETRY_MS = 200;

/**
 * Writes outcomes of all queues of the process in one statement; what ends while one is under way
 * rides the next, accounts in turn. An outcome is precious (losing it means delivering again), so with the database
 * gone it is kept and tried again until the lease is over. The dispatcher's capacity bounds how
 * many can wait here.
 */
export class SettleBatcher {
  readonly lastTry = new LastTry();
  readonly #db: Database;
  readonly #onSettled: (settled: SettledDelivery, applied: boolean) => void;
  readonly #waiting = new WaitingLines<Waiting>(UNBOUNDED, UNBOUNDED);
  readonly #rounds = new Rounds(
    () => this.#waiting.count > 0,
    () => this.#flush(this.#waiting.take(MAX_BATCH, UNBOUNDED.bytes)),
  );

  constructor(db: Database, onSettled: (settled: SettledDelivery, applied: boolean) => void) {
    this.#db = db;
    this.#onSettled = onSettled;
  }

  /** Resolves when the outcome is committed, or is known to have lost against another. */
  add(settled: SettledDelivery): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({ account: settled.job.accountId, bytes: 0, settled, resolve, reject });
      this.#rounds.begin();
    });
  }

  /** Resolves when nothing is left to write. */
  idle(): Promise<void> {
    return this.#rounds.idle();
  }

  async #flush(batch: Waiting[]): Promise<void> {
    try {
      const applied = await settle(
        this.#db,
        batch.map(({ settled }) => settled.delivery.settlement),
      );
      this.lastTry.succeeds();
      for (const { settled, resolve } of batch) {
        this.#onSettled(settled, applied.has(settled.job.id));
        resolve();
      }
    } catch (error) {
      this.lastTry.fails();
      for (const { settled } of batch) settled.wasTried = true;
      await this.#retry(batch, error);
    }
  }

  async #retry(batch: Waiting[], error: unknown): Promise<void> {
    const canHeal = isUnavailable(error);
    if (!canHeal && batch.length > 1) {
      // One outcome that cannot be written must not keep its neighbours from being settled.
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
