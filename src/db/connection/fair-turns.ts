import { unavailable } from '../../domain/errors.ts';

interface TurnBounds {
  /** How many run at once, of all and of one account. */
  atOnce: number;
  atOnceOfOne: number;
  /** How many wait, of all and of one account. */
  waiting: number;
  waitingOfOne: number;
  /** What has waited longer is refused. */
  maxWaitMs: number;
  /** After one that took longer its account gets one at once for as long: several would take all processors. */
  slowMs?: number;
}

/** So many are remembered as slow. */
const MAX_SLOW = 10_000;

interface Turn {
  start(): void;
}

/** Lets accounts do something in turn: each has its share, and none waits for all that another has asked for. */
export class FairTurns {
  readonly #bounds: TurnBounds;
  /** In the order in which the accounts are served. */
  readonly #lines = new Map<string, Set<Turn>>();
  readonly #running = new Map<string, number>();
  /** Accounts of which one took long, and until when that counts. */
  readonly #slow = new Map<string, number>();
  readonly #now: () => number;
  #runningInAll = 0;
  #waitingInAll = 0;

  constructor(bounds: TurnBounds, now = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /** @throws JobferryError `unavailable` when too many wait, or it had to wait for too long */
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
    const { slowMs = Number.POSITIVE_INFINITY } = this.#bounds;
    if (tookMs <= slowMs) return;
    if (this.#slow.size >= MAX_SLOW) this.#slow.clear();
    this.#slow.set(account, this.#now() + tookMs);
  }

  #mayRun(account: string): boolean {
    const { atOnce, atOnceOfOne } = this.#bounds;
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
    // An account may have got two again meanwhile.
    while (this.#startNext());
  }

  #startNext(): boolean {
    for (const [next, line] of this.#lines) {
      if (!this.#mayRun(next)) continue;
      const [turn] = line;
      this.#leave(next, turn);
      // To the end.
      if (line.size > 0 && this.#lines.delete(next)) this.#lines.set(next, line);
      this.#begin(next);
      turn?.start();
      return true;
    }
    return false;
  }

  #turn(account: string): Promise<void> {
    const { waiting, waitingOfOne, maxWaitMs } = this.#bounds;
    const line = this.#lines.get(account) ?? new Set();
    if (this.#waitingInAll >= waiting || line.size >= waitingOfOne) {
      return Promise.reject(unavailable('too many requests are waiting', 'nothing'));
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#leave(account, turn);
        reject(unavailable('it had to wait for the database for too long', 'nothing'));
      }, maxWaitMs);
      const turn: Turn = {
        start() {
          clearTimeout(timer);
          resolve();
        },
      };
      line.add(turn);
      this.#lines.set(account, line);
      this.#waitingInAll += 1;
    });
  }

  #leave(account: string, turn: Turn | undefined): void {
    const line = this.#lines.get(account);
    if (line === undefined || turn === undefined || !line.delete(turn)) return;
    this.#waitingInAll -= 1;
    if (line.size === 0) this.#lines.delete(account);
  }
}
