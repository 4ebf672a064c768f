/**
 * What a run leaves behind, and all that the checker gets (docs/invariants.md): the client's log, the
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
  /** Of its webhook, where that has a name. */
  host: string | null;
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
  /** F-31, F-32, F-33: connections that die without both ends being told. */
  | 'server-gone'
  | 'client-gone'
  | 'black-hole'
  /** F-34, and the way back to the server that was failed over from. */
  | 'fail-over'
  | 'went-back'
  /** F-35 to F-40. */
  | 'read-only'
  | 'suspend-worker'
  | 'name-server'
  | 'clock'
  | 'disk-full'
  | 'standby-hangs'
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
  /** When its cause had ended; until then nothing can work again. Where it is absent, at once. */
  overAt?: number;
  /** How long what it broke may take from then on to work again; without it nobody asks. */
  boundMs?: number;
  /** Connections that were silenced, by their application names. */
  connections?: string;
  /** How far the clock of the database was moved until it was healed. */
  shiftMs?: number;
  /** Hosts whose names were not answered, or not always. */
  hosts?: string[];
}

/** What the endpoints said while the database took no writes. */
export interface ProbeRecord {
  at: number;
  kind: 'read' | 'readiness';
  status: number | null;
  /** Since when it had been so. */
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
  /** When it was asked for: what it shows was so at some moment between then and `at`. */
  askedAt: number;
  /** When it had arrived. */
  at: number;
  workerIds: number[];
}

/** A worker said that it took back what these had claimed. */
export interface TakeBackRecord {
  at: number;
  workerIds: number[];
}

/** A key that was revoked while somebody used it, and when it last heard anything. */
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
  removals: RemovalRecord[];
  locks: LockSnapshot[];
  takeBacks: TakeBackRecord[];
  probes: ProbeRecord[];
  revocations: RevocationRecord[];
  /** The most that were seen of each process. */
  sessions: SessionCount[];
  /** What changed in a server of the past after it was one. */
  pastWrites: { at: number; what: string }[];
}

export interface Violation {
  id: string;
  what: string;
}
