import { backoffMs } from '../../../src/domain/backoff.ts';
import { lowerFirst, many, NONE, quote, seconds, span, time, took, type View } from '../../query/words/format.ts';
import { shortId } from '../../query/words/job-id.ts';
import { wordOfJob } from '../../query/words/words.ts';
import { causeOf } from './cause.ts';
import type { AttemptNow, JobNow, JobWhole } from './job.ts';
import { type Phrase, phrase, sentences, type TimePiece, textOfPhrase } from './phrase.ts';

/** The first line of a job's page: what happens next and when, or what became of it. */

export interface JobContext extends View {
  webhookTimeoutSeconds: number;
  /** Whether a process that delivers was seen within 30 s. */
  hasWorker: boolean;
}

/** After this much more than the webhook's time, the worker that delivers is taken for lost. */
const SILENT_AFTER_MS = 5000;

export function sentenceOfJob(job: JobWhole, context: JobContext): Phrase {
  switch (job.status) {
    case 'PENDING':
      return pending(job, context);
    case 'PROCESSING':
      return processing(job, context);
    case 'AWAITING_ACK':
      return phrase`Received. The worker has ${left(job.ackDeadline, context)} more to report, until ${moment(job.ackDeadline, context)}.`;
    case 'COMPLETED':
      return completed(job, context);
    case 'DEAD':
      return dead(job, context);
  }
}

function pending(job: JobWhole, context: JobContext): Phrase {
  const { queue, waiting } = job;
  const at = waiting?.earliestAt ?? job.scheduledFor;
  const because = causeOf(job.lastError, context.webhookTimeoutSeconds);
  switch (waiting?.reason ?? 'DUE') {
    case 'BACKOFF':
      return phrase`Retries in ${left(at, context)}, at ${moment(at, context)}, because ${because}.`;
    case 'HELD':
      return phrase`Held for ${left(at, context)} more, until ${moment(at, context)}, because ${because}. No attempt is used.`;
    case 'QUEUE_HELD':
      return phrase`Waits: its queue is held for ${left(queue.hold?.until ?? at, context)} more, until ${moment(queue.hold?.until ?? at, context)}${holder(queue.hold)}.`;
    case 'PROBE_IN_FLIGHT':
      return phrase`Waits for the probe: ${queue.hold?.probe ? `job ${shortId(queue.hold.probe.id)}` : 'one job'} tests whether the receiver accepts deliveries again.`;
    case 'DELAYED':
      return phrase`Scheduled for ${moment(at, context)}, in ${left(at, context)}.`;
    case 'PAUSED':
      return queue.pause === null
        ? phrase`Waits because its queue is paused.`
        : phrase`Waits because ${queue.pause.by} paused the queue at ${moment(queue.pause.since, context)}.`;
    case 'CONCURRENCY':
      return phrase`Waits for a free slot: ${queue.inFlight ?? queue.concurrency} of ${queue.concurrency} in use${awaited(queue)}.`;
    case 'RATE_LIMIT':
      return phrase`Waits until ${moment(at, context)}, ${left(at, context)} more: the rate limit of ${queue.rateWindow?.max ?? queue.rateLimitMax ?? NONE} per ${seconds(queue.rateLimitWindow)} is used up.`;
    case 'QUEUE_DELETED':
      return phrase`Its queue was deleted: the job dies in a moment.`;
    case 'DUE':
      if (!context.hasWorker) return phrase`Waits because no worker is running.`;
      return waiting?.ahead === 0 || waiting?.ahead === undefined
        ? phrase`Next in line: nothing stands in its way.`
        : phrase`Waits for its turn: ${aheadText(waiting.ahead)}.`;
  }
}

function holder(hold: JobWhole['queue']['hold']): string {
  if (hold?.byBreaker === true) return ', when its breaker probes the receiver again, which fails now';
  if (hold?.askedBy == null) return hold?.reason == null ? '' : `, because its receiver said ${quote(hold.reason)}`;
  const id = shortId(hold.askedBy.id);
  return hold.reason === null ? `, because job ${id} was deferred` : `, because job ${id} said ${quote(hold.reason)}`;
}

const awaited = ({ depth }: JobWhole['queue']) =>
  depth?.awaitingAck ? `, ${depth.awaitingAck} waiting for a report` : '';

function processing(job: JobWhole, context: JobContext): Phrase {
  const elapsed = Math.max(0, context.now - Date.parse(job.startedAt ?? job.scheduledFor));
  const limit = context.webhookTimeoutSeconds;
  return elapsed > limit * 1000 + SILENT_AFTER_MS
    ? phrase`The worker stopped responding. Jobferry will requeue this job; the attempt does not count.`
    : phrase`Being delivered for ${wholeSeconds(elapsed)}; the receiver has ${seconds(limit)}.`;
}

