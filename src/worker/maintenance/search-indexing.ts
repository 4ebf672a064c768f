import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../db/connection/database.ts';
import { indexPayloads, indexWaiting, isOfBatch } from '../../db/search/index-payloads.ts';
import type { Logger } from '../../telemetry/log.ts';

/** Jobs per batch. A batch takes about 50 ms. */
const BATCH = 500;
/** Payload bytes per turn of an account. */
const TURN_BYTES = 1024 * 1024;
/**
 * Length of a pause, as a multiple of the batch before it. It is longer while jobs are delivered, which has priority.
 */
const PAUSE_FACTOR = { delivering: 12, idle: 1 };
const MAX_PAUSE_MS = 5000;
/** A timer may fire early by this much. The database would refuse the next batch, because the pause is not over. */
const TIMER_ERROR_MS = 5;
/** Batches that leave all payloads to their accounts' turns, after a payload has made a batch fail. */
const CAREFUL_ROUNDS = 20;
/** A single payload that fails this often is skipped and stays unsearchable. */
const MAX_FAILURES = 3;

/**
 * Makes new payloads searchable, until none is left or `stop` is called. A payload that makes its batch fail delays
 * only its own account: the position moves on, and the accounts index the payloads that it passed in turns.
 */
export class SearchIndexing {
  readonly #db: Database;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #isDelivering: () => boolean;
  readonly #stopping = new AbortController();
  #pauseMs = 0;
  #carefulRounds = 0;
  /** Jobs in the next turn. */
  #turn = BATCH;
  /** Consecutive failures of a single payload. */
  #failures = 0;

  constructor(db: Database, log: Pick<Logger, 'warn'>, isDelivering: () => boolean) {
    this.#db = db;
    this.#log = log;
    this.#isDelivering = isDelivering;
  }

  async run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const startedAt = performance.now();
      const indexed = (await this.#next()) + (await this.#takeTurn());
      if (indexed === 0) return;
      const factor = this.#isDelivering() ? PAUSE_FACTOR.delivering : PAUSE_FACTOR.idle;
      this.#pauseMs = Math.min((performance.now() - startedAt) * factor, MAX_PAUSE_MS);
      await wait(this.#pauseMs + TIMER_ERROR_MS, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #next(): Promise<number> {
    const parse = this.#carefulRounds === 0;
    if (!parse) this.#carefulRounds -= 1;
    try {
      return await indexPayloads(this.#db, BATCH, this.#pauseMs, parse);
    } catch (error) {
      if (!parse || !isOfBatch(error)) throw error;
      this.#log.warn(
        { err: error },
        'a batch of payloads could not be indexed; the payloads of each account are now indexed separately',
      );
      this.#carefulRounds = CAREFUL_ROUNDS;
      return indexPayloads(this.#db, BATCH, 0, false);
    }
  }

  async #takeTurn(): Promise<number> {
    const giveUp = this.#failures >= MAX_FAILURES;
    const pauseMs = this.#pauseMs;
    try {
      const indexed = await indexWaiting(this.#db, { max: this.#turn, bytes: TURN_BYTES, pauseMs, giveUp });
      if (giveUp) this.#log.warn({}, 'a payload cannot be indexed, so it is not searchable');
      this.#failures = 0;
      this.#turn = Math.min(this.#turn * 2, BATCH);
      return indexed;
    } catch (error) {
      if (!isOfBatch(error)) throw error;
      if (this.#turn === 1) this.#failures += 1;
      this.#turn = 1;
      return 1;
    }
  }
}
