import { span, time, timeWithTenths, took, type View } from '../../query/words/format.ts';
import {
  ATTEMPTS,
  CANCELLED,
  type IconName,
  type JobState,
  type Signal,
  WAIT_REASONS,
} from '../../query/words/words.ts';
import { codeOf, shortCause } from './cause.ts';
import type { AttemptNow, JobWhole } from './job.ts';

/**
 * The crossing: the line on which a job goes from Published to its end. Stops are events; legs are the time between,
 * the longer the wider, but by the logarithm, so that an hour and a second can both be read.
 */
export interface Stop {
  kind: 'stop';
  label: string;
  /** The label in full, where it is cut. */
  whole?: string;
  sub: string;
  icon: IconName;
  signal: Signal | null;
  /** Still to come. */
  isLater: boolean;
}

export interface Leg {
  kind: 'leg';
  label: string;
  signal: Signal | null;
  /** Dashed: nothing is under way. */
  isWait: boolean;
  /** Thick: a delivery or a report of more than a second. */
  isSlow: boolean;
  isLater: boolean;
  /** Longer than it is drawn. */
  isCut: boolean;
  /** Share of the width. */
  weight: number;
}

export type Part = Stop | Leg | { kind: 'now' } | { kind: 'more'; count: number };

/**
 * A delivery or a report of more than this is drawn thick; an attempt so late after its backoff or hold waited for
 * something else.
 */
const SLOW_MS = 1000;
const CUT_MS = 10 * 60_000;
const MAX_STOPS = 7;
const LAST_SHOWN = 4;

interface CrossingContext extends View {
  webhookTimeoutSeconds: number;
}

/** All parts in order. With `isWhole` false, many attempts are one part that says how many they are. */
export function crossingOf(job: JobWhole, context: CrossingContext, isWhole: boolean): Part[] {
  const published = stop('Published', timeWithTenths(Date.parse(job.createdAt), context), 'due', null);
  const attempts = job.attempts.map((attempt, index) => attemptParts(job, attempt, job.attempts[index - 1], context));
  const hidden = attempts.length + 1 > MAX_STOPS && !isWhole ? attempts.length - LAST_SHOWN : 0;
  return [
    published,
    ...(hidden > 0 ? [{ kind: 'more', count: hidden } as const] : []),
    ...attempts.slice(hidden).flat(),
    ...endOf(job, context),
  ];
}

function attemptParts(
  job: JobWhole,
  attempt: AttemptNow,
  before: AttemptNow | undefined,
  context: CrossingContext,
): Part[] {
  const end = Date.parse(attempt.at);
  const begin = beginOf(attempt);
  const from = Date.parse(before?.at ?? job.createdAt);
  const parts: Part[] = [waitBefore(begin - from, attempt.waitMs, before)];
  const delivery = attempt.durationMs ?? 0;
  const { icon, signal } = ATTEMPTS[attempt.status];
  if (isReported(job, attempt)) {
    parts.push(leg(end - begin, took(end - begin), { signal: 'ack', isSlow: end - begin > SLOW_MS }));
  } else if (delivery > SLOW_MS) {
    const isUnanswered = attempt.webhookStatusCode === null && attempt.status === 'FAILED';
    parts.push(leg(delivery, isUnanswered ? `no answer, ${took(delivery)}` : took(delivery), { signal, isSlow: true }));
  }
  const isEnd = attempt.status === 'SUCCESS' && job.status === 'COMPLETED';
  const answer = answerOf(attempt);
  const sub = attempt.durationMs === null || delivery > SLOW_MS ? time(end, context) : took(delivery);
  parts.push(
    isEnd
      ? stop('Completed', `#${attempt.attempt} · ${answer} · ${time(end, context)}`, icon, signal)
      : { ...stop(cut(answer), `#${attempt.attempt} · ${sub}`, icon, signal), whole: answer },
  );
  return parts;
}

