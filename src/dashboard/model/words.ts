/** Words, icons and signals of everything that has a state. A part shows icon, word and colour, in this order. */

export type Signal = 'ok' | 'run' | 'ack' | 'hold' | 'warn' | 'bad' | 'idle';

export type IconName =
  | 'ack'
  | 'actions'
  | 'activity'
  | 'cancelled'
  | 'check'
  | 'copy'
  | 'dead'
  | 'deleted'
  | 'done'
  | 'down'
  | 'due'
  | 'edit'
  | 'failed'
  | 'failing'
  | 'growing'
  | 'held'
  | 'idle'
  | 'info'
  | 'jobs'
  | 'key'
  | 'left'
  | 'list'
  | 'more'
  | 'moving'
  | 'nacked'
  | 'open'
  | 'overview'
  | 'pause'
  | 'paused'
  | 'play'
  | 'plus'
  | 'pressure'
  | 'probe'
  | 'processing'
  | 'queues'
  | 'rate'
  | 'retrying'
  | 'right'
  | 'scheduled'
  | 'search'
  | 'send'
  | 'settings'
  | 'slots'
  | 'slow'
  | 'stop'
  | 'system'
  | 'theme'
  | 'undo'
  | 'up'
  | 'user'
  | 'x';

export interface Word {
  word: string;
  icon: IconName;
  signal: Signal;
}

export type JobState = 'DUE' | 'SCHEDULED' | 'RETRYING' | 'HELD' | 'PROCESSING' | 'AWAITING_ACK' | 'COMPLETED' | 'DEAD';

export const JOB_STATES: Readonly<Record<JobState, Word>> = {
  DUE: { word: 'Due', icon: 'due', signal: 'idle' },
  SCHEDULED: { word: 'Scheduled', icon: 'scheduled', signal: 'idle' },
  RETRYING: { word: 'Retrying', icon: 'retrying', signal: 'warn' },
  HELD: { word: 'Held', icon: 'held', signal: 'hold' },
  PROCESSING: { word: 'Processing', icon: 'processing', signal: 'run' },
  AWAITING_ACK: { word: 'Awaiting ack', icon: 'ack', signal: 'ack' },
  COMPLETED: { word: 'Completed', icon: 'done', signal: 'ok' },
  DEAD: { word: 'Dead', icon: 'dead', signal: 'bad' },
};

export const CANCELLED: Word = { word: 'Cancelled', icon: 'cancelled', signal: 'idle' };

export type WaitReason =
  | 'DUE'
  | 'DELAYED'
  | 'BACKOFF'
  | 'HELD'
  | 'QUEUE_HELD'
  | 'PROBE_IN_FLIGHT'
  | 'PAUSED'
  | 'CONCURRENCY'
  | 'RATE_LIMIT'
  | 'QUEUE_DELETED';

export const WAIT_REASONS: Readonly<Record<WaitReason, Word>> = {
  DUE: JOB_STATES.DUE,
  DELAYED: JOB_STATES.SCHEDULED,
  BACKOFF: JOB_STATES.RETRYING,
  HELD: JOB_STATES.HELD,
  QUEUE_HELD: { word: 'Queue held', icon: 'held', signal: 'hold' },
  PROBE_IN_FLIGHT: { word: 'Behind probe', icon: 'probe', signal: 'hold' },
  PAUSED: { word: 'Paused', icon: 'paused', signal: 'idle' },
  CONCURRENCY: { word: 'No free slot', icon: 'slots', signal: 'idle' },
  RATE_LIMIT: { word: 'Rate limit', icon: 'rate', signal: 'idle' },
  QUEUE_DELETED: { word: 'Queue deleted', icon: 'deleted', signal: 'bad' },
};

export type JobStatus = 'PENDING' | 'PROCESSING' | 'AWAITING_ACK' | 'COMPLETED' | 'DEAD';

/** The word of a job: of its waiting reason while it is pending, else of its status. */
export function wordOfJob(job: {
  status: JobStatus;
  deadReason: string | null;
  waiting: { reason: WaitReason } | null;
}): Word {
  if (job.status === 'PENDING') return WAIT_REASONS[job.waiting?.reason ?? 'DUE'];
  if (job.status === 'DEAD' && job.deadReason === 'CANCELLED') return CANCELLED;
  return JOB_STATES[job.status];
}

export type AttemptStatus = 'SUCCESS' | 'FAILED' | 'NACKED' | 'DEFERRED';

export const ATTEMPTS: Readonly<Record<AttemptStatus, Word>> = {
  SUCCESS: { word: 'Success', icon: 'done', signal: 'ok' },
  FAILED: { word: 'Failed', icon: 'failed', signal: 'bad' },
  NACKED: { word: 'Nacked', icon: 'nacked', signal: 'bad' },
  DEFERRED: { word: 'Deferred', icon: 'held', signal: 'hold' },
};

export const ACTIONS: Readonly<Record<'RUNNING' | 'PAUSED' | 'COMPLETED' | 'FAILED' | 'CANCELLED', Word>> = {
  RUNNING: { word: 'Running', icon: 'actions', signal: 'run' },
  PAUSED: { word: 'Paused', icon: 'paused', signal: 'idle' },
  COMPLETED: { word: 'Completed', icon: 'done', signal: 'ok' },
  FAILED: { word: 'Failed', icon: 'failed', signal: 'bad' },
  CANCELLED: { word: 'Cancelled', icon: 'stop', signal: 'idle' },
};
