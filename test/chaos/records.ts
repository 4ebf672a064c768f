/**
 * What a run leaves behind, and all that the checker gets (reliability.md section 2): the client's log, the
 * receiver's log, the log of faults, and what was read of the database. All moments are milliseconds since the
 * epoch of the machine's one clock. Nothing in here knows the service's code.
 */

export interface QueueRecord {
  id: string;
  name: string;
  signingSecret: string;
  mode: 'standard' | 'ack';
  concurrency: number;
  maxAttempts: number;
  maxDefers: number;
  dlqEnabled: boolean;
  /** Per window of `rateLimitWindowMs`, or null. */
  rateLimitMax: number | null;
  rateLimitWindowMs: number;
  backoffMs: number;
  ackTimeoutMs: number;
  /** What the receiver asks for with every backpressure, whether by answer or by report. */
  retryAfterMs: number;
  /** Nothing but a fault keeps a due job of it waiting, so recovery can be measured. */
  unlimited: boolean;
}

/** `fail`: certainly not done. `indeterminate`: nobody answered, so it may or may not have been done. */
export type Outcome = 'ok' | 'fail' | 'indeterminate';

interface Call {
  invokedAt: number;
  endedAt: number;
  outcome: Outcome;
  status: number | null;
}

export interface PublishRecord extends Call {
  queue: string;
  key: string | null;
  delayMs: number;
  /** The source text of the published value. */
  payload: string;
  id: string | null;
  createdAt: number | null;
  /** What another connection saw right after the answer; null when it was not asked. */
  seenByOthers: boolean | null;
}

export interface ReportRecord extends Call {
  jobId: string;
  kind: 'ack' | 'nack' | 'defer';
  /** Unique; becomes the error of the history entry. An ack has none. */
  reason: string | null;
}

export interface ReplayRecord extends Call {
  deadLetterId: string;
  /** A call for one answers 201 or 409; a bulk call names each in its answer. */
  bulk: boolean;
  replayedJobId: string | null;
}

/** A job as GET showed it at the end. */
export interface ReadRecord {
  id: string;
  status: number;
  job: { status: string; attempts: number; deferCount: number; history: unknown[] } | null;
}

export interface DeliveryRecord {
  at: number;
  /** `answered`: the answer was written. `cut`: the sender hung up first. `open`: still so when the run ended. */
  end: 'answered' | 'cut' | 'reset' | 'open';
  endedAt: number | null;
  status: number | null;
  /** The whole body. */
  raw: string;
  /** Every signature header that came. */
  signatures: string[];
}

export type FaultKind =
  | 'kill-worker'
  | 'kill-api'
  | 'freeze-worker'
  | 'crash-postgres'
  | 'restart-postgres'
  | 'cut-connections'
  | 'stall-connections'
  | 'terminate-backends'
  | 'exhaust-connections'
  | 'lock-table'
  | 'lose-wake-ups'
  | 'term-worker'
  /** Not ours: a process that ended without being told to. */
  | 'unexpected-exit';

export interface FaultRecord {
  kind: FaultKind;
  pid: number;
  /** The number that a worker has in the database. */
  workerId?: number | null;
  at: number;
  /** When what it broke worked again: ready, thawed, healed. */
  healedAt: number | null;
  /** Jobs that the process had claimed and not settled. */
  interrupted: string[];
  /** Requests without an answer at that moment: deliveries at the receiver, or publishes. */
  underWay: number;
}

export interface JobRow {
  id: string;
  queueId: string;
  status: string;
  attempts: number;
  maxAttempts: number;
  deferCount: number;
  key: string | null;
  payload: string;
  createdAt: number;
  scheduledFor: number;
  completedAt: number | null;
  deadReason: string | null;
  replayOf: string | null;
  historyCount: number;
}

export interface HistoryRow {
  jobId: string;
  ordinal: number;
  attempt: number;
  status: string;
  error: string | null;
  code: number | null;
  at: number;
}

export interface DeadLetterRow {
  id: string;
  jobId: string;
  replayedJobId: string | null;
}

/** A change of a job, written by a trigger that only these tests install. */
export interface ChangeRow {
  jobId: string;
  queueId: string;
  /** Null for the insert. */
  from: string | null;
  to: string;
  attempts: number;
  deferCount: number;
  token: number;
  /** Who has claimed it, or had. */
  workerId: number | null;
  claimedAt: number | null;
  at: number;
}

/** What was read of a finished job while the run went on. */
export interface TerminalRead {
  id: string;
  /** All that could change, as text. */
  state: string;
}

export interface Snapshot {
  at: number;
  queueId: string;
  inFlight: number;
}

export interface Run {
  webhookTimeoutMs: number;
  leaseMs: number;
  queues: QueueRecord[];
  publishes: PublishRecord[];
  reports: ReportRecord[];
  replays: ReplayRecord[];
  reads: ReadRecord[];
  deliveries: DeliveryRecord[];
  faults: FaultRecord[];
  jobs: JobRow[];
  history: HistoryRow[];
  deadLetters: DeadLetterRow[];
  changes: ChangeRow[];
  terminalReads: TerminalRead[];
  snapshots: Snapshot[];
  /** Delivery attempts as the account is billed for them. */
  usage: number;
}

export interface Violation {
  id: string;
  what: string;
}
