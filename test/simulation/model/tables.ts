import type { AttemptStatus, DeadReason, JobStatus } from '../../../src/domain/job.ts';
import type { QueueSettings } from '../../../src/domain/queue.ts';
import type { BreakerRow } from './breaker.ts';

/**
 * The database of the simulation: the tables that deliveries use, in memory, one statement at a time.
 * This folder implements the statements again in TypeScript, and `model.test.ts` compares them with
 * the SQL. Times are milliseconds of the database's clock.
 */

export interface QueueRow extends QueueSettings {
  id: string;
  accountId: string;
  name: string;
  deletedAt: number | null;
  holdUntil: number | null;
  probeJobId: string | null;
  windowStart: number | null;
  windowUsed: number;
  pausedAt: number | null;
  lifetimeFloor: number | null;
  breaker: BreakerRow;
}

export interface HistoryRow {
  attempt: number;
  status: AttemptStatus;
  error: string | null;
  webhookStatusCode: number | null;
  timestamp: number;
}

export interface JobRow {
  id: string;
  accountId: string;
  queueId: string;
  status: JobStatus;
  attempts: number;
  maxAttempts: number;
  backoffType: QueueSettings['backoffType'];
  backoffDelay: number;
  deferCount: number;
  shortHolds: number;
  key: string | null;
  payload: string;
  scheduledFor: number;
  deliverBy: number;
  lastError: string | null;
  createdAt: number;
  completedAt: number | null;
  deadAt: number | null;
  deadReason: DeadReason | null;
  token: number;
  workerId: number | null;
  claimedAt: number | null;
  deadline: number | null;
  interruptions: number;
  mode: QueueSettings['mode'] | null;
  maxDefers: number | null;
  ackTimeoutAction: QueueSettings['ackTimeoutAction'] | null;
  answerCode: number | null;
  waitReason: 'backoff' | 'hold' | null;
  /** Rows of the table `attempt`; they are never changed. */
  history: readonly HistoryRow[];
}

export interface DeadLetterRow {
  reason: DeadReason;
  error: string | null;
  webhookStatusCode: number | null;
  deadAt: number;
}

export type WakeTask = 'deliver' | 'timeout';

export interface WakeRow {
  key: string;
  task: WakeTask;
  queueId: string;
  runAt: number;
}

export class Tables {
  /** The clock of the database. */
  clock: () => number;
  readonly queues = new Map<string, QueueRow>();
  /** In the order of their ids. */
  readonly jobs = new Map<string, JobRow>();
  /** By job. */
  readonly letters = new Map<string, DeadLetterRow>();
  readonly wakes = new Map<string, WakeRow>();
  /** Deliveries by account; the model knows one month. */
  readonly usage = new Map<string, number>();
  /** Numbers of the workers that hold their advisory lock. */
  readonly leaseLocks = new Set<number>();
  /** When the lock of a worker was last confirmed to it. */
  readonly confirmations = new Map<number, number>();
  /** Jobs that the running statement has touched, as they were before it; null for new ones. */
  readonly before = new Map<JobRow, JobRow | null>();
  /** Called with every wake-up that is written. */
  onWake: (row: WakeRow) => void = () => undefined;
  #ids = 0;
  #tokens = 0;

  constructor(clock: () => number) {
    this.clock = clock;
  }

  nextId(): string {
    this.#ids += 1;
    return this.#ids.toString(16).padStart(24, '0');
  }

  nextToken(): number {
    this.#tokens += 1;
    return this.#tokens;
  }

  addQueue(queue: Omit<QueueRow, 'id'>): QueueRow {
    const row = { ...queue, id: this.nextId() };
    this.queues.set(row.id, row);
    return row;
  }

  insertJob(job: JobRow): void {
    this.jobs.set(job.id, job);
    this.before.set(job, null);
  }

  updateJob(job: JobRow, patch: Partial<JobRow>): void {
    if (!this.before.has(job)) this.before.set(job, { ...job });
    Object.assign(job, patch);
  }

  jobsOf(queueId: string, ...statuses: JobStatus[]): JobRow[] {
    const found: JobRow[] = [];
    for (const job of this.jobs.values()) {
      if (job.queueId === queueId && (statuses.length === 0 || statuses.includes(job.status))) found.push(job);
    }
    return found;
  }

  /** Pending jobs in the order in which they are delivered. */
  line(queueId: string): JobRow[] {
    return this.jobsOf(queueId, 'pending').sort((a, b) => a.scheduledFor - b.scheduledFor || (a.id < b.id ? -1 : 1));
  }

  inFlight(queueId: string): number {
    let count = 0;
    for (const job of this.jobs.values()) {
      if (job.queueId === queueId && (job.status === 'processing' || job.status === 'awaiting_ack')) count += 1;
    }
    return count;
  }

  /** The end of a job's lifetime, as claims see it. */
  deliverBy(job: JobRow): number {
    return Math.max(job.deliverBy, this.queues.get(job.queueId)?.lifetimeFloor ?? 0);
  }

  /**
   * `jobferry_wake`: one row per task, queue and second or four, which fires early. Jobs that are nearly due have none.
   */
  wake(task: WakeTask, queueId: string, due: number): void {
    const now = this.clock();
    const step = due - now < 8000 ? 1000 : 4000;
    const early = Math.floor(due / step) * step - 1000;
    const isNow = early <= now;
    if (isNow && task === 'deliver') return;
    const key = `${task}:${queueId}:${isNow ? 'now' : early / 1000}`;
    if (!isNow && this.wakes.has(key)) return;
    const row = { key, task, queueId, runAt: Math.max(early, now) };
    this.wakes.set(key, row);
    this.onWake(row);
  }
}
