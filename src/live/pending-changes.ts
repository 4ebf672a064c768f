import type { ChangeSet, Owned, QueueChange } from './messages.ts';

/** Bounds on what is collected between two rounds; beyond it, everything may have changed. */
const MAX_QUEUES = 2000;
const MAX_IDS = 5000;
/** Distinct jobs of a queue that are told apart; beyond it, they are only counted. */
const MAX_JOBS_OF_QUEUE = 1000;
/**
 * Of them, the last few are named. Each costs every subscriber the reading of a job, several times a second
 * with a queue at full speed: with 100 of them, ten subscribers took a tenth of the process.
 */
export const NAMED_JOBS = 25;
/** Of other processes: what 250 dashboards with 200 ids each watch. */
const MAX_REMOTE_INTERESTS = 50_000;

interface ChangedQueue {
  accountId: string;
  /** In the order of their last change. */
  jobIds: Set<string>;
  more: number;
}

/** Collects changes until somebody takes them; constant time for each, and bounded. */
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
        this.lose();
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

  /** What was collected could not be told. */
  lose(): void {
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
    else this.lose();
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
 * What other processes watch. They say it again and again, so that the interests of a killed process
 * end by themselves.
 */
export class RemoteInterests {
  /** When each ends, on `performance.now()`. */
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

  /** Ids beyond the bound are left out: their watchers still look by themselves now and then. */
  note(ids: readonly string[]): void {
    const until = performance.now() + this.#lifeMs;
    for (const id of ids) {
      if (this.#until.size < MAX_REMOTE_INTERESTS || this.#until.has(id)) this.#until.set(id, until);
    }
  }

  removeExpired(): void {
    const now = performance.now();
    for (const [id, until] of this.#until) if (until <= now) this.#until.delete(id);
  }

  clear(): void {
    this.#until.clear();
  }

  /** Of the changes, those that another process wants to hear of. */
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
