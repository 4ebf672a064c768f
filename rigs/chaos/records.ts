/**
 * The records of a run, the only input of the checker (docs/invariants.md): the client's log, the receiver's
 * log, the log of faults, and readings of the database. All times are milliseconds since the epoch, of the
 * machine's one clock. This file imports nothing of the service.
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
  /** Seconds of `Retry-After` in every backpressure answer, and of `retryAfter` in every defer. */
  retryAfterMs: number;
  /** True if only a fault can delay its due jobs, so that recovery can be measured. */
  unlimited: boolean;
  /** The host of its webhook, where that has a name. */
  host: string | null;
}

/** `fail`: certainly not done. `indeterminate`: no answer came, so it may or may not have been done. */
export type Outcome = 'ok' | 'fail' | 'indeterminate';

interface Call {
  /** Address of the process that was called; null if none ran. */
  to: string | null;
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
  /** The job as another connection read it right after the answer; null when it was not read. */
  seenByOthers: boolean | null;
  /** The reason that a refusal gave. */
  said: string | null;
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
  /** F-31, F-32, F-33: connections that die while one or both ends do not notice. */
  | 'server-gone'
  | 'client-gone'
  | 'black-hole'
  /** F-34, and the way back to the server that was failed over from. */
  | 'fail-over'
  | 'went-back'
  /** Faults under Patroni (rigs/patroni). */
  | 'kill-leader'
  | 'switch-over'
  | 'freeze-leader'
  /** F-35 to F-40. */
  | 'read-only'
  | 'suspend-worker'
  | 'name-server'
  | 'clock'
  | 'disk-full'
  | 'standby-hangs'
  /** F-43, F-44, F-47, F-50, F-51 and F-54. */
  | 'stall-opening'
  | 'foreign-lock'
  | 'connect-many'
  | 'break-pipelines'
  | 'stall-worker'
  | 'held-snapshot'
  /** F-45 and F-46: the operator's own way to the receivers. */
  | 'proxy-away'
  | 'names-away'
  /** Not caused by the run: a process that ended by itself. */
  | 'unexpected-exit';

export interface FaultRecord {
  kind: FaultKind;
  pid: number;
  /** Address of the process, if it was stopped and served the API. */
  baseUrl?: string;
  /** The number that a worker has in the database. */
  workerId?: number | null;
  at: number;
  /** When the part that it broke worked again: ready, thawed, healed. */
  healedAt: number | null;
  /** Jobs that the process had claimed and not settled. */
  interrupted: string[];
  /** Requests without an answer at that moment: deliveries at the receiver, or publishes. */
  underWay: number;
  /** When its cause had ended; until then nothing can work again. Where it is absent, at once. */
  overAt?: number;
  /** Milliseconds from then on within which what it broke must work again; undefined: not checked. */
  boundMs?: number;
  /** Connections that were silenced, by their application names. */
  connections?: string;
  /** How far the clock of the database was moved until it was healed. */
  shiftMs?: number;
  /** Hosts whose names were not answered, or not always. */
  hosts?: string[];
}

/** An answer of an endpoint while the database took no writes. */
export interface ProbeRecord {
  at: number;
  kind: 'read' | 'readiness';
  status: number | null;
  /** Since when the database took no writes. */
  since: number;
}

/** A job that was removed from the database, and what it was then. */
export interface RemovalRecord {
  jobId: string;
  status: string;
  at: number;
}

/** Which lease locks the server had, by the numbers of their workers. */
export interface LockSnapshot {
  /** When the snapshot was queried: it shows the state at some moment between then and `at`. */
  askedAt: number;
  /** When its result arrived. */
  at: number;
  workerIds: number[];
  /** When the server last confirmed the lock of each worker, lock or not; at the earliest. */
  confirmed: { workerId: number; at: number }[];
}

/** A key that was revoked while a client used it, and the times of its last event and answer. */
export interface RevocationRecord {
  revokedAt: number;
  lastEventAt: number | null;
  lastAnswerAt: number | null;
}

/** Sessions that the server had of one process. */
export interface SessionCount {
  at: number;
  process: string;
  sessions: number;
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
  /** The end of its lifetime. */
  deliverBy: number;
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
  /** The worker that has or had the claim. */
  workerId: number | null;
  claimedAt: number | null;
  /** Whether another process took the claim back because it held the worker for dead. */
  isTakeBack: boolean;
  at: number;
}

/** A finished job as it was read during the run. */
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

/** The end of a process that got SIGTERM when all work was done; null when it did not end. */
export interface ExitRecord {
  process: string;
  tookMs: number | null;
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
  removals: RemovalRecord[];
  locks: LockSnapshot[];
  probes: ProbeRecord[];
  revocations: RevocationRecord[];
  /** The largest number seen of each process. */
  sessions: SessionCount[];
  /** Changes in a server after it was failed over from. */
  pastWrites: { at: number; what: string }[];
  /** The exits of the processes that ran until the end. */
  exits: ExitRecord[];
}

export interface Violation {
  id: string;
  what: string;
}
