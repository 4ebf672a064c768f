import { span, took, upperFirst } from '../../../../query/words/format.ts';
import { causeOf } from '../../../words/cause.ts';
import type { AttemptNow, JobWhole } from '../../../words/job.ts';
import { type JobContext, receiptOf, sentenceOfJob } from '../../../words/job-sentence.ts';
import { type Phrase, phrase } from '../../../words/phrase.ts';

/** The result of a job that was just sent: the receiver's answer, then what follows. */
export function sentenceOfSent(job: JobWhole, context: JobContext): Phrase {
  const last = job.attempts.at(-1);
  const answer = last === undefined ? null : answerOf(last, context);
  if (job.status === 'AWAITING_ACK') {
    return phrase`${receiptOf(job) ?? 'The receiver accepted it.'} The worker has ${left(job.ackDeadline, context)} to report.`;
  }
  if (answer === null) return sentenceOfJob(job, context);
  switch (job.status) {
    case 'COMPLETED':
      return job.queue.mode === 'ACK' ? sentenceOfJob(job, context) : phrase`${answer} The job is completed.`;
    case 'DEAD':
      // In ack mode a good answer only means that the worker has the job.
      return job.deadReason === 'ATTEMPTS_EXHAUSTED' && job.queue.mode !== 'ACK'
        ? phrase`${answer} The job is dead.`
        : sentenceOfJob(job, context);
    case 'PENDING':
      return job.waiting?.reason === 'BACKOFF'
        ? phrase`${answer} The job retries in ${left(job.waiting.earliestAt ?? job.scheduledFor, context)}.`
        : sentenceOfJob(job, context);
    default:
      return sentenceOfJob(job, context);
  }
}

/** "The receiver answered 200 in 48 ms." */
function answerOf({ webhookStatusCode: code, durationMs, error }: AttemptNow, context: JobContext): string {
  if (code === null) {
    const cause = causeOf(error, context.webhookTimeoutSeconds);
    return `${upperFirst(cause)}.`;
  }
  return `The receiver answered ${code}${durationMs === null ? '' : ` in ${took(durationMs)}`}.`;
}

const left = (at: string | null, { now }: JobContext) => span(at === null ? 0 : Date.parse(at) - now);
