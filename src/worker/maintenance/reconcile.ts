import type { Database } from '../../db/connection/database.ts';
import { eachQueuePage, queuesWithWork } from '../../db/delivery/wake-ups.ts';
import type { ChangeFeed } from '../../live/live.ts';
import type { Deadlines } from './deadlines.ts';
import { endLifetimes } from './recover.ts';

/** Queues whose overdue deadlines are expired at the same time. */
const CHECKS_AT_ONCE = 4;

interface Parts {
  db: Database;
  changes: ChangeFeed;
  wake: (queueId: string) => void;
  deadlines: Pick<Deadlines, 'check'>;
}

/**
 * Finds work of which no wake-up arrived, by polling the tables. Each method is a round of its own, so one that fails
 * or takes long does not delay the others. With very many queues, a round continues where the last one ended.
 */
export class Reconciler {
  readonly #parts: Parts;
  readonly #overdue: OverdueQueues;
  readonly #cursors = { lifetimes: { after: '' }, live: { after: '' }, deleted: { after: '' } };
  #stopped = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#overdue = new OverdueQueues((queueId) => parts.deadlines.check(queueId));
  }

  async endLifetimes(): Promise<void> {
    const { db, changes, wake } = this.#parts;
    for await (const queueIds of eachQueuePage(db, 'live', this.#cursors.lifetimes)) {
      if (this.#stopped) return;
      for (const queueId of await endLifetimes(db, changes, queueIds, () => !this.#stopped)) wake(queueId);
    }
  }

  /** Deleted queues have rounds of their own: there can be many of them, and hardly any has work. */
  async findWork(kind: 'live' | 'deleted'): Promise<void> {
    const { db, wake } = this.#parts;
    for await (const queueIds of eachQueuePage(db, kind, this.#cursors[kind])) {
      if (this.#stopped) return;
      const found = await queuesWithWork(db, queueIds);
      for (const queueId of found.due) wake(queueId);
      for (const queueId of found.overdue) this.#overdue.add(queueId);
    }
  }

  /** Expires the deadlines of a queue that have passed. */
  checkDeadlines(queueId: string): void {
    this.#overdue.add(queueId);
  }

  /** Rounds that are running end soon. */
  stop(): void {
    this.#stopped = true;
    this.#overdue.stop();
  }
}

/**
 * Checks a few overdue queues at a time. A queue with very many overdue jobs occupies one place, and the others go on.
 */
class OverdueQueues {
  readonly #check: (queueId: string) => Promise<void>;
  readonly #waiting = new Set<string>();
  readonly #checking = new Set<string>();

  constructor(check: (queueId: string) => Promise<void>) {
    this.#check = check;
  }

  /** A queue that is being checked is checked once more: the running check may have read before. */
  add(queueId: string): void {
    this.#waiting.add(queueId);
    this.#next();
  }

  stop(): void {
    this.#waiting.clear();
  }

  #next(): void {
    for (const queueId of this.#waiting) {
      if (this.#checking.size >= CHECKS_AT_ONCE) return;
      if (this.#checking.has(queueId)) continue;
      this.#waiting.delete(queueId);
      this.#checking.add(queueId);
      // `check` handles its errors.
      void this.#check(queueId).finally(() => {
        this.#checking.delete(queueId);
        this.#next();
      });
    }
  }
}
