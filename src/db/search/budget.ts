import pg from 'pg';
import { JobferryError, unavailable } from '../../domain/errors.ts';
import { CANCELLED } from '../connection/connections.ts';

/** For how long the searches of one request may keep the database busy, all together. */
const SEARCH_BUDGET_MS = 2000;

/**
 * What the searches of one request have left of the database. A search of a million jobs may have to look at all of
 * them, so what a query costs is not known before it runs: it is stopped when it has cost enough.
 */
export class SearchBudget {
  #leftMs: number;
  readonly #signal: AbortSignal | undefined;
  #last: Promise<void> = Promise.resolve();

  /** @param signal aborted when nobody waits for the answers any more */
  constructor(signal?: AbortSignal, ms = SEARCH_BUDGET_MS) {
    this.#signal = signal;
    this.#leftMs = ms;
  }

  /** Milliseconds. */
  get left(): number {
    return Math.max(0, this.#leftMs);
  }

  /**
   * Runs one statement of a search, after those of the same request that were asked for before it.
   * @param turn waits for the connection that `work` needs; this is not charged
   * @throws JobferryError `invalid_request` when nothing is left, `unavailable` when nobody waits
   */
  async spend<T>(work: () => Promise<T>, turn: (work: () => Promise<T>) => Promise<T>): Promise<T> {
    // A request holds one connection, and what its searches wait for each other costs nothing.
    const before = this.#last;
    let done = () => {};
    this.#last = new Promise((resolve) => {
      done = resolve;
    });
    await before;
    try {
      this.#assertLeft();
      return await turn(() => {
        // The client may have gone, while this waited for its turn.
        this.#assertLeft();
        return this.#charge(work);
      });
    } finally {
      done();
    }
  }

  #assertLeft(): void {
    if (this.#signal?.aborted === true) throw unavailable('nobody waits for this search any more', 'nothing');
    if (this.#leftMs <= 0) throw tooBroad();
  }

  async #charge<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const charge = () => {
      this.#leftMs -= performance.now() - startedAt;
    };
    try {
      const result = await work();
      charge();
      return result;
    } catch (error) {
      charge();
      // The server stops a statement when the budget is used up.
      if (this.#leftMs <= 0 && isStopped(error)) throw tooBroad();
      throw error;
    }
  }
}

function isStopped(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === CANCELLED;
}

function tooBroad(): JobferryError {
  return new JobferryError(
    'invalid_request',
    `the searches of this request take more than ${SEARCH_BUDGET_MS / 1000} s: narrow them down by time, queue, state or payload`,
  );
}
