import { minute, NONE, quote, seconds, span, took, type View } from '../../query/words/format.ts';
import { shortId } from '../../query/words/job-id.ts';
import { codeOf, shortCause } from './cause.ts';
import type { JobNow, QueueOfJob } from './job.ts';

/** The cell "Next step or reason" of a list. */

/** A list may know less of the queue than the job's page; the text then leaves out its numbers. */
interface JobInList extends JobNow {
  queue: Partial<QueueOfJob> & { name?: string };
  progress?: { text: string | null } | null;
}

interface RowContext extends View {
  webhookTimeoutSeconds: number;
}

export function rowTextOfJob(job: JobInList, context: RowContext): string {
  switch (job.status) {
    case 'PENDING':
      return pending(job, context);
    case 'PROCESSING': {
      const elapsed = Math.max(0, context.now - Date.parse(job.startedAt ?? job.scheduledFor));
      return `for ${span(Math.floor(elapsed / 1000) * 1000)}, of ${seconds(context.webhookTimeoutSeconds)} at most`;
    }
    case 'AWAITING_ACK':
      return joined(`${left(job.ackDeadline, context)} to report`, job.progress?.text ? quote(job.progress.text) : '');
    case 'COMPLETED':
      return job.startedAt === null || job.endedAt === null
        ? ''
        : `in ${took(Date.parse(job.endedAt) - Date.parse(job.startedAt))}`;
    case 'DEAD':
      return joined(replayed(job.deadLetter, context), dead(job));
  }
}

/** "replayed, completed at 14:25"; empty for a job that was not. */
function replayed(letter: JobInList['deadLetter'], context: View): string {
  const at = (iso: string) => minute(Date.parse(iso), context);
  const { replayedAt = null, lastReplay = null } = letter ?? {};
  if (replayedAt === null) return '';
  if (lastReplay === null) return `replayed at ${at(replayedAt)}`;
  const { state, endedAt, deadReason } = lastReplay;
  if (endedAt === null) return `replayed at ${at(replayedAt)}, not ended`;
  const end = state === 'COMPLETED' ? 'completed' : deadReason === 'CANCELLED' ? 'cancelled' : 'dead again';
  return `replayed, ${end} at ${at(endedAt)}`;
}

function pending(job: JobInList, context: RowContext): string {
  const { queue, waiting } = job;
  const at = waiting?.earliestAt ?? job.scheduledFor;
  // Why it retries or is held, also while it waits for its queue.
  const cause = job.state === 'RETRYING' || job.state === 'HELD' ? shortCause(job.lastError) : '';
  switch (waiting?.reason ?? 'DUE') {
    case 'BACKOFF':
      return joined(`in ${left(at, context)}`, cause);
    case 'HELD':
      return joined(`for ${left(at, context)} more`, cause);
    case 'QUEUE_HELD':
      return joined(`queue held for ${left(queue.hold?.until ?? at, context)} more`, cause);
    case 'PROBE_IN_FLIGHT':
      return queue.hold?.probe ? `after probe ${shortId(queue.hold.probe.id)}` : 'after the probe';
    case 'DELAYED':
      return `in ${left(at, context)}`;
    case 'PAUSED':
      return joined(
        queue.pause ? `queue paused since ${minute(Date.parse(queue.pause.since), context)}` : 'queue paused',
        cause,
      );
    case 'CONCURRENCY':
      return queue.concurrency === undefined
        ? 'all slots are busy'
        : queue.concurrency === 1
          ? 'the only slot is busy'
          : `${queue.inFlight ?? queue.concurrency} of ${queue.concurrency} slots are busy`;
    case 'RATE_LIMIT':
      return joined(`in ${left(at, context)}`, rateUsed(queue));
    case 'QUEUE_DELETED':
      return 'dies in a moment';
    case 'DUE':
      return 'next in line';
  }
}

/** A job waits for the rate limit only when all of it is used. */
function rateUsed({ rateWindow, rateLimitMax }: JobInList['queue']): string {
  const max = rateWindow?.max ?? rateLimitMax;
  return max == null ? '' : `${rateWindow?.used ?? max} of ${max} used`;
}

function dead(job: JobInList): string {
  const code = codeOf(job.lastError);
  switch (job.deadReason) {
    case 'ACK_TIMEOUT':
      return job.queue.ackTimeout === undefined ? 'no report in time' : `no report in ${seconds(job.queue.ackTimeout)}`;
    case 'NACKED':
      return job.lastError === null ? 'refused' : `refused: ${quote(job.lastError)}`;
    case 'DEFER_CAP_EXHAUSTED':
      return `${job.deferCount} holds used`;
    case 'RETRY_AFTER_EXCEEDS_LIFETIME':
      return 'asked to wait too long';
    case 'DELIVERY_LIFETIME_EXCEEDED':
      return 'lifetime ended';
    case 'QUEUE_DELETED':
      return 'queue deleted';
    case 'CANCELLED':
      return job.cancelledBy === null ? 'cancelled' : `by ${job.cancelledBy}`;
    default: {
      const cause = code === null ? shortCause(job.lastError) || 'failed' : String(code);
      return `${cause}, ${job.attemptsMade} ${job.attemptsMade === 1 ? 'attempt' : 'attempts'}`;
    }
  }
}

const joined = (...parts: string[]) => parts.filter((part) => part !== '').join(' · ');

function left(at: string | null, { now }: View): string {
  return at === null ? NONE : span(Date.parse(at) - now);
}
