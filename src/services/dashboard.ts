/**
 * Questions that dashboards ask. Read only; everything is scoped to the account, and an id of another
 * account answers what an id that never was answers.
 */
import type { QueueHealth } from '../domain/health.ts';
import type { DeadReason } from '../domain/job.ts';
import type { DeadLetterFilter, JobFilter, JobOrder, JobStateName, TimeRange } from '../domain/job-filter.ts';
import type { TimelinePoint } from '../domain/statistics.ts';
import type { Waiting } from '../domain/waiting.ts';
import type { Account } from './index.ts';

/** A position in an ordered list: the value that it is ordered by, and the id that breaks ties. */
export interface Position {
  /** Milliseconds, or null where the column is; lists by id leave it out. */
  at?: number | null | undefined;
  id: string;
}

/** A slice of an ordered list, in the order of the list or (`inverted`) from its end. */
export interface Slice {
  limit: number;
  after?: Position | undefined;
  before?: Position | undefined;
  inverted: boolean;
}

/** A count that stops at a maximum. */
export interface BoundedCount {
  count: number;
  /** False: there are more than `count`. */
  exact: boolean;
}

export type QueueDepth = Readonly<Record<JobStateName, number>> & {
  /** `scheduledFor` of the oldest due job. */
  readonly oldestDueAt: Date | null;
};

export interface TimelineInput {
  from: Date;
  to: Date;
  /** A multiple of 300. */
  bucketSeconds: number;
}

export interface QueueUse {
  /** Processing and awaiting_ack (D11). */
  inFlight: number;
  /** Deliveries of the present rate window, or null without a rate limit. */
  rate: { used: number; max: number; resetsAt: Date } | null;
}

export interface ErrorGroup {
  fingerprint: string;
  reason: DeadReason;
  webhookStatusCode: number | null;
  /** The error of the newest member. */
  error: string | null;
  count: number;
  firstSeen: Date;
  lastSeen: Date;
  /** Newest members not yet replayed come first. */
  sampleDeadLetterId: string;
}

export interface JobTimelinePoint {
  at: Date;
  /** Jobs created in the bucket, by their present status. */
  pending: number;
  processing: number;
  awaitingAck: number;
  completed: number;
  dead: number;
}

export interface PayloadValue {
  value: string;
  count: number;
}

export interface JobSearch {
  /** Ids in order, each with the position for a cursor. At most `slice.limit`. */
  searchJobs(account: Account, filter: JobFilter, order: JobOrder, slice: Slice): Promise<Position[]>;
  /** Counts to `max` (10 000 at most). */
  countJobs(account: Account, filter: JobFilter, max: number): Promise<BoundedCount>;
  /** Per queue, the newest jobs of many queues in one go. */
  newestJobs(
    account: Account,
    queueIds: readonly string[],
    filter: JobFilter,
    limit: number,
  ): Promise<Map<string, Position[]>>;
  jobTimeline(account: Account, filter: JobFilter, input: TimelineInput): Promise<JobTimelinePoint[]>;
  /** Paths that occur in recent payloads, most frequent first. */
  payloadPaths(account: Account, queueId: string | null, prefix: string, limit: number): Promise<PayloadValue[]>;
  /** Values that occur at a path in recent payloads, most frequent first. */
  payloadValues(
    account: Account,
    queueId: string | null,
    path: string,
    prefix: string,
    limit: number,
  ): Promise<PayloadValue[]>;
}

export interface DeadLetterSearch {
  /** Most recently dead first. */
  searchDeadLetters(account: Account, filter: DeadLetterFilter, slice: Slice): Promise<Position[]>;
  countDeadLetters(account: Account, filter: DeadLetterFilter, max: number): Promise<BoundedCount>;
  /** Of many queues in one go; largest group first. */
  errorGroups(account: Account, filter: DeadLetterFilter, limit: number): Promise<Map<string, ErrorGroup[]>>;
}

export interface QueueInsight {
  depths(account: Account, queueIds: readonly string[]): Promise<Map<string, QueueDepth>>;
  uses(account: Account, queueIds: readonly string[]): Promise<Map<string, QueueUse>>;
  /** Up to a second old where several look (`shared-statistics`); everything else here is of the moment. */
  timelines(account: Account, queueIds: readonly string[], input: TimelineInput): Promise<Map<string, TimelinePoint[]>>;
  healths(account: Account, queueIds: readonly string[]): Promise<Map<string, QueueHealth>>;
  /** For pending jobs only: the others are left out. */
  waitings(account: Account, jobIds: readonly string[]): Promise<Map<string, Waiting>>;
}

export interface AccountUsage {
  /** YYYY-MM, UTC. */
  month: string;
  attempts: number;
  /** Deliveries under way over all queues, and the sum of their caps. */
  inFlight: number;
  concurrency: number;
  queues: number;
}

export interface ServerFacts {
  version: string;
  environment: string;
  now: Date;
  retentionSeconds: number;
  lifetimeSeconds: number;
  webhookTimeoutSeconds: number;
}

export interface ServerInsight {
  usage(account: Account): Promise<AccountUsage>;
  server(): Promise<ServerFacts>;
}

export type Dashboard = JobSearch &
  DeadLetterSearch &
  QueueInsight &
  ServerInsight & {
    /**
     * For the searches of one request: together they may keep the database busy for two seconds, and end when the
     * signal says that nobody waits any more.
     */
    searchesOf(signal: AbortSignal): JobSearch & DeadLetterSearch;
  };

export { QUEUE_WARNINGS, type QueueHealth, type QueueWarning } from '../domain/health.ts';
export type { Percentiles } from '../domain/histogram.ts';
export type { TimelinePoint } from '../domain/statistics.ts';
export type { Waiting } from '../domain/waiting.ts';
export type { DeadLetterFilter, JobFilter, JobOrder, TimeRange };
