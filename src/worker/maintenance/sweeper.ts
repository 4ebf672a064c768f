import type { ClockWatch } from '../../db/connection/clock-watch.ts';
import type { Database } from '../../db/connection/database.ts';
import { addQueueUsage } from '../../db/insight/queue-usage.ts';
import { checkBookmark, queuesWithBookmarks } from '../../db/retention/bookmarks.ts';
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
import type { ReleaseWatch } from '../../services/server/release-watch.ts';
import { counts } from '../../telemetry/counts/counts.ts';
import type { Logger } from '../../telemetry/log.ts';

/**
 * Interval of the check of bookmarks. They are wrong only after a manual transaction or a clock that was set back, and
 * the check is expensive while a snapshot is held.
 */
const BOOKMARKS_EVERY_MS = 600_000;
/** Queues of which one sweep checks the bookmarks. */
const MAX_BOOKMARKS = 1000;
/** Rows per sweep that are checked again and stay. A million such rows take fifty sweeps. */
const MAX_RECHECKED = 20_000;

type SweptCounts = Record<SweptById | SweptByTime | 'queues', number>;

/**
 * The retention sweep removes rows that have ended and are past retention, and the rows that depend on them
 * (docs/decisions/0018). One process sweeps at a time. A sweep works in batches. It ends between two batches when the
 * process stops, the database's clock is no longer trusted, or a later release has migrated the database, whose
 * processes know all that depends on a row. The next sweep continues there.
 */
export class Sweeper {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #clock: Pick<ClockWatch, 'now'>;
  readonly #release: Pick<ReleaseWatch, 'knowsAll'>;
  readonly #periods: Periods;
  readonly #everyMs: number;
  #stopped = false;
  #isRequested = false;
  #isAlone = () => true;
  #bookmarksAt = Number.NEGATIVE_INFINITY;
  /** Id of a queue; empty when all have been checked. */
  #checkedUntil = '';

  constructor(
    db: Database,
    log: Logger,
    options: {
      clock: Pick<ClockWatch, 'now'>;
      release: Pick<ReleaseWatch, 'knowsAll'>;
      periods: Periods;
      everyMs: number;
    },
  ) {
    this.#db = db;
    this.#log = log;
    this.#clock = options.clock;
    this.#release = options.release;
    this.#periods = options.periods;
    this.#everyMs = options.everyMs;
  }

  /** Starts no further batch. */
  stop(): void {
    this.#stopped = true;
  }

  /** The next run sweeps even if a sweep ended less than the period ago. */
  request(): void {
    this.#isRequested = true;
  }

  /** Sweeps, unless another process is sweeping, or a sweep ended less than the period ago. */
  async run(): Promise<void> {
    const everyMs = this.#isRequested ? 0 : this.#everyMs;
    this.#isRequested = false;
    if (this.#now() === null) return;
    await inSweepTurn(this.#db, everyMs, async (isAlone) => {
      this.#isAlone = isAlone;
      const startedAt = performance.now();
      const removed = await this.#sweep();
      for (const [what, count] of Object.entries(removed)) counts.removed.add(what, count);
      if (Object.values(removed).every((count) => count === 0)) return;
      this.#log.info({ removed, ms: Math.round(performance.now() - startedAt) }, 'removed rows past retention');
    });
  }

  async #sweep(): Promise<SweptCounts> {
    const removed: SweptCounts = {
      jobs: 0,
      documents: 0,
      queues: 0,
      statistics: 0,
      audit: 0,
      bulkActions: 0,
      sessions: 0,
      alerts: 0,
    };
    // An error in one part does not stop the others.
    const parts: [keyof SweptCounts | 'bookmarks', () => Promise<void>][] = [
      ...SWEPT_BY_ID.map((what) => [what, () => this.#byId(what, removed)] as [SweptById, () => Promise<void>]),
      ['queues', () => this.#queues(removed)],
      ['bookmarks', () => this.#bookmarks()],
      ['statistics', () => this.#addUsage()],
      ...SWEPT_BY_TIME.map((what) => [what, () => this.#byTime(what, removed)] as [SweptByTime, () => Promise<void>]),
    ];
    for (const [what, sweep] of parts) {
      try {
        await sweep();
      } catch (error) {
        this.#log.warn({ err: error, what }, 'the retention sweep failed in one part; the next sweep tries it again');
      }
    }
    return removed;
  }

  /** @returns the database time for the next batch, in milliseconds; null when no further batch may start */
  #now(): number | null {
    return this.#stopped || !this.#isAlone() || !this.#release.knowsAll ? null : this.#clock.now();
  }

  async #byId(what: SweptById, removed: SweptCounts): Promise<void> {
    const position = await sweepPosition(this.#db, what);
    const now = this.#now();
    if (now === null) return;
    const below = sweepsBelow(now, this.#periods);
    // With the row at the front, which may be the newest one for ever:
    // a longer text follows it, and precedes every later id.
    const end = position.front < below ? `${position.front}0` : below;
    try {
      await this.#through(what, { after: position.front, below }, removed, (last) => {
        position.front = last;
      });
      // Checks again the rows that the front has passed, up to a limit, and then starts again at the lowest id.
      const range = { after: position.again, below: end };
      const isThrough = await this.#through(
        what,
        range,
        removed,
        (last) => {
          position.again = last;
        },
        MAX_RECHECKED,
      );
      if (isThrough) position.again = '';
    } finally {
      await saveSweepPosition(this.#db, what, position);
    }
  }

  /** Sweeps a range batch by batch. @returns false when it stopped before the end of the range */
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

  /** Checks the bookmarks of the next queues, each on its own: while a snapshot is held, one may take too long. */
  async #bookmarks(): Promise<void> {
    if (this.#checkedUntil === '' && performance.now() - this.#bookmarksAt < BOOKMARKS_EVERY_MS) return;
    if (this.#checkedUntil === '') this.#bookmarksAt = performance.now();
    const queueIds = await queuesWithBookmarks(this.#db, this.#checkedUntil, MAX_BOOKMARKS);
    this.#checkedUntil = queueIds.length < MAX_BOOKMARKS ? '' : (queueIds.at(-1) ?? '');
    for (const queueId of queueIds) {
      if (this.#now() === null) return;
      try {
        if (await checkBookmark(this.#db, queueId))
          this.#log.warn({ queueId }, 'claims skipped jobs of a queue until now: its bookmark was wrong');
      } catch (error) {
        this.#log.warn(
          { err: error, queueId },
          'the bookmark of a queue could not be checked; it is tried again in ten minutes',
        );
      }
    }
  }

  async #queues(removed: SweptCounts): Promise<void> {
    let after: string | null = '';
    while (after !== null && this.#now() !== null) {
      const batch = await sweepQueues(this.#db, after);
      removed.queues += batch.swept;
      after = isLastBatch(batch) ? null : batch.last;
    }
  }

  /** Adds the statistics to the usage by queue and month, before they are removed. */
  async #addUsage(): Promise<void> {
    while (this.#now() !== null && (await addQueueUsage(this.#db, this.#periods.retentionMs)));
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