/** In ack mode the receiver only takes the job; the attempt ends with the worker's report, or without one. */
function isReported({ queue }: JobWhole, { durationMs, webhookStatusCode }: AttemptNow): boolean {
  return queue.mode === 'ACK' && durationMs !== null && webhookStatusCode !== null && webhookStatusCode < 300;
}

/** When the delivery began. If that was not recorded, it is derived from its end. */
function beginOf({ startedAt, at, durationMs }: AttemptNow): number {
  return startedAt === null ? Date.parse(at) - (durationMs ?? 0) : Date.parse(startedAt);
}

/** The code, or the error where the code was not the problem. */
function answerOf({ webhookStatusCode: code, error, status }: AttemptNow): string {
  const isCause = code !== null && (status === 'SUCCESS' || codeOf(error) !== null || error === null);
  return isCause ? String(code) : shortCause(error) || ATTEMPTS[status].word;
}

/** An error in the worker's own words may be long. */
const cut = (text: string) => (text.length > 18 ? `${text.slice(0, 17)}…` : text);

function waitBefore(ms: number, lateMs: number | null, before: AttemptNow | undefined): Leg {
  if (before === undefined) {
    const isDelayed = ms - (lateMs ?? 0) > SLOW_MS;
    return leg(ms, isDelayed ? `delayed ${took(ms)}` : took(ms), {
      isWait: isDelayed,
      signal: isDelayed ? 'idle' : null,
    });
  }
  const isHeld = before.status === 'DEFERRED';
  const until = before.heldUntil ?? before.retryAt;
  const planned = until === null ? ms : Date.parse(until) - Date.parse(before.at);
  const late = ms - planned;
  // Paused, held or without a free slot: the rest of the time it waited for its queue.
  const label = late > SLOW_MS ? `${took(planned)}, then ${took(late)} waiting for the queue` : took(ms);
  return leg(ms, `${isHeld ? 'held' : 'backoff'} ${label}`, { isWait: true, signal: isHeld ? 'hold' : 'warn' });
}

function endOf(job: JobWhole, context: CrossingContext): Part[] {
  const from = Date.parse(job.attempts.at(-1)?.at ?? job.createdAt);
  switch (job.status) {
    case 'PENDING':
      return [...pending(job, from, context), ...givesUp(job)];
    case 'PROCESSING':
      return processing(job, from, context);
    case 'AWAITING_ACK':
      return awaiting(job, from, context);
    case 'COMPLETED':
      return job.attempts.at(-1)?.status === 'SUCCESS'
        ? []
        : [leg(0, ''), stop('Completed', clock(job.endedAt, context), 'done', 'ok')];
    case 'DEAD': {
      const at = job.endedAt;
      const isCancelled = job.deadReason === 'CANCELLED';
      const { word, icon, signal } = isCancelled ? CANCELLED : ({ word: 'Dead', icon: 'dead', signal: 'bad' } as const);
      const waited = at === null ? 0 : Date.parse(at) - from;
      const label = waited > SLOW_MS ? took(waited) : '';
      return [leg(waited, label, { signal, isWait: waited > SLOW_MS }), stop(word, clock(at, context), icon, signal)];
    }
  }
}

function pending(job: JobWhole, from: number, context: CrossingContext): Part[] {
  const reason = job.waiting?.reason ?? 'DUE';
  const { signal, word } = WAIT_REASONS[reason];
  const at = job.waiting?.earliestAt ?? null;
  const passed = Math.max(0, context.now - from);
  const next = `Attempt ${job.attemptsMade + 1}`;
  const look = { isWait: true, signal };
  const ownLeft = Math.max(0, Date.parse(job.scheduledFor) - context.now);
  if (at === null) {
    const own = OWN_WAITS[job.state];
    const isOwn = own !== undefined && ownLeft > 0;
    return [
      leg(passed, isOwn ? '' : took(passed), isOwn ? own.look : look),
      NOW,
      ...(isOwn ? [leg(ownLeft, `${span(ownLeft)} of ${own.word} left`, own.look)] : []),
      leg(SLOW_MS, word.toLowerCase(), look),
      stop(next, 'next', 'scheduled', null, true),
    ];
  }
  const left = Math.max(0, Date.parse(at) - context.now);
  return [
    ...[leg(passed, '', look), NOW, leg(left, `${span(left)} of ${took(passed + left)} left`, look)],
    stop(next, clock(at, context), 'scheduled', null, true),
  ];
}

