import { unavailable } from '../../domain/errors.ts';

interface TurnBounds {
  /** Limit of running operations. */
  atOnce: number;
  /** Limit of running operations per account. */
  atOnceOfOne: number;
  /** Limit of waiting operations. */
  waiting: number;
  /** Limit of waiting operations per account. */
  waitingOfOne: number;
  /** An operation that has waited longer is refused. */
  maxWaitMs: number;
  /**
   * After a slower operation, its account may run only one at a time for the same duration: more would use all CPUs.
   */
  slowMs?: number;
}

/** Accounts that are remembered as slow. */
const MAX_SLOW = 10_000;

interface Turn {
  start(): void;
}

/**
 * Runs operations of accounts in turns. Each account has a limit, so none waits for all operations of another account.
 */
export class FairTurns {
  readonly bounds: Readonly<TurnBounds>;
  /** Waiting operations by account, in the order of the accounts' turns. */
  readonly #waiting = new Map<string, Set<Turn>>();
  readonly #running = new Map<string, number>();
  /** Accounts with a slow operation, and until when they count as slow. */
  readonly #slow = new Map<string, number>();
  readonly #now: () => number;
  #runningInAll = 0;
  #waitingInAll = 0;

  constructor(bounds: TurnBounds, now = () => performance.now()) {
    this.bounds = bounds;
    this.#now = now;
  }

  /** @throws JobferryError `unavailable` when too many operations are waiting, or this one has waited for too long */
  async run<T>(account: string, work: () => Promise<T>): Promise<T> {
    if (!this.#mayRun(account)) await this.#turn(account);
    else this.#begin(account);
    const startedAt = this.#now();
    try {
      return await work();
    } finally {
      this.#remember(account, this.#now() - startedAt);
      this.#end(account);
    }
  }

  #remember(account: string, tookMs: number): void {
    const { slowMs = Number.POSITIVE_INFINITY } = this.bounds;
    if (tookMs <= slowMs) return;
    if (this.#slow.size >= MAX_SLOW) this.#slow.clear();
    this.#slow.set(account, this.#now() + tookMs);
  }

  #mayRun(account: string): boolean {
    const { atOnce, atOnceOfOne } = this.bounds;
    const most = (this.#slow.get(account) ?? 0) > this.#now() ? 1 : atOnceOfOne;
    return this.#runningInAll < atOnce && (this.#running.get(account) ?? 0) < most;
  }

  #begin(account: string): void {
    this.#running.set(account, (this.#running.get(account) ?? 0) + 1);
    this.#runningInAll += 1;
  }

  #end(account: string): void {
    const left = (this.#running.get(account) ?? 1) - 1;
    if (left === 0) this.#running.delete(account);
    else this.#running.set(account, left);
    this.#runningInAll -= 1;
    // More than one may start: an account that was slow may have its usual limit again.
    while (this.#startNext());
  }

  #startNext(): boolean {
    for (const [next, turns] of this.#waiting) {
      if (!this.#mayRun(next)) continue;
      const [turn] = turns;
      this.#leave(next, turn);
      // The account goes behind the others.
      if (turns.size > 0 && this.#waiting.delete(next)) this.#waiting.set(next, turns);
      this.#begin(next);
      turn?.start();
      return true;
    }
    return false;
  }

  #turn(account: string): Promise<void> {
    const { waiting, waitingOfOne, maxWaitMs } = this.bounds;
    const turns = this.#waiting.get(account) ?? new Set();
    if (this.#waitingInAll >= waiting || turns.size >= waitingOfOne) {
      return Promise.reject(unavailable('too many requests are waiting', 'nothing'));
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#leave(account, turn);
        reject(unavailable('the request had to wait for the database for too long', 'nothing'));
      }, maxWaitMs);
      const turn: Turn = {
        start() {
          clearTimeout(timer);
          resolve();
        },
      };
      turns.add(turn);
      this.#waiting.set(account, turns);
      this.#waitingInAll += 1;
    });
  }

  #leave(account: string, turn: Turn | undefined): void {
    const turns = this.#waiting.get(account);
    if (turns === undefined || turn === undefined || !turns.delete(turn)) return;
    this.#waitingInAll -= 1;
    if (turns.size === 0) this.#waiting.delete(account);
  }
}
