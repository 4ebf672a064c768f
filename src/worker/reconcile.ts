import type { Database } from '../db/database.ts';
import { eachQueuePage, queuesWithWork } from '../db/wake-ups.ts';
import type { Logger } from '../log.ts';
import type { ChangeFeed } from '../services/live.ts';
import { endLifetimes } from '../services/recover.ts';
import type { BulkActions } from './bulk-actions.ts';
import type { Deadlines } from './deadlines.ts';
import { repeat } from './repeat.ts';

/** How long a lost wake-up can cost (I-36). */
const RECONCILE_MS = 5000;
/** Queues whose overdue deadlines are looked after at a time. */
const CHECKS_AT_ONCE = 4;

interface Parts {
  db: Database;
  log: Logger;
  changes: ChangeFeed;
  wake: (queueId: string) => void;
  deadlines: Pick<Deadlines, 'check'>;
  bulkActions: Pick<BulkActions, 'takeIdle'>;
}

/**
 * Finds what no wake-up told: reads the tables again and again. Each kind of work has a round of its own, so one
 * that fails or takes long keeps no other waiting. The function that it returns stops them, and resolves when none uses
 * the database any more.
 */
export function startReconciling({ db, log, changes, wake, deadlines, bulkActions }: Parts): () => Promise<void> {
  const overdue = new OverdueQueues((queueId) => deadlines.check(queueId));
  let stopped = false;
  const ofLifetimes = { after: '' };
  const ofWork = { after: '' };
  const ofTombstones = { after: '' };
  const lookForWork = async (kind: 'live' | 'deleted', cursor: { after: string }) => {
    for await (const queueIds of eachQueuePage(db, kind, cursor)) {
      if (stopped) return;
      const found = await queuesWithWork(db, queueIds);
      for (const queueId of found.due) wake(queueId);
      for (const queueId of found.overdue) overdue.add(queueId);
    }
  };
  const stops = [
    repeat(RECONCILE_MS, log, 'ending lifetimes', async () => {
      for await (const queueIds of eachQueuePage(db, 'live', ofLifetimes)) {
        if (stopped) return;
        for (const queueId of await endLifetimes(db, changes, queueIds, () => !stopped)) wake(queueId);
      }
    }),
    repeat(RECONCILE_MS, log, 'looking for queues with work', () => lookForWork('live', ofWork)),
    // Apart, because there can be many of them, and hardly one has anything to do.
    repeat(RECONCILE_MS, log, 'looking for deleted queues with jobs', () => lookForWork('deleted', ofTombstones)),
    repeat(RECONCILE_MS, log, 'looking for idle bulk actions', () => bulkActions.takeIdle()),
  ];
  return async () => {
    stopped = true;
    overdue.stop();
    await Promise.all(stops.map((stop) => stop()));
  };
}

/** Checks overdue queues a few at a time: one that has very much to check delays the others only by its place. */
class OverdueQueues {
  readonly #check: (queueId: string) => Promise<void>;
  readonly #waiting = new Set<string>();
  readonly #checking = new Set<string>();

  constructor(check: (queueId: string) => Promise<void>) {
    this.#check = check;
  }

  add(queueId: string): void {
    if (this.#checking.has(queueId)) return;
    this.#waiting.add(queueId);
    this.#next();
  }

  stop(): void {
    this.#waiting.clear();
  }

  #next(): void {
    for (const queueId of this.#waiting) {
      if (this.#checking.size >= CHECKS_AT_ONCE) return;
      this.#waiting.delete(queueId);
      this.#checking.add(queueId);
      // It handles its errors.
      void this.#check(queueId).finally(() => {
        this.#checking.delete(queueId);
        this.#next();
      });
    }
  }
}
