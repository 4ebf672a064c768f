import type { Database } from '../../db/connection/database.ts';
import type { NewClaim } from '../../db/delivery/claim-new.ts';
import { linksOfWorkers } from '../../db/insight/links.ts';
import { type Repeated, repeat } from '../../pacing/repeat.ts';
import type { NewJobClaims, NewJobsOfQueue, Reservation } from '../../services/context.ts';
import { counts } from '../../telemetry/counts/counts.ts';
import type { Logger } from '../../telemetry/log.ts';
import { DueBound } from '../dispatch/queue-state.ts';
import { type Moment, thisMoment } from '../moment.ts';
import { LinkClient } from './client.ts';
import { type LinkAddress, PROTOCOL } from './messages.ts';

/** How soon a worker that has started is known: while jobs are published, and otherwise. */
const LOOK_MS = { busy: 2000, idle: 10_000 };
/** Queues whose claims are remembered. */
const MAX_QUEUES = 10_000;
/** How long a queue of which nothing could be claimed is left to its worker: it may have a backlog. */
const LEFT_MS = 50;

interface Reserved extends Reservation {
  readonly link: LinkClient;
  readonly permit: number;
  readonly amount: { jobs: number; bytes: number };
  readonly startedAt: Moment;
}

interface Known {
  readonly due: DueBound;
  /** The `performance.now()` until which the queue is left to its worker. */
  leftUntil: number;
}

/**
 * Claims jobs for the workers of other processes in the statement that stores them, and hands them over
 * (docs/decisions/0063). For processes without a worker.
 */
export class HandOver implements NewJobClaims {
  readonly #links = new Map<number, LinkClient>();
  readonly #queues = new Map<string, Known>();
  readonly #looking: Repeated;
  #next = 0;
  /** The `performance.now()` of the last publish. */
  #wantedAt = performance.now();

  constructor(db: Database, log: Logger) {
    const everyMs = () => (this.#isBusy ? LOOK_MS.busy : LOOK_MS.idle);
    this.#looking = repeat(everyMs, log, 'looking for workers that take jobs', async () => {
      this.#know(await linksOfWorkers<LinkAddress>(db));
    });
  }

  async stop(): Promise<void> {
    await this.#looking.stop();
    for (const link of this.#links.values()) link.close();
  }

  mayClaim(reservation: Reservation): boolean {
    return (reservation as Reserved).link.isOpen;
  }

  reserve(wanted: readonly NewJobsOfQueue[]): Reservation | null {
    if (!this.#isBusy) this.#looking.runSoon();
    this.#wantedAt = performance.now();
    if (this.#links.size === 0 || wanted.length === 0) return null;
    const startedAt = thisMoment();
    const free = wanted.filter(({ queueId }) => this.#of(queueId).leftUntil <= startedAt.monotonic);
    const links = [...this.#links.values()];
    for (let n = 0; n < links.length; n += 1) {
      const link = links[(this.#next + n) % links.length] as LinkClient;
      const taken = free.filter(({ queueId }) => link.takes(queueId));
      const amount = { jobs: sum(taken, 'jobs'), bytes: sum(taken, 'bytes') };
      if (taken.length === 0 || !link.reserve(amount.jobs, amount.bytes)) continue;
      this.#next += n + 1;
      const queues = taken
        .toSorted((a, b) => (a.queueId < b.queueId ? -1 : 1))
        .map((one) => ({ ...one, since: this.#of(one.queueId).due.at(startedAt.monotonic) }));
      const { workerId, leaseMs } = link.address;
      const reserved: Reserved = { workerId, leaseMs, queues, link, permit: link.permit, amount, startedAt };
      return reserved;
    }
    return null;
  }

  end(reservation: Reservation, claim: NewClaim | null, isUnsure = false): void {
    const { link, permit, amount, queues, startedAt } = reservation as Reserved;
    for (const { queueId, since } of queues) {
      const known = this.#of(queueId);
      const row = claim?.rows.findLast((one) => one.queue_id === queueId);
      if (row === undefined) known.leftUntil = performance.now() + LEFT_MS;
      else known.due.published(since, startedAt.monotonic, row.scheduled_for);
    }
    counts.claimedAtPublish += claim?.rows.length ?? 0;
    link.end(amount, permit, claim, isUnsure);
  }

  get #isBusy(): boolean {
    return performance.now() - this.#wantedAt < LOOK_MS.idle;
  }

  #of(queueId: string): Known {
    let known = this.#queues.get(queueId);
    if (known === undefined) {
      if (this.#queues.size >= MAX_QUEUES) this.#queues.clear();
      known = { due: new DueBound(), leftUntil: 0 };
      this.#queues.set(queueId, known);
    }
    return known;
  }

  #know(addresses: readonly LinkAddress[]): void {
    for (const address of addresses) {
      const { protocol, workerId, hosts } = address;
      if (protocol !== PROTOCOL || hosts.length === 0 || this.#links.has(workerId)) continue;
      const link: LinkClient = new LinkClient(address, () => {
        if (this.#links.get(workerId) === link) this.#links.delete(workerId);
      });
      this.#links.set(workerId, link);
    }
  }
}

function sum(queues: readonly NewJobsOfQueue[], of: 'jobs' | 'bytes'): number {
  return queues.reduce((total, one) => total + one[of], 0);
}
