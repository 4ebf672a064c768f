/** The use cases, as the shells (REST, GraphQL, worker) see them. */
import type { Actor } from '../domain/audit.ts';
import type { BulkReplayResult, DeadLetterDocument, JobDocument, JobStatus, PublishedJob } from '../domain/job.ts';
import type { CreatedQueue, Queue, QueueSettings } from '../domain/queue.ts';
import type { DeferScope } from '../domain/transition.ts';

export type { Actor } from '../domain/audit.ts';

export interface Account {
  id: string;
  name: string;
  /** A key of the plan table. */
  plan: string;
  /** Who asks, for the audit log. */
  actor: Actor;
}

export interface PublishInput {
  /** JSON source text of the payload, already checked to be an object (D26). */
  payload: string;
  idempotencyKey?: string | undefined;
  /** Seconds. */
  delay?: number | undefined;
}

export type CreateQueueInput = Pick<QueueSettings, 'webhookUrl'> &
  Partial<QueueSettings> & { name: string; template?: string | undefined };
export type UpdateQueueInput = Partial<QueueSettings> & { name?: string | undefined };

export interface PageInput {
  page: number;
  limit: number;
  from?: Date | undefined;
  to?: Date | undefined;
}
export interface ListJobsInput extends PageInput {
  status?: JobStatus | undefined;
  /** Literal, case-insensitive substring. */
  idempotencyKey?: string | undefined;
}
export interface ListDeadLettersInput extends PageInput {
  includeReplayed?: boolean | undefined;
}
export interface Page<T> {
  /** The first entries of the page; all of them unless there is a rest. */
  jobs: T[];
  /** Of a page with large payloads, what follows, read bit by bit when it is asked for. */
  rest?: AsyncIterable<T[]>;
  total: number;
  page: number;
  limit: number;
}

export interface ReportInput {
  /** Which attempt the report is about; without it, the one that is under way. Another one is refused. */
  attempt?: number | undefined;
}

/** Every method throws `JobferryError` for an expected refusal. */
export interface Services {
  /** `null` for a key that is malformed, unknown or revoked. */
  authenticate(apiKey: string): Promise<Account | null>;
  /**
   * The account whose key this was a second ago, without asking anybody; `null` when it has to be looked up. Says who
   * must wait, and lets nobody in.
   */
  knownAccount(apiKey: string): Account | null;
  publishJob(
    account: Account,
    queueName: string,
    input: PublishInput,
  ): Promise<{ created: boolean; job: PublishedJob }>;
  getJob(account: Account, jobId: string): Promise<JobDocument>;
  listQueues(account: Account): Promise<Queue[]>;
  createQueue(account: Account, input: CreateQueueInput): Promise<CreatedQueue>;
  getQueue(account: Account, queueId: string): Promise<Queue>;
  updateQueue(account: Account, queueId: string, input: UpdateQueueInput): Promise<Queue>;
  deleteQueue(account: Account, queueId: string): Promise<void>;
  /** @param isGone whether nobody waits for the list any more: what has not begun is not read then */
  listJobs(
    account: Account,
    queueId: string,
    input: ListJobsInput,
    isGone?: () => boolean,
  ): Promise<Page<JobDocument> & { appliedFrom: Date }>;
  /** @param isGone as of `listJobs` */
  listDeadLetters(
    account: Account,
    queueId: string,
    input: ListDeadLettersInput,
    isGone?: () => boolean,
  ): Promise<Page<DeadLetterDocument>>;
  replayDeadLetter(account: Account, queueId: string, deadLetterId: string): Promise<PublishedJob>;
  replayDeadLetters(account: Account, queueId: string, ids: string[] | 'all'): Promise<BulkReplayResult>;
  ackJob(account: Account, jobId: string, input?: ReportInput): Promise<JobDocument>;
  nackJob(
    account: Account,
    jobId: string,
    input: ReportInput & { retryable: boolean; reason: string | null },
  ): Promise<JobDocument>;
  deferJob(
    account: Account,
    jobId: string,
    input: ReportInput & { retryAfter: number; scope: DeferScope; reason: string | null },
  ): Promise<JobDocument>;
}