/** Waits of the job itself, which go on while its queue is paused. */
const OWN_WAITS: Readonly<Partial<Record<JobState, { word: string; look: { isWait: true; signal: Signal } }>>> = {
  RETRYING: { word: 'backoff', look: { isWait: true, signal: 'warn' } },
  HELD: { word: 'its hold', look: { isWait: true, signal: 'hold' } },
  SCHEDULED: { word: 'its delay', look: { isWait: true, signal: 'idle' } },
};

/** The longest way on: each further attempt fails. */
function givesUp(job: JobWhole): Part[] {
  if (job.attemptsMade + 1 >= job.maxAttempts) return [];
  const weight = { isLater: true, isCut: true };
  return [leg(SLOW_MS, 'at most', weight), stop('Gives up', `after attempt ${job.maxAttempts}`, 'dead', null, true)];
}

function processing(job: JobWhole, from: number, context: CrossingContext): Part[] {
  const started = Date.parse(job.startedAt ?? job.scheduledFor);
  const passed = Math.max(0, context.now - started);
  const left = Math.max(0, context.webhookTimeoutSeconds * 1000 - passed);
  return [
    waitBefore(started - from, null, job.attempts.at(-1)),
    stop(`Attempt ${job.attemptsMade}`, time(started, context), 'processing', 'run'),
    leg(passed, span(Math.floor(passed / 1000) * 1000), { signal: 'run', isSlow: passed > SLOW_MS }),
    NOW,
    leg(left, `${span(left)} at most`, { isLater: true }),
    stop('Answer', '', 'scheduled', null, true),
  ];
}

function awaiting(job: JobWhole, from: number, context: CrossingContext): Part[] {
  const started = Date.parse(job.startedAt ?? job.scheduledFor);
  const { webhookStatusCode, durationMs } = job.receipt ?? { webhookStatusCode: null, durationMs: null };
  const received = started + (durationMs ?? 0);
  const passed = Math.max(0, context.now - received);
  const left = Math.max(0, Date.parse(job.ackDeadline ?? '') - context.now) || 0;
  const answer = webhookStatusCode === null ? '' : `${webhookStatusCode} · `;
  return [
    waitBefore(started - from, null, job.attempts.at(-1)),
    ...((durationMs ?? 0) > SLOW_MS
      ? [leg(durationMs ?? 0, took(durationMs ?? 0), { signal: 'ack', isSlow: true })]
      : []),
    stop('Received', `#${job.attemptsMade} · ${answer}${time(received, context)}`, 'ack', 'ack'),
    leg(passed, span(Math.floor(passed / 1000) * 1000), { signal: 'ack', isSlow: passed > SLOW_MS }),
    NOW,
    leg(left, `${span(left)} left to report`, { isWait: true, signal: 'ack' }),
    stop('Report due', clock(job.ackDeadline, context), 'scheduled', null, true),
  ];
}

const NOW = { kind: 'now' } as const;

const clock = (at: string | null, context: View) => (at === null ? '' : time(Date.parse(at), context));

function stop(label: string, sub: string, icon: IconName, signal: Signal | null, isLater = false): Stop {
  return { kind: 'stop', label, sub, icon, signal, isLater };
}

function leg(ms: number, label: string, look: Partial<Omit<Leg, 'kind' | 'label' | 'weight'>> = {}): Leg {
  const seconds = Math.max(0, ms) / 1000;
  return {
    kind: 'leg',
    label,
    weight: Math.round(Math.min(4, 0.5 + Math.log2(1 + seconds) / 3) * 10) / 10,
    signal: null,
    isWait: false,
    isSlow: false,
    isLater: false,
    isCut: ms > CUT_MS,
    ...look,
  };
}
