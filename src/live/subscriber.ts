import type { WatchedList } from '../db/insight/account-marks.ts';
import type { AccountChange } from './account-watch.ts';
import type { Changes, Watch } from './live.ts';
import type { Owned, QueueChange } from './messages.ts';
import { NAMED_JOBS } from './pending-changes.ts';

/** Most job ids of all watched queues in one `Changes`; at most NAMED_JOBS are of the same queue. */
const MAX_JOBS_OF_QUEUES = 100;

/** One subscriber: collects the changes that it watches, and yields them no faster than it requested. */
export class Subscriber {
  readonly accountId: string;
  /** Lists of the account that are watched. */
  readonly lists: readonly WatchedList[];
  readonly #watch: { queueIds: ReadonlySet<string>; jobIds: ReadonlySet<string>; actionIds: ReadonlySet<string> };
  readonly #allQueues: boolean;
  readonly #minIntervalMs: number;
  readonly #onClose: () => void;
  #queueIds = new Set<string>();
  /** Changed jobs that are watched by their ids. */
  #jobIds = new Set<string>();
  /** Changed jobs by watched queue. Queues and their jobs are in the order of their last change. */
  #jobsOfQueues = new Map<string, Set<string>>();
  #jobsNamed = 0;
  #actionIds = new Set<string>();
  #moreJobs = 0;
  #anyQueue = false;
  #deadLettersOf = new Set<string>();
  #auditLog = false;
  #instances = false;
  /** The `performance.now()` when everything was last marked as changed, at first the start. */
  #rereadAt = performance.now();
  #mayTakeAt = 0;
  #timer: NodeJS.Timeout | null = null;
  #waiting: ((more: boolean) => void) | null = null;
  #closed = false;

  constructor(watch: Watch, minIntervalMs: number, onClose: () => void) {
    this.accountId = watch.accountId;
    this.#watch = {
      queueIds: new Set(watch.queueIds),
      jobIds: new Set(watch.jobIds),
      actionIds: new Set(watch.actionIds),
    };
    this.lists = watch.lists ?? [];
    this.#allQueues = watch.allQueues === true;
    this.#minIntervalMs = minIntervalMs;
    this.#onClose = onClose;
  }

  /** Ids of everything watched; the account's id stands for all its queues. */
  get interests(): string[] {
    const { queueIds, jobIds, actionIds } = this.#watch;
    return [...(this.#allQueues ? [this.accountId] : queueIds), ...jobIds, ...actionIds];
  }

  queueChanged({ accountId, queueId, jobIds, more }: QueueChange): void {
    if (accountId !== this.accountId || !(this.#allQueues || this.#watch.queueIds.has(queueId))) return;
    this.#queueIds.add(queueId);
    this.#moreJobs += more;
    if (jobIds.length > 0) this.#nameJobs(queueId, jobIds);
    this.#scheduleYield();
  }

  jobChanged({ accountId, id }: Owned): void {
    if (accountId !== this.accountId || !this.#watch.jobIds.has(id)) return;
    this.#jobIds.add(id);
    this.#scheduleYield();
  }

  actionChanged({ accountId, id }: Owned): void {
    if (accountId !== this.accountId || !this.#watch.actionIds.has(id)) return;
    this.#actionIds.add(id);
    this.#scheduleYield();
  }

  accountChanged({ deadLettersOf, auditLog, instances }: AccountChange): void {
    if (this.lists.includes('deadLetters')) for (const id of deadLettersOf) this.#deadLettersOf.add(id);
    this.#auditLog ||= auditLog && this.lists.includes('auditLog');
    this.#instances ||= instances && this.lists.includes('instances');
    this.#scheduleYield();
  }

  /** Changes may have been missed: everything that is watched counts as changed. */
  missed(): void {
    this.#rereadAt = performance.now();
    for (const id of this.#watch.queueIds) this.#queueIds.add(id);
    for (const id of this.#watch.jobIds) this.#jobIds.add(id);
    for (const id of this.#watch.actionIds) this.#actionIds.add(id);
    this.#anyQueue = this.#allQueues;
    this.#scheduleYield();
  }

  /** Re-reads everything if that was last done so long ago. */
  rereadIfDue(afterMs: number): void {
    if (performance.now() - this.#rereadAt >= afterMs) this.missed();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#waiting?.(false);
    this.#onClose();
  }

  async *rounds(): AsyncGenerator<Changes, void, undefined> {
    try {
      while (await this.#ready()) yield this.#take();
    } finally {
      this.close();
    }
  }

  #nameJobs(queueId: string, jobIds: readonly string[]): void {
    const jobs = this.#jobsOfQueues.get(queueId) ?? new Set();
    this.#jobsOfQueues.delete(queueId);
    this.#jobsOfQueues.set(queueId, jobs);
    for (const jobId of jobIds) {
      if (!jobs.delete(jobId)) this.#jobsNamed += 1;
      jobs.add(jobId);
    }
    while (jobs.size > NAMED_JOBS) this.#onlyCountOldest(queueId, jobs);
    for (const [otherId, others] of this.#jobsOfQueues) {
      while (this.#jobsNamed > MAX_JOBS_OF_QUEUES && others.size > 0) this.#onlyCountOldest(otherId, others);
      if (this.#jobsNamed <= MAX_JOBS_OF_QUEUES) break;
    }
  }

  #onlyCountOldest(queueId: string, jobs: Set<string>): void {
    const [oldest = ''] = jobs;
    jobs.delete(oldest);
    if (jobs.size === 0) this.#jobsOfQueues.delete(queueId);
    this.#jobsNamed -= 1;
    this.#moreJobs += 1;
  }

  get #isEmpty(): boolean {
    const size = this.#queueIds.size + this.#jobIds.size + this.#jobsNamed + this.#actionIds.size;
    const isOfLists = this.#deadLettersOf.size > 0 || this.#auditLog || this.#instances;
    return size === 0 && this.#moreJobs === 0 && !this.#anyQueue && !isOfLists;
  }

  /** Resolves with true when there are changes to take, and with false when the subscriber is closed. */
  #ready(): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.#closed) {
        resolve(false);
        return;
      }
      this.#waiting = (more) => {
        this.#waiting = null;
        resolve(more);
      };
      this.#scheduleYield();
    });
  }

  #scheduleYield(): void {
    if (this.#waiting === null || this.#timer !== null || this.#isEmpty) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#waiting?.(true);
      },
      Math.max(0, this.#mayTakeAt - performance.now()),
    );
  }

  #take(): Changes {
    for (const jobs of this.#jobsOfQueues.values()) for (const jobId of jobs) this.#jobIds.add(jobId);
    this.#mayTakeAt = performance.now() + this.#minIntervalMs;
    const changes: Changes = {
      queueIds: this.#queueIds,
      jobIds: this.#jobIds,
      actionIds: this.#actionIds,
      moreJobs: this.#moreJobs,
      ...(this.#anyQueue ? { allQueues: true } : {}),
      ...(this.#deadLettersOf.size > 0 ? { deadLettersOf: this.#deadLettersOf } : {}),
      ...(this.#auditLog ? { auditLog: true } : {}),
      ...(this.#instances ? { instances: true } : {}),
    };
    this.#queueIds = new Set();
    this.#jobIds = new Set();
    this.#jobsOfQueues = new Map();
    this.#jobsNamed = 0;
    this.#actionIds = new Set();
    this.#moreJobs = 0;
    this.#anyQueue = false;
    this.#deadLettersOf = new Set();
    this.#auditLog = false;
    this.#instances = false;
    return changes;
  }
}
