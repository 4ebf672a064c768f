import { JobferryError, unavailable } from '../domain/errors.ts';
import { Rounds } from './rounds.ts';
import { type Room, WaitingLines } from './waiting-lines.ts';

export interface BatcherOptions<In> {
  maxItems: number;
  /** Bound on what one statement carries. */
  maxBytes: number;
  sizeOf(item: In): number;
  /** Above this, callers are turned away: a queue without a bound only hides an overload. */
  maxWaiting: Room;
  /** The same for what one account has in the queue. */
  maxWaitingOfOne: Room;
  /**
   * How long an item may wait to be flushed. What has waited longer is dropped, and surely not written. A flush that takes
   * longer than `busyMs` is a pause of the database, which is waited out; a queue that never gets empty although flushes
   * end has more work than can be done, and waiting only makes every answer late.
   */
  patience: { calmMs: number; busyMs: number };
  /** A caller hears "unavailable" after this time, whatever becomes of a flush that is under way. */
  deadlineMs: number;
}

interface Entry<In, Out> {
  account: string;
  item: In;
  bytes: number;
  since: number;
  giveUpAt: number;
  isUnderWay: boolean;
  resolve(answer: Out): void;
  reject(error: unknown): void;
}

/** A queue that was not empty for so long is an overloaded one. */
const BUSY_AFTER_MS = 1000;
const LOOK_EVERY_MS = 25;

/**
 * Group commit: what arrives while a flush is under way rides the next one. Nothing waits when
 * idle, and under load one commit carries many items. Accounts take turns.
 */
export class Batcher<In, Out> {
  readonly #flush: (items: In[]) => Promise<Out[]>;
  readonly #options: BatcherOptions<In>;
  readonly #lines: WaitingLines<Entry<In, Out>>;
  readonly #rounds = new Rounds(
    () => this.#lines.count > 0,
    () => this.#flushNext(),
  );
  #underWay: Entry<In, Out>[] = [];
  /** When the queue was last seen empty, or a pause of the database ended. */
  #emptyAt = 0;
  /** When the flush under way began. */
  #flushedFrom = 0;
  /** One for all: a timer for each item would cost more than the rest of this. */
  #timer: NodeJS.Timeout | null = null;

  constructor(flush: (items: In[]) => Promise<Out[]>, options: BatcherOptions<In>) {
    this.#flush = flush;
    this.#options = options;
    this.#lines = new WaitingLines(options.maxWaiting, options.maxWaitingOfOne);
  }

  /** @throws JobferryError `unavailable` when too much waits, or the item's time has passed */
  add(account: string, item: In, deadlineMs = this.#options.deadlineMs): Promise<Out> {
    const since = performance.now();
    if (this.#lines.count === 0) this.#emptyAt = since;
    return new Promise<Out>((resolve, reject) => {
      const bytes = this.#options.sizeOf(item);
      const giveUpAt = since + deadlineMs;
      const entry = { account, item, bytes, since, giveUpAt, isUnderWay: false, resolve, reject };
      this.#lines.add(entry)?.reject(unavailable('too many requests are waiting', 'nothing'));
      this.#timer ??= setTimeout(() => this.#look(), LOOK_EVERY_MS);
      this.#rounds.begin();
    });
  }

  async #flushNext(): Promise<void> {
    this.#dropLate();
    const batch = this.#lines.take(this.#options.maxItems, this.#options.maxBytes);
    if (this.#lines.count === 0) this.#emptyAt = performance.now();
    if (batch.length === 0) return;
    this.#underWay = batch;
    this.#flushedFrom = performance.now();
    await this.#flushBatch(batch);
    if (this.#isPaused) this.#emptyAt = performance.now();
    this.#underWay = [];
  }

  async #flushBatch(batch: Entry<In, Out>[]): Promise<void> {
    for (const entry of batch) entry.isUnderWay = true;
    try {
      const answers = await this.#flush(batch.map(({ item }) => item));
      for (const [index, entry] of batch.entries()) {
        const answer = answers[index];
        if (answer === undefined) entry.reject(new Error('a batch was answered in part'));
        else entry.resolve(answer);
      }
    } catch (error) {
      const poisoned = !(error instanceof JobferryError) && batch.length > 1;
      if (poisoned) await this.#flushEach(batch);
      else for (const entry of batch) entry.reject(error);
    }
  }

  /** One item that the database cannot take must not fail its neighbours. */
  async #flushEach(batch: Entry<In, Out>[]): Promise<void> {
    // Together they were rolled back.
    for (const entry of batch) entry.isUnderWay = false;
    for (const entry of batch) {
      if (performance.now() < entry.giveUpAt) await this.#flushBatch([entry]);
      else entry.reject(tooLate());
    }
  }

  /** Answers those whose time is over. */
  #look(): void {
    this.#dropLate();
    const now = performance.now();
    for (const entry of this.#underWay) {
      if (now < entry.giveUpAt) continue;
      if (entry.isUnderWay) entry.reject(unavailable('the database did not answer in time', 'unknown'));
      else entry.reject(tooLate());
    }
    const isIdle = this.#lines.count === 0 && this.#underWay.length === 0;
    this.#timer = isIdle ? null : setTimeout(() => this.#look(), LOOK_EVERY_MS);
  }

  get #isPaused(): boolean {
    return this.#underWay.length > 0 && performance.now() - this.#flushedFrom > this.#options.patience.busyMs;
  }

  #dropLate(): void {
    const now = performance.now();
    const { calmMs, busyMs } = this.#options.patience;
    const patience = now - this.#emptyAt > BUSY_AFTER_MS && !this.#isPaused ? busyMs : calmMs;
    const late = this.#lines.removeWhile(({ since, giveUpAt }) => now - since > patience || now >= giveUpAt);
    for (const entry of late) entry.reject(tooLate());
  }
}

function tooLate(): JobferryError {
  return unavailable('it had to wait for the database for too long', 'nothing');
}
