import type { Database } from '../../db/connection/database.ts';
import type { ClaimedJob } from '../../db/delivery/claim.ts';
import type { ChangeFeed } from '../../live/live.ts';
import type { Logger } from '../../telemetry/log.ts';
import { returnStrays } from '../maintenance/recover.ts';

/**
 * When claims of a lost connection are looked for, in milliseconds after it was lost: soon, and once more when no
 * statement of the API can run any longer. While publishes keep failing in an outage, that is one look in 1.5 s.
 */
const LOOKS_MS = { soon: 1500, last: 6000 };

interface Options {
  db: Database;
  log: Logger;
  changes: ChangeFeed;
  workerId: number;
  leaseMs: number;
  /** Ids of the jobs that this process delivers. */
  ids: () => ReadonlySet<string>;
  wake: (queueId: string) => void;
}

/**
 * Gives back claims for this worker that did not arrive: the API was killed or cut off between the commit and the
 * message. Without this they would wait until their leases end.
 */
export class Strays {
  readonly #options: Options;
  /** Claims that were given back, and until when (`performance.now()`) their jobs may still arrive. */
  readonly #returned = new Map<string, number>();
  #soon: NodeJS.Timeout | null = null;
  #last: NodeJS.Timeout | null = null;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Call when a connection was lost, or a publish has failed that may have claimed. */
  expect(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = null;
      void this.look();
    }, LOOKS_MS.soon);
    if (this.#last !== null) clearTimeout(this.#last);
    this.#last = setTimeout(() => {
      this.#last = null;
      void this.look();
    }, LOOKS_MS.last);
  }

  /** Call when the process stops: looks now for what is expected, and not later. */
  async stop(): Promise<void> {
    const isExpecting = this.#last !== null;
    for (const timer of [this.#soon, this.#last]) if (timer !== null) clearTimeout(timer);
    this.#soon = null;
    this.#last = null;
    if (isExpecting) await this.look();
  }

  /** Whether the claim of a job that has just arrived was given back: another worker may deliver it now. */
  wasReturned({ id, token }: Pick<ClaimedJob, 'id' | 'token'>): boolean {
    return this.#returned.size > 0 && this.#returned.has(`${id} ${token}`);
  }

  async look(): Promise<void> {
    const { db, log, changes, workerId, leaseMs, ids, wake } = this.#options;
    const now = performance.now();
    for (const [claim, until] of this.#returned) if (until < now) this.#returned.delete(claim);
    try {
      const take = ({ id, token }: Pick<ClaimedJob, 'id' | 'token'>) => {
        if (ids().has(id)) return false;
        this.#returned.set(`${id} ${token}`, performance.now() + leaseMs);
        return true;
      };
      const queues = await returnStrays(db, workerId, ids().size, take, changes);
      if (queues.size > 0) log.warn({ queues: [...queues] }, 'claims that did not arrive were given back');
      for (const queueId of queues) wake(queueId);
    } catch (error) {
      log.warn({ err: error }, 'claims that did not arrive could not be given back; their leases end');
    }
  }
}
