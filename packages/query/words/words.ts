import type { SchemaType } from '../schema/types.ts';

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
  | 'download'
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
  | 'star'
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

export type JobState = SchemaType<'JobState'>;

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

/** A dead job that was sent again: it waits for no person. */
const REPLAYED: Word = { word: 'Dead, replayed', icon: 'undo', signal: 'idle' };

export const CANCELLED: Word = { word: 'Cancelled', icon: 'cancelled', signal: 'idle' };

export type WaitReason = SchemaType<'WaitReason'>;

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

export type JobStatus = SchemaType<'JobStatus'>;

/**
 * The word of a job: of its state, which it keeps while its queue is paused or held. What is due is told apart by what
 * it waits for, and a job that is about to die with its queue says so.
 */
export function wordOfJob({
  state,
  deadReason,
  waiting,
  deadLetter,
}: {
  state: JobState;
  deadReason: string | null;
  deadLetter?: { replayedAt: string | null } | null;
  waiting: { reason: WaitReason } | null;
}): Word {
  const reason = waiting?.reason ?? 'DUE';
  if (state === 'DUE' || reason === 'QUEUE_DELETED') return WAIT_REASONS[reason];
  if (deadLetter?.replayedAt != null) return REPLAYED;
  return state === 'DEAD' && deadReason === 'CANCELLED' ? CANCELLED : JOB_STATES[state];
}

export type AttemptStatus = SchemaType<'AttemptStatus'>;

export const ATTEMPTS: Readonly<Record<AttemptStatus, Word>> = {
  SUCCESS: { word: 'Success', icon: 'done', signal: 'ok' },
  FAILED: { word: 'Failed', icon: 'failed', signal: 'bad' },
  NACKED: { word: 'Nacked', icon: 'nacked', signal: 'bad' },
  DEFERRED: { word: 'Deferred', icon: 'held', signal: 'hold' },
};

export const ACTIONS: Readonly<Record<SchemaType<'BulkActionStatus'>, Word>> = {
  RUNNING: { word: 'Running', icon: 'actions', signal: 'run' },
  PAUSED: { word: 'Paused', icon: 'paused', signal: 'idle' },
  COMPLETED: { word: 'Completed', icon: 'done', signal: 'ok' },
  FAILED: { word: 'Failed', icon: 'failed', signal: 'bad' },
  CANCELLED: { word: 'Cancelled', icon: 'stop', signal: 'idle' },
};
