import type { ClockWatch } from '../../db/connection/clock-watch.ts';
import type { Database } from '../../db/connection/database.ts';
import {
  isLastBatch,
  SWEPT_BY_ID,
  SWEPT_BY_TIME,
  type SweepRange,
  type SweptById,
  type SweptByTime,
  sweepById,
  sweepByTime,
  sweepQueues,
  sweepsBelow,
} from '../../db/retention/sweep.ts';
import { inSweepTurn, saveSweepPosition, sweepPosition } from '../../db/retention/sweep-turn.ts';
import type { Periods } from '../../domain/periods.ts';
import type { Logger } from '../../log.ts';

/** So many rows that stay are looked at again in one sweep; a million take fifty sweeps. */
const LOOKED_AT_AGAIN = 20_000;

export type SweptCounts = Record<SweptById | SweptByTime | 'queues', number>;

/**
 * The retention sweep: removes what has ended and is past retention, with all that is about it (docs/decisions/0018).
 * One process sweeps at a time. A sweep works batch by batch and ends between two batches when the process stops or
 * the database's clock is no longer trusted; the next sweep goes on where it was.
 */
export class Sweeper {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #clock: Pick<ClockWatch, 'now'>;
  readonly #periods: Periods;
  readonly #everyMs: number;
  #stopped = false;
  #isAlone = () => true;

  constructor(
    db: Database,
    log: Logger,
    options: { clock: Pick<ClockWatch, 'now'>; periods: Periods; everyMs: number },
  ) {
    this.#db = db;
    this.#log = log;
    this.#clock = options.clock;
    this.#periods = options.periods;
    this.#everyMs = options.everyMs;
  }

  /** No further batch begins. */
  stop(): void {
    this.#stopped = true;
  }

  /** Sweeps, unless another process does so, or did less than the period ago. */
  async run(): Promise<void> {
    if (this.#now() === null) return;
    await inSweepTurn(this.#db, this.#everyMs, async (isAlone) => {
      this.#isAlone = isAlone;
      const startedAt = performance.now();
      const removed = await this.#sweep();
      if (Object.values(removed).every((count) => count === 0)) return;
      this.#log.info({ removed, ms: Math.round(performance.now() - startedAt) }, 'removed what is past retention');
    });
  }

  async #sweep(): Promise<SweptCounts> {
    const removed: SweptCounts = { jobs: 0, documents: 0, queues: 0, statistics: 0, audit: 0, bulkActions: 0 };
    // What one part of it throws keeps no other from being done.
    const parts: [keyof SweptCounts, () => Promise<void>][] = [
      ...SWEPT_BY_ID.map((what) => [what, () => this.#byId(what, removed)] as [SweptById, () => Promise<void>]),
      ['queues', () => this.#queues(removed)],
      ...SWEPT_BY_TIME.map((what) => [what, () => this.#byTime(what, removed)] as [SweptByTime, () => Promise<void>]),
    ];
    for (const [what, sweep] of parts) {
      try {
        await sweep();
      } catch (error) {
        this.#log.warn({ err: error, what }, 'the retention sweep failed, and runs again at its next time');
      }
    }
    return removed;
  }

  /** The time that the next batch goes by; null when there must not be another. */
  #now(): number | null {
    return this.#stopped || !this.#isAlone() ? null : this.#clock.now();
  }

  async #byId(what: SweptById, removed: SweptCounts): Promise<void> {
    const position = await sweepPosition(this.#db, what);
    const now = this.#now();
    if (now === null) return;
    const below = sweepsBelow(now, this.#periods);
    const end = position.front < below ? position.front : below;
    try {
      await this.#through(what, { after: position.front, below }, removed, (last) => {
        position.front = last;
      });
      // What the front passed, up to a bound, and then again from the low end.
      const range = { after: position.again, below: end };
      const isThrough = await this.#through(
        what,
        range,
        removed,
        (last) => {
          position.again = last;
        },
        LOOKED_AT_AGAIN,
      );
      if (isThrough) position.again = '';
    } finally {
      await saveSweepPosition(this.#db, what, position);
    }
  }

  /** Batch after batch; false when it ended before the range did. */
  async #through(
    what: SweptById,
    { after, below }: SweepRange,
    removed: SweptCounts,
    passed: (last: string) => void,
    mayStay = Number.POSITIVE_INFINITY,
  ): Promise<boolean> {
    let from = after;
    let stayed = 0;
    while (from < below) {
      const now = this.#now();
      if (now === null || stayed >= mayStay) return false;
      const batch = await sweepById(this.#db, what, { after: from, below }, now, this.#periods);
      removed[what] += batch.swept;
      stayed += batch.looked - batch.swept;
      if (batch.last !== null) {
        from = batch.last;
        passed(from);
      }
      if (isLastBatch(batch)) break;
    }
    return true;
  }

  async #queues(removed: SweptCounts): Promise<void> {
    let after: string | null = '';
    while (after !== null && this.#now() !== null) {
      const batch = await sweepQueues(this.#db, after);
      removed.queues += batch.swept;
      after = isLastBatch(batch) ? null : batch.last;
    }
  }

  async #byTime(what: SweptByTime, removed: SweptCounts): Promise<void> {
    for (;;) {
      const now = this.#now();
      const count = now === null ? 0 : await sweepByTime(this.#db, what, now, this.#periods);
      if (count === 0) return;
      removed[what] += count;
    }
  }
}
