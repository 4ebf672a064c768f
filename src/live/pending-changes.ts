import type { ChangeSet, Owned, QueueChange } from './messages.ts';

/** Bounds on the changes that are collected between two rounds. Above them, subscribers re-read everything. */
const MAX_QUEUES = 2000;
const MAX_IDS = 5000;
/** Distinct jobs per queue; further ones are only counted. */
const MAX_JOBS_OF_QUEUE = 1000;
/**
 * Only this many jobs of a queue are sent by id, the last ones that changed. Every subscriber reads each of them,
 * several times a second with a queue at full speed: with 100 ids, ten subscribers took a tenth of the process.
 */
export const NAMED_JOBS = 25;
/** Ids that other processes watch: as many as 250 dashboards with 200 ids each. */
const MAX_REMOTE_INTERESTS = 50_000;

interface ChangedQueue {
  accountId: string;
  /** In the order of their last change. */
  jobIds: Set<string>;
  more: number;
}

/** Collects changes until `take`, in constant time per change and bounded memory. */
export class PendingChanges {
  #queues = new Map<string, ChangedQueue>();
  #jobs = new Map<string, string>();
  #actions = new Map<string, string>();
  #missed = false;

  get isEmpty(): boolean {
    return !this.#missed && this.#queues.size === 0 && this.#jobs.size === 0 && this.#actions.size === 0;
  }

  queue(accountId: string, queueId: string, jobId: string | undefined): void {
    let queue = this.#queues.get(queueId);
    if (queue === undefined) {
      if (this.#queues.size >= MAX_QUEUES) {
        this.markMissed();
        return;
      }
      queue = { accountId, jobIds: new Set(), more: 0 };
      this.#queues.set(queueId, queue);
    }
    if (jobId === undefined) return;
    queue.jobIds.delete(jobId);
    queue.jobIds.add(jobId);
    if (queue.jobIds.size > MAX_JOBS_OF_QUEUE) {
      const [oldest] = queue.jobIds;
      queue.jobIds.delete(oldest ?? '');
      queue.more += 1;
    }
  }

  job(accountId: string, jobId: string): void {
    this.#addTo(this.#jobs, accountId, jobId);
  }

  action(accountId: string, actionId: string): void {
    this.#addTo(this.#actions, accountId, actionId);
  }

  /** Changes were lost: there were too many, or they could not be sent. */
  markMissed(): void {
    this.#missed = true;
  }

  take(): ChangeSet {
    const taken: ChangeSet = {
      queues: [...this.#queues].map(([queueId, queue]) => namedJobs(queueId, queue)),
      jobs: owned(this.#jobs),
      actions: owned(this.#actions),
      missed: this.#missed,
    };
    this.#queues = new Map();
    this.#jobs = new Map();
    this.#actions = new Map();
    this.#missed = false;
    return taken;
  }

  #addTo(ids: Map<string, string>, accountId: string, id: string): void {
    if (ids.size < MAX_IDS || ids.has(id)) ids.set(id, accountId);
    else this.markMissed();
  }
}

function namedJobs(queueId: string, { accountId, jobIds, more }: ChangedQueue): QueueChange {
  const named = [...jobIds].slice(-NAMED_JOBS);
  return { accountId, queueId, jobIds: named, more: more + jobIds.size - named.length };
}

function owned(ids: ReadonlyMap<string, string>): Owned[] {
  return [...ids].map(([id, accountId]) => ({ id, accountId }));
}

/**
 * The ids that other processes watch. A process announces its ids periodically, so those of a killed process
 * expire.
 */
export class RemoteInterests {
  /** When each id expires, by `performance.now()`. */
  readonly #until = new Map<string, number>();
  readonly #lifeMs: number;

  constructor(lifeMs: number) {
    this.#lifeMs = lifeMs;
  }

  get size(): number {
    return this.#until.size;
  }

  has(id: string): boolean {
    return this.#until.has(id);
  }

  /**
   * Ids above the bound are left out: this process sends no changes of them, and their subscribers re-read them later.
   */
  add(ids: readonly string[]): void {
    const until = performance.now() + this.#lifeMs;
    for (const id of ids) {
      if (this.#until.size < MAX_REMOTE_INTERESTS || this.#until.has(id)) this.#until.set(id, until);
    }
  }

  removeExpired(): void {
    const now = performance.now();
    for (const [id, until] of this.#until) if (until <= now) this.#until.delete(id);
  }

  /** Returns the changes that another process watches. */
  select(changes: ChangeSet): ChangeSet {
    const isWatched = ({ id }: Owned) => this.has(id);
    return {
      queues: changes.queues.filter(({ queueId, accountId }) => this.has(queueId) || this.has(accountId)),
      jobs: changes.jobs.filter(isWatched),
      actions: changes.actions.filter(isWatched),
      missed: changes.missed && this.size > 0,
    };
  }
}
