import type { CallOptions } from '../calls.ts';

/**
 * Arguments and results of the verbs, as in GraphQL: names of enumerations in capitals, timestamps as ISO 8601 strings.
 */

/** A range of time; each end is left out for none. */
export interface TimeRange {
  /** First time of the range. */
  from?: string;
  /** End of the range, which is not part of it. */
  to?: string;
}

/** A range of numbers, both ends included; each is left out for none. */
export interface IntRange {
  /** Smallest number. */
  min?: number;
  /** Largest number. */
  max?: number;
}

/** A condition on payloads: a comparison, or other conditions joined by `and`, `or` or `not`. */
export interface PayloadCondition {
  /** Names of members separated by dots, such as `customer.id` or `items.*.sku`. */
  path?: string;
  /** Comparison; `EQ` by default. */
  op?: 'EQ' | 'NEQ' | 'CONTAINS' | 'EXISTS' | 'GT' | 'LT';
  /** The value to compare with. */
  value?: unknown;
  /** Text that a name or a value of the payload contains, ignoring case. */
  anywhere?: string;
  /** Conditions that must all hold. */
  and?: readonly PayloadCondition[];
  /** Conditions of which at least one must hold. */
  or?: readonly PayloadCondition[];
  /** A condition that must not hold. */
  not?: PayloadCondition;
}

/** Why a job died. */
export type DeadReason =
  | 'ACK_TIMEOUT'
  | 'ATTEMPTS_EXHAUSTED'
  | 'CANCELLED'
  | 'DEFER_CAP_EXHAUSTED'
  | 'DELIVERY_LIFETIME_EXCEEDED'
  | 'NACKED'
  | 'QUEUE_DELETED'
  | 'RETRY_AFTER_EXCEEDS_LIFETIME';

/** State of a job: its status, with `PENDING` divided into `DUE`, `SCHEDULED`, `RETRYING` and `HELD`. */
export type JobState = 'AWAITING_ACK' | 'COMPLETED' | 'DEAD' | 'DUE' | 'HELD' | 'PROCESSING' | 'RETRYING' | 'SCHEDULED';

/** Why a pending job is not delivered now. */
export type WaitReason =
  | 'BACKOFF'
  | 'CONCURRENCY'
  | 'DELAYED'
  | 'DUE'
  | 'HELD'
  | 'PAUSED'
  | 'PROBE_IN_FLIGHT'
  | 'QUEUE_DELETED'
  | 'QUEUE_HELD'
  | 'RATE_LIMIT';

/** Which jobs: all members must hold; an empty filter means all. GraphQL's `JobFilter` describes each. */
export interface JobFilter {
  /** Jobs that this bulk action created or changed. */
  actionId?: string;
  /** Jobs of which at least one attempt had an answer of one of these classes, such as 5. */
  anyWebhookStatusClasses?: readonly number[];
  /** Jobs of which at least one attempt had one of these status codes. */
  anyWebhookStatusCodes?: readonly number[];
  /** Number of attempts. */
  attempts?: IntRange;
  /** Time of completion. */
  completed?: TimeRange;
  /** Time of the publish. */
  created?: TimeRange;
  /** Reasons of death. */
  deadReasons?: readonly DeadReason[];
  /** Number of holds. */
  deferCount?: IntRange;
  /** Text in the last error. */
  errorContains?: string;
  /** Exactly this idempotency key. */
  idempotencyKey?: string;
  /** Text in the idempotency key. */
  idempotencyKeyContains?: string;
  /** Ids; at most 100. */
  ids?: readonly string[];
  /** A condition on the payload. */
  payload?: PayloadCondition;
  /** Ids of queues. */
  queueIds?: readonly string[];
  /** Names of queues. */
  queueNames?: readonly string[];
  /** Hosts that queues deliver to, such as `api.partner.com`. */
  receivers?: readonly string[];
  /** Whether the dead letter can be replayed. */
  replayable?: boolean;
  /** Whether the dead letter was replayed. */
  replayed?: boolean;
  /** Time of the next delivery. */
  scheduled?: TimeRange;
  /** States. */
  states?: readonly JobState[];
  /** Statuses. */
  statuses?: readonly ('AWAITING_ACK' | 'COMPLETED' | 'DEAD' | 'PENDING' | 'PROCESSING')[];
  /** Why a pending job is not delivered. */
  waitReasons?: readonly WaitReason[];
  /** Class of the last answer, such as 5; 0 for none. */
  webhookStatusClasses?: readonly number[];
  /** Status code of the last answer. */
  webhookStatusCodes?: readonly number[];
}

