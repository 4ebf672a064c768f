/**
 * Changes beyond the spec (GraphQL only). Each is written to the audit log with its actor in the same
 * commit, and throws `JobferryError` for an expected refusal. Another account's ids are not found.
 */
import type { JobStatus } from '../domain/job.ts';
import type { DeadLetterFilter, JobFilter } from '../domain/job-filter.ts';
import type { Queue } from '../domain/queue.ts';
import type { Account, PublishInput } from './index.ts';

export interface RotatedSecret {
  queue: Queue;
  /** Shown once. */
  signingSecret: string;
  /** When it takes over from the present one; until then it signs an extra header. */
  takesOverAt: Date;
}

export interface CreatedApiKey {
  id: string;
  /** Shown once. */
  key: string;
}

export type PublishOutcome =
  | { outcome: 'created' | 'existing'; id: string; status: JobStatus; createdAt: Date }
  | { outcome: 'refused'; error: Error };

export interface QueueOperations {
  /** Deliveries stop, publishing goes on. Pausing a paused queue changes nothing. */
  pauseQueue(account: Account, queueId: string): Promise<Queue>;
  /** Every waiting job has its full delivery lifetime again: the time of the pause does not count. */
  resumeQueue(account: Account, queueId: string): Promise<Queue>;
  /**
   * A held queue goes on, and up to 1000 of its jobs that wait for the end of a hold are due, the one that asked for
   * it included. Nothing changes when the queue is not held.
   */
  endHold(account: Account, queueId: string): Promise<Queue>;
  /**
   * A new signing secret. During the overlap the spec's header carries the present secret's signature,
   * `<header>-next` the new one's; then the new one takes over. 0 switches at once, and ends any other rotation.
   * @throws JobferryError `conflict` while another rotation is under way, unless the overlap is 0
   */
  rotateSigningSecret(account: Account, queueId: string, overlapSeconds: number): Promise<RotatedSecret>;
  /** The next secret takes over now; nothing changes without a rotation under way. */
  finishSecretRotation(account: Account, queueId: string): Promise<Queue>;
  /**
   * Whether payloads of jobs to come, and what their webhook answers, are stored encrypted.
   * @throws JobferryError `invalid_request` without an ENCRYPTION_KEY
   */
  setPayloadEncryption(account: Account, queueId: string, enabled: boolean): Promise<Queue>;
}

export interface JobOperations {
  /** A pending or awaiting_ack job becomes dead (`cancelled`), without a dead letter; others: `conflict`. Returns the job's id. */
  cancelJob(account: Account, jobId: string): Promise<string>;
  /** A pending job is due now; pause, hold, cap and rate limit still apply. Others: `conflict`. */
  runNow(account: Account, jobId: string): Promise<string>;
  /**
   * At least `seconds` more until the ack deadline.
   * @throws `invalid_request` when it is not awaiting_ack, or another attempt than the given one is under way
   */
  extendAck(
    account: Account,
    jobId: string,
    seconds: number,
    progress: string | null,
    attempt?: number | null,
  ): Promise<Date>;
  /** Up to 1000 jobs, an answer per job, in order. */
  publishJobs(account: Account, jobs: readonly (PublishInput & { queueName: string })[]): Promise<PublishOutcome[]>;
}

export interface KeyOperations {
  createApiKey(account: Account, name: string | null): Promise<CreatedApiKey>;
  /** Refused by every process within a second. The key that asks may revoke itself. */
  revokeApiKey(account: Account, keyId: string): Promise<string>;
}

export interface BulkReplayInput {
  queueId: string;
  filter: DeadLetterFilter;
  /** Replays everything; without it an empty filter is refused. */
  all: boolean;
  ratePerSecond: number | null;
  /** Replay one, and go on only when it has completed. */
  canary: boolean;
}

export interface BulkOperations {
  /** How many would be replayed now. */
  countReplay(account: Account, input: BulkReplayInput): Promise<number>;
  /** Starts a tracked action; returns its id. */
  startReplay(account: Account, input: BulkReplayInput): Promise<string>;
  countCancel(account: Account, filter: JobFilter, all: boolean): Promise<number>;
  startCancel(account: Account, filter: JobFilter, all: boolean): Promise<string>;
  /** Cancels every pending job of the queue that was published before now. */
  startPurge(account: Account, queueId: string): Promise<string>;
  /** What was done stays done. @throws `conflict` when it has ended already */
  cancelBulkAction(account: Account, actionId: string): Promise<string>;
}

export type Operations = QueueOperations & JobOperations & KeyOperations & BulkOperations;
