import { JobferryError, unavailable } from '../domain/errors.ts';
import { Rounds } from './rounds.ts';
import { type Room, WaitingList } from './waiting-list.ts';

export interface BatcherOptions<In> {
  maxItems: number;
  /** Bound on the bytes of one flush. */
  maxBytes: number;
  sizeOf(item: In): number;
  /** Bound on all waiting items; further ones are refused, because waiting without a bound only hides an overload. */
  maxWaiting: Room;
  /** Bound on the waiting items of one account. */
  maxWaitingOfOne: Room;
  /**
   * How long an item may wait for its flush. An item that has waited longer is dropped, and surely not written.
   * `busyMs` holds during an overload: items are always waiting although flushes end, so a longer wait would only make
   * every result late. `calmMs` holds otherwise, also while one flush takes longer than `busyMs`: that is a pause of
   * the database, which is worth waiting for.
   */
  patience: { calmMs: number; busyMs: number };
  /** A caller gets "unavailable" after this time, even if a flush with its item is running. */
  deadlineMs: number;
}

interface Entry<In, Out> {
  account: string;
  item: In;
  bytes: number;
  since: number;
  giveUpAt: number;
  isUnderWay: boolean;
  resolve(result: Out): void;
  reject(error: unknown): void;
}

/** If items have been waiting for this long without a break, it is an overload. */
const BUSY_AFTER_MS = 1000;
const CHECK_EVERY_MS = 25;

/**
 * Group commit: items that arrive during a flush are flushed together by the next one. An idle batcher flushes at once,
 * and under load one commit has many items. Accounts take turns.
 */
export class Batcher<In, Out> {
  readonly #flush: (items: In[]) => Promise<Out[]>;
  readonly #options: BatcherOptions<In>;
  readonly #waiting: WaitingList<Entry<In, Out>>;
  readonly #rounds = new Rounds(
    () => this.#waiting.count > 0,
    () => this.#flushNext(),
  );
  #inFlight: Entry<In, Out>[] = [];
  /**
   * Whether an item with a shorter time than usual may be waiting: its time may end before that of the items in front
   * of it.
   */
  #hasShort = false;
  /** When no item was waiting for the last time, or when a pause of the database ended. */
  #emptyAt = 0;
  /** When the running flush began. */
  #flushedFrom = 0;
  /** One timer for all items: one per item would cost more than the rest of the batcher. */
  #timer: NodeJS.Timeout | null = null;

  constructor(flush: (items: In[]) => Promise<Out[]>, options: BatcherOptions<In>) {
    this.#flush = flush;
    this.#options = options;
    this.#waiting = new WaitingList(options.maxWaiting, options.maxWaitingOfOne);
  }

  /** @throws JobferryError `unavailable` when too many items are waiting, or the item's time is over */
  add(account: string, item: In, deadlineMs = this.#options.deadlineMs): Promise<Out> {
    const since = performance.now();
    if (this.#waiting.count === 0) this.#emptyAt = since;
    return new Promise<Out>((resolve, reject) => {
      const bytes = this.#options.sizeOf(item);
      const giveUpAt = since + deadlineMs;
      const entry = { account, item, bytes, since, giveUpAt, isUnderWay: false, resolve, reject };
      if (deadlineMs < this.#options.deadlineMs) this.#hasShort = true;
      this.#waiting.add(entry)?.reject(unavailable('too many requests are waiting', 'nothing'));
      this.#timer ??= setTimeout(() => this.#rejectLate(), CHECK_EVERY_MS);
      this.#rounds.begin();
    });
  }

  async #flushNext(): Promise<void> {
    this.#dropLate();
    const batch = this.#withoutLate(this.#waiting.take(this.#options.maxItems, this.#options.maxBytes));
    if (this.#waiting.count === 0) this.#emptyAt = performance.now();
    if (batch.length === 0) return;
    this.#inFlight = batch;
    this.#flushedFrom = performance.now();
    await this.#flushBatch(batch);
    if (this.#isPaused) this.#emptyAt = performance.now();
    this.#inFlight = [];
  }

  async #flushBatch(batch: Entry<In, Out>[]): Promise<void> {
    for (const entry of batch) entry.isUnderWay = true;
    try {
      const results = await this.#flush(batch.map(({ item }) => item));
      for (const [index, entry] of batch.entries()) {
        const result = results[index];
        if (result === undefined) entry.reject(new Error('a flush returned fewer results than it got items'));
        else entry.resolve(result);
      }
    } catch (error) {
      const poisoned = !(error instanceof JobferryError) && batch.length > 1;
      if (poisoned) await this.#flushEach(batch);
      else for (const entry of batch) entry.reject(error);
    }
  }

  /** Flushes each item alone: one item that the database refuses must not fail the others. */
  async #flushEach(batch: Entry<In, Out>[]): Promise<void> {
    // The common flush was rolled back.
    for (const entry of batch) entry.isUnderWay = false;
    for (const entry of batch) {
      if (performance.now() < entry.giveUpAt) await this.#flushBatch([entry]);
      else entry.reject(tooLate());
    }
  }

  /** Returns the entries of a batch whose time is not over, and rejects the others. */
  #withoutLate(batch: Entry<In, Out>[]): Entry<In, Out>[] {
    if (!this.#hasShort) return batch;
    const now = performance.now();
    for (const { giveUpAt, reject } of batch) if (now >= giveUpAt) reject(tooLate());
    return batch.filter(({ giveUpAt }) => now < giveUpAt);
  }

  /** Rejects items that wait behind others whose time ends later. They stay in their places until they are taken. */
  #rejectShort(now: number): void {
    if (!this.#hasShort) return;
    this.#hasShort = false;
    this.#waiting.forEach(({ since, giveUpAt, reject }) => {
      if (giveUpAt - since >= this.#options.deadlineMs) return;
      this.#hasShort = true;
      if (now >= giveUpAt) reject(tooLate());
    });
  }

  /** Rejects the items whose time is over, waiting or in the running flush. */
  #rejectLate(): void {
    this.#dropLate();
    const now = performance.now();
    this.#rejectShort(now);
    for (const entry of this.#inFlight) {
      if (now < entry.giveUpAt) continue;
      if (entry.isUnderWay) entry.reject(unavailable('the database did not answer in time', 'unknown'));
      else entry.reject(tooLate());
    }
    const isIdle = this.#waiting.count === 0 && this.#inFlight.length === 0;
    this.#timer = isIdle ? null : setTimeout(() => this.#rejectLate(), CHECK_EVERY_MS);
  }

  get #isPaused(): boolean {
    return this.#inFlight.length > 0 && performance.now() - this.#flushedFrom > this.#options.patience.busyMs;
  }

  #dropLate(): void {
    const now = performance.now();
    const { calmMs, busyMs } = this.#options.patience;
    const patience = now - this.#emptyAt > BUSY_AFTER_MS && !this.#isPaused ? busyMs : calmMs;
    const late = this.#waiting.removeWhile(({ since, giveUpAt }) => now - since > patience || now >= giveUpAt);
    for (const entry of late) entry.reject(tooLate());
  }
}

function tooLate(): JobferryError {
  return unavailable('the request waited too long for the database', 'nothing');
}
