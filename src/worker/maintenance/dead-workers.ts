import type { Database } from '../../db/connection/database.ts';
import { forgetConfirmations, notifyDead } from '../../db/delivery/lease-locks.ts';
import type { ChangeFeed } from '../../live/live.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Liveness } from '../lease/liveness.ts';
import { LockWatch } from '../lease/lock-watch.ts';
import { takeBack } from './recover.ts';

interface Parts {
  db: Database;
  log: Logger;
  liveness: Pick<Liveness, 'workerId' | 'recoveringUntil' | 'wasNotSeen'>;
  changes: ChangeFeed;
  wake: (queueId: string) => void;
  /** See `MaintenanceParts`. */
  isResting: () => boolean;
}

/** Takes back the claims of workers that died. */
export class DeadWorkers {
  readonly #parts: Parts;
  readonly #watch: LockWatch;
  #stopped = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { db, liveness } = parts;
    this.#watch = new LockWatch(db, liveness.workerId, () => liveness.recoveringUntil);
  }

  /** Milliseconds until the next round; shorter while the lock of a worker is missing. */
  get nextMs(): number {
    return this.#watch.nextMs(this.#parts.isResting());
  }

  async round(): Promise<void> {
    const { db, log, liveness, changes, wake } = this.#parts;
    const sentAt = performance.now();
    const { seen, dead } = await this.#watch.poll();
    if (!seen) liveness.wasNotSeen(sentAt);
    if (dead.length === 0) return;
    const queues = await takeBack(db, dead, liveness.workerId, changes, () => !this.#stopped);
    // Most workers were stopped in order, and have no claims left.
    if (queues.size > 0) {
      log.warn({ workers: dead, queues: queues.size }, 'took back the claims of dead workers');
      for (const queueId of queues) wake(queueId);
      await notifyDead(db, dead);
    }
    // The next worker goes on.
    if (this.#stopped) return;
    // Last: if this fails, the jobs are delivered again all the same, and the next round forgets.
    await forgetConfirmations(db, dead);
    for (const id of dead) this.#watch.forget(id);
  }

  /** Starts no further batch. */
  stop(): void {
    this.#stopped = true;
  }
}