/** Which dead letters: all members must hold. GraphQL's `DeadLetterFilter` describes each. */
export interface DeadLetterFilter {
  /** The beginnings of the last answers, as error groups have them. */
  answers?: readonly string[];
  /** Time of death. */
  dead?: TimeRange;
  /** Whether the cause is dismissed. */
  dismissed?: boolean;
  /** Text in the error. */
  errorContains?: string;
  /** Error groups. */
  fingerprints?: readonly string[];
  /** Ids of dead letters; at most 100. */
  ids?: readonly string[];
  /** A condition on the payload. */
  payload?: PayloadCondition;
  /** Ids of queues. */
  queueIds?: readonly string[];
  /** Hosts that queues deliver to, such as `api.partner.com`. */
  receivers?: readonly string[];
  /** Reasons of death. */
  reasons?: readonly DeadReason[];
  /** Whether it was replayed. */
  replayed?: boolean;
  /** Status code of the last answer. */
  webhookStatusCodes?: readonly number[];
}

/** Work on many jobs, which Jobferry does in batches. */
export interface BulkAction {
  /** Id, for `bulkActions`. */
  id: string;
  /** Kind of work. */
  kind: 'CANCEL_JOBS' | 'PURGE_QUEUE' | 'REPLAY_DEAD_LETTERS' | 'RUN_JOBS_NOW';
  /** `RUNNING` and `PAUSED` ones have not ended. */
  status: 'CANCELLED' | 'COMPLETED' | 'FAILED' | 'PAUSED' | 'RUNNING';
  /** Number of items that matched at the start. */
  matched: number;
  /** Number of items that it has read. */
  processed: number;
  /** Number of items that it has changed. */
  succeeded: number;
  /** Number of items that had changed meanwhile. */
  skipped: number;
  /** Why it failed; null unless it has. */
  error: string | null;
}

/** Options of `queues.purge`. */
export interface PurgeOptions extends CallOptions {
  /** Only counts what would be cancelled. */
  dryRun?: boolean;
}

/** Options of `queues.rotateSecret`. */
export interface RotateOptions extends CallOptions {
  /** Time until the next secret takes over, in seconds; a day by default, 0 for at once. */
  overlapSeconds?: number;
}

/** Options of `queues.examineReceiver`. */
export interface ExamineOptions extends CallOptions {
  /** Payload that the receiver takes, as JSON text; `{"jobferry":"check"}` by default. */
  payload?: string;
}

/** Options of `graphql`. */
export interface GraphQLOptions extends CallOptions {
  /** Time-out of this request in milliseconds, in place of the client's. */
  timeoutMs?: number;
}

/** Options of verbs that work on all that matches a filter. */
export interface ManyOptions extends CallOptions {
  /** Only counts what matches. */
  dryRun?: boolean;
  /** Confirms that an empty filter, which matches everything, is meant. */
  all?: boolean;
}

/** Options of `jobs.runManyNow`. */
export interface RunManyOptions extends ManyOptions {
  /** Most jobs per second; no limit by default. */
  ratePerSecond?: number;
}

/** A bulk action that was started, or the count of a dry run. */
export interface StartedAction {
  /** Number of items that matched. */
  matched: number;
  /** The bulk action; null for a dry run. */
  action: BulkAction | null;
}