function completed(job: JobWhole, context: JobContext): Phrase {
  const at = moment(job.endedAt, context);
  const last = job.attempts.findLast(({ status }) => status === 'SUCCESS');
  if (job.queue.mode === 'ACK') return phrase`Completed at ${at}: the worker reported success.`;
  if (last?.webhookStatusCode == null) return phrase`Completed at ${at}.`;
  const within = last.durationMs === null ? '' : ` in ${took(last.durationMs)}`;
  return phrase`Completed at ${at}: the receiver answered ${last.webhookStatusCode}${within}.`;
}

function dead(job: JobWhole, context: JobContext): Phrase {
  if (job.deadReason === 'CANCELLED') {
    const by = job.cancelledBy === null ? '' : ` by ${job.cancelledBy}`;
    return phrase`Cancelled at ${moment(job.endedAt, context)}${by}.`;
  }
  const since = phrase`Dead since ${moment(job.endedAt, context)}`;
  const last = job.attempts.at(-1);
  switch (job.deadReason) {
    case 'ACK_TIMEOUT':
      return phrase`${since}: the worker did not report within ${seconds(job.queue.ackTimeout)}.`;
    case 'NACKED':
      if (last?.status === 'FAILED')
        return phrase`${since}: the receiver refused it for good with ${last.webhookStatusCode ?? 'its answer'}.`;
      return phrase`${since}: the worker refused it for good${quoted(last?.error ?? null)}.`;
    case 'DEFER_CAP_EXHAUSTED': {
      const code = job.attempts.findLast(({ status }) => status === 'DEFERRED')?.webhookStatusCode;
      return phrase`${since}: the limit of ${many(job.queue.maxDefers, 'hold')} is used up${code == null ? '' : `; the receiver last answered ${code}`}.`;
    }
    case 'RETRY_AFTER_EXCEEDS_LIFETIME':
      return phrase`${since}: the receiver asked to wait past ${moment(job.deliverBy, context)}, the end of the job’s lifetime.`;
    case 'DELIVERY_LIFETIME_EXCEEDED':
      return phrase`${since}: its lifetime ended at ${moment(job.deliverBy, context)} before it was delivered.`;
    case 'QUEUE_DELETED':
      return phrase`${since}: its queue was deleted.`;
    default:
      return phrase`${since}: ${exhausted(job, context)}`;
  }
}

function exhausted(job: JobWhole, context: JobContext): string {
  const failures = job.attempts.filter(({ status }) => status === 'FAILED' || status === 'NACKED');
  const [first] = failures;
  const cause = causeOf(failures.at(-1)?.error ?? job.lastError, context.webhookTimeoutSeconds);
  return (failures.length > 0 || job.maxAttempts === 1) && failures.every(({ error }) => error === first?.error)
    ? `${cause} ${onAll(failures.length, cause.includes(' not '))}.`
    : `the last of ${job.maxAttempts} attempts failed because ${cause}.`;
}

/** "on both attempts", "on all 5 attempts"; after "not" "on either attempt", "on any of 5 attempts". */
const onAll = (count: number, isNegative: boolean) =>
  count < 2
    ? 'on the only attempt'
    : count === 2
      ? `on ${isNegative ? 'either attempt' : 'both attempts'}`
      : `on ${isNegative ? 'any of' : 'all'} ${count} attempts`;

const quoted = (text: string | null) => (text === null || text === '' ? '' : `: ${quote(text)}`);

/** The line below the first: what is used, and what follows. */
export function secondLineOfJob(job: JobWhole, context: JobContext): Phrase {
  switch (job.status) {
    case 'PENDING':
      return sentences(ownWait(job, context), ...used(job));
    case 'PROCESSING':
      return sentences(
        `This is attempt ${job.attemptsMade} of ${job.maxAttempts}.`,
        whatFollows(job, job.attemptsMade, 'this attempt'),
      );
    case 'AWAITING_ACK':
      return sentences(
        receiptOf(job),
        job.progress === null || job.progress.text === null
          ? `This is attempt ${job.attemptsMade} of ${job.maxAttempts}. Without a report in time, ${job.attemptsMade < job.maxAttempts && job.queue.ackTimeoutAction !== 'DEAD' ? 'it counts as failed' : 'the job is dead'}.`
          : phrase`The worker said ${quote(job.progress.text)} at ${moment(job.progress.at, context)}.`,
      );
    case 'COMPLETED': {
      const whole = Date.parse(job.endedAt ?? job.createdAt) - Date.parse(job.createdAt);
      const attempt = `attempt ${job.attemptsMade} of ${job.maxAttempts}`;
      return phrase`It took ${took(whole)} from publish to completion, on ${attempt}.`;
    }
    case 'DEAD':
      return [];
  }
}

