import pg from 'pg';
import { JobferryError, unavailable } from '../../domain/errors.ts';
import { CANCELLED } from '../connection/connections.ts';
import { ReplicaFailed } from '../connection/replica-failed.ts';

/** Database time that all searches of one request may use together. */
const SEARCH_BUDGET_MS = 2000;

/**
 * The database time that the searches of one request have left. A search of a million jobs may have to read all of
 * them, so the cost of a query is not known before it runs. The server stops it when the budget is used up.
 */
export class SearchBudget {
  #leftMs: number;
  readonly #signal: AbortSignal | undefined;
  #last: Promise<void> = Promise.resolve();

  /** @param signal aborted when the client does not wait for the response any more */
  constructor(signal?: AbortSignal, ms = SEARCH_BUDGET_MS) {
    this.#signal = signal;
    this.#leftMs = ms;
  }

  /** Time left, in milliseconds. */
  get left(): number {
    return Math.max(0, this.#leftMs);
  }

  /**
   * Runs one statement of a search, after the earlier statements of the same request.
   * @param turn waits for the connection that `work` needs; this time is not charged
   * @throws JobferryError `invalid_request` when the budget is used up, `unavailable` when the client has gone
   */
  async spend<T>(work: () => Promise<T>, turn: (work: () => Promise<T>) => Promise<T>): Promise<T> {
    // One statement at a time, so a request holds one connection. The time until its searches' turn is not charged.
    const before = this.#last;
    let done = () => {};
    this.#last = new Promise((resolve) => {
      done = resolve;
    });
    await before;
    try {
      this.#assertLeft();
      return await turn(() => {
        // The client may have gone while this statement waited for its turn.
        this.#assertLeft();
        return this.#charge(work);
      });
    } finally {
      done();
    }
  }

  #assertLeft(): void {
    if (this.#signal?.aborted === true)
      throw unavailable('the client does not wait for this search any more', 'nothing');
    if (this.#leftMs <= 0) throw new SearchTooSlow();
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
      // The statement is repeated on the primary, and the time that the replica took is not the client's.
      if (error instanceof ReplicaFailed) throw error;
      charge();
      // The server stops a statement when the budget is used up.
      if (this.#leftMs <= 0 && isStopped(error)) throw new SearchTooSlow();
      throw error;
    }
  }
}

function isStopped(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === CANCELLED;
}

/** The budget is used up. The search may read too much, or the database may be slow at present. */
export class SearchTooSlow extends JobferryError {
  constructor() {
    super(
      'invalid_request',
      `the searches of this request take more than ${SEARCH_BUDGET_MS / 1000} s: narrow them down by time, queue, state or payload`,
    );
  }
}