/** The sentence of a job that waits for its queue, and would have to wait in any case. */
function ownWait({ state, waiting, scheduledFor, lastError }: JobWhole, context: JobContext): Phrase | null {
  if (waiting === null || OWN_REASONS.has(waiting.reason)) return null;
  const at = moment(scheduledFor, context);
  const because = causeOf(lastError, context.webhookTimeoutSeconds);
  switch (state) {
    case 'RETRYING':
      return phrase`Its retry is set for ${at}, because ${because}.`;
    case 'HELD':
      return phrase`The job itself is held until ${at}, because ${because}.`;
    case 'SCHEDULED':
      return phrase`It is scheduled for ${at}.`;
    default:
      return null;
  }
}

/** Waits that the first line tells. */
const OWN_REASONS: ReadonlySet<string> = new Set(['BACKOFF', 'HELD', 'DELAYED']);

function used(job: JobWhole): (string | null)[] {
  if (job.state === 'HELD') {
    return [`Holds used: ${job.deferCount} of ${job.queue.maxDefers}.`, attemptsUsed(job)];
  }
  return [attemptsUsed(job), earlierAnswers(job), whatFollows(job, job.attemptsMade + 1)];
}

/** "The receiver answered 202 in 48 ms." */
export function receiptOf({ receipt }: Pick<JobWhole, 'receipt'>): string | null {
  if (receipt === null) return null;
  const within = receipt.durationMs === null ? '' : ` in ${took(receipt.durationMs)}`;
  return `The receiver answered ${receipt.webhookStatusCode}${within}.`;
}

function aheadText(ahead: number | null): string {
  if (ahead === null) return 'more than 1\u202f000 jobs in its queue are before it';
  return `${many(ahead, 'job in its queue is', 'jobs in its queue are')} before it`;
}

function attemptsUsed(job: JobWhole): string {
  return `Attempts used: ${job.attemptsMade} of ${job.maxAttempts}.`;
}

/** "The 2 earlier attempts were answered 500." */
function earlierAnswers(job: JobWhole): string | null {
  if (job.state !== 'RETRYING') return null;
  const earlier = job.attempts.slice(0, -1).filter(({ status }) => status === 'FAILED');
  const [first] = earlier;
  if (first?.webhookStatusCode == null || !earlier.every((one) => hasSameAnswer(one, first))) return null;
  if (job.attempts.at(-1)?.webhookStatusCode === first.webhookStatusCode) return null;
  const before = earlier.length === 1 ? 'The earlier attempt was' : `The ${earlier.length} earlier attempts were`;
  return `${before} answered ${first.webhookStatusCode}.`;
}

const hasSameAnswer = (a: AttemptNow, b: AttemptNow) => a.webhookStatusCode === b.webhookStatusCode;

function whatFollows(job: JobWhole, next: number, which = 'the next attempt'): string {
  if (next >= job.maxAttempts) return `If ${which} fails, the job dies.`;
  const too = job.attempts.some(({ status }) => status === 'FAILED') ? ' too' : '';
  const type = job.backoffType === 'FIXED' ? 'fixed' : 'exponential';
  return `If ${which} fails${too}, the job is retried after ${span(backoffMs(type, job.backoffDelay, next, 0))}.`;
}

/**
 * "Replayed at 14:24:59; the replay …007ce completed at 14:25:12."
 * @param replay the last one of the chain @param isFirst whether it is the replay of the job itself
 */
export function replayText(
  at: string,
  replay: (Pick<JobNow, 'state' | 'deadReason' | 'waiting' | 'endedAt'> & { id: string }) | null,
  view: View,
  isFirst = true,
): Phrase {
  const start = phrase`Replayed at ${moment(at, view)}`;
  if (replay === null) return phrase`${start}.`;
  const job = phrase`${start}; ${isFirst ? 'the' : 'that replay died and was replayed, too. The last'} replay ${shortId(replay.id)}`;
  if (replay.endedAt === null) return phrase`${job} is ${lowerFirst(wordOfJob(replay).word)}.`;
  const [end, when] = replay.state === 'COMPLETED' ? ['completed', 'at'] : ['is dead', 'since'];
  return phrase`${job} ${end} ${when} ${moment(replay.endedAt, view)}.`;
}

/** The title of the tab: the sentence up to its first comma, colon or full stop. */
export function shortSentence(sentence: Phrase): string {
  return textOfPhrase(sentence).split(/[,:;.](?: |$)/, 1)[0] ?? '';
}

/** The id may be of a job that was removed, or of none. */
export const sentenceOfMissingJob = (retentionSeconds: number) =>
  `No job has this id. Jobs are kept for ${seconds(retentionSeconds)}.`;

const piece = (at: number, view: View): TimePiece => ({ at, text: time(at, view) });

function moment(at: string | null, view: View): TimePiece | string {
  return at === null ? NONE : piece(Date.parse(at), view);
}

function left(at: string | null, { now }: View): string {
  return at === null ? NONE : span(Date.parse(at) - now);
}

/** Time that has passed counts whole seconds; time that is left counts the begun one too. */
const wholeSeconds = (ms: number) => span(Math.floor(ms / 1000) * 1000);
