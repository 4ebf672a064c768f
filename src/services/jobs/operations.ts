import { settleCancelled } from '../../db/delivery/settle.ts';
import { findJob, type StoredJob } from '../../db/delivery/stored-job.ts';
import { extendAckDeadline, runJobNow } from '../../db/jobs/operations.ts';
import { invalidField, isUnavailable, JobferryError, notFound, unavailable } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { assertPublishable } from '../../domain/publish.ts';
import { LIMITS } from '../../domain/queue.ts';
import { isStorableText } from '../../domain/text.ts';
import { transition } from '../../domain/transition.ts';
import type { Context } from '../context.ts';
import type { Account, PublishInput, ReportInput } from '../index.ts';
import type { JobOperations, PublishOutcome } from '../operations.ts';
import type { JobBatches } from './batches.ts';
import type { PublishJob } from './publish.ts';
import { findReportable, notAwaitingAck } from './report.ts';

/** Each round means that the job moved on between reading and writing; twice in a row is rare. */
const MAX_ROUNDS = 5;
/** Jobs of `publishJobs` that are under way at once. */
const PORTION = 100;
/** After so long no further portion is begun; what was surely not stored is tried again until then. */
const PUBLISHING_MS = 4500;

type Given = PublishInput & { queueName: string };

/** What can be done to a single job beyond reporting on it. */
export function createJobOperations(context: Context, publishJob: PublishJob, jobs: JobBatches): JobOperations {
  /** Reads the job and changes what was read, again when somebody else was faster. */
  const change = async (
    account: Account,
    jobId: string,
    attempt: (job: StoredJob) => Promise<boolean>,
  ): Promise<string> => {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const job = isId(jobId) ? await findJob(context.db, jobId, account.id, context.periods) : null;
      if (job === null) throw notFound('job');
      if (!(await attempt(job))) continue;
      context.wake(job.queueId, 'change');
      context.changes.changed({ accountId: account.id, queueId: job.queueId, jobId });
      return jobId;
    }
    throw new JobferryError('conflict', 'the job keeps changing, try again');
  };

  const publishOrRefuse = async (account: Account, { queueName, ...input }: Given): Promise<PublishOutcome> => {
    try {
      assertPublishable(input);
      if (!isQueueName(queueName)) throw notFound('queue');
      const { created, job } = await publishJob(account, queueName, input);
      return { outcome: created ? 'created' : 'existing', ...job };
    } catch (error) {
      return { outcome: 'refused', error: error instanceof Error ? error : new Error(String(error)) };
    }
  };

  return {
    cancelJob: (account, jobId) =>
      change(account, jobId, async (job) => {
        const decided = transition(job.state, job.rules, { type: 'cancelled' }, { now: job.now, random: 0 });
        if (decided === null) throw notCancellable(job);
        const { id, token } = job;
        const settlement = { id, expected: job.state.status, token, transition: decided, answer: null };
        return settleCancelled(context.db, account, settlement);
      }),

    runNow: (account, jobId) =>
      change(account, jobId, async (job) => {
        const { status } = job.state;
        if (status !== 'pending') throw new JobferryError('conflict', `the job is ${status}, not pending`);
        return runJobNow(context.db, account, job);
      }),

    extendAck: (account, jobId, seconds, progress, attempt) =>
      extendAck({ ...context, jobs }, account, jobId, { seconds, progress, attempt: attempt ?? undefined }),

    async publishJobs(account, jobs) {
      if (jobs.length > LIMITS.publishBatch) {
        throw new JobferryError('invalid_request', `at most ${LIMITS.publishBatch} jobs at once, not ${jobs.length}`);
      }
      // A portion is what half of a statement takes: more at once would wait for longer than a busy line lets it.
      const answers: PublishOutcome[] = [];
      const giveUpAt = performance.now() + PUBLISHING_MS;
      for (let open = [...jobs.keys()]; open.length > 0 && performance.now() < giveUpAt; ) {
        const portion = open.splice(0, PORTION);
        const published = await Promise.all(portion.map((n) => publishOrRefuse(account, jobs[n] as Given)));
        for (const [index, n] of portion.entries()) answers[n] = published[index] as PublishOutcome;
        // Nobody can write at the moment, so the rest would only fail one portion after the other.
        if (published.some(isNotNow) && published.every(({ outcome }) => outcome === 'refused')) break;
        open = [...portion.filter((_, index) => isNotNow(published[index])), ...open];
      }
      const rest = unavailable('the jobs before this one took too long; it was not stored, try again', 'nothing');
      return jobs.map((_, n) => answers[n] ?? { outcome: 'refused', error: rest });
    },
  };
}

/** A worker that needs longer says so, and may say how far it is. */
async function extendAck(
  { db, changes, jobs }: Pick<Context, 'db' | 'changes'> & { jobs: JobBatches },
  account: Account,
  jobId: string,
  { seconds, progress, attempt }: ReportInput & { seconds: number; progress: string | null },
): Promise<Date> {
  const { min, max } = LIMITS.ackExtension;
  if (!(seconds >= min && seconds <= max)) throw invalidField('seconds', `must be from ${min} to ${max}`);
  if (progress !== null && (progress.length > LIMITS.progressLength || !isStorableText(progress))) {
    const message = `must have at most ${LIMITS.progressLength} characters, and neither NUL nor lone surrogates`;
    throw invalidField('progress', message);
  }
  if (!isId(jobId)) throw notFound('job');
  const job = await findReportable(jobs, account, jobId, attempt);
  if (job.state.status !== 'awaiting_ack') throw notAwaitingAck(job.rules.mode, job.state.status);
  const extension = { ms: Math.ceil(seconds * 1000), progress };
  const deadline = await db.changingTurns.run(account.id, () => extendAckDeadline(db, job, extension));
  if (deadline === null) {
    throw new JobferryError('invalid_request', 'the job is no longer awaiting_ack: a report or its timeout came first');
  }
  changes.changed({ accountId: account.id, queueId: job.queueId, jobId });
  return deadline;
}

function isNotNow(outcome: PublishOutcome | undefined): boolean {
  return outcome?.outcome === 'refused' && isUnavailable(outcome.error) && outcome.error.stored === 'nothing';
}

function notCancellable({ state: { status } }: StoredJob): JobferryError {
  const message =
    status === 'processing'
      ? 'the job is being delivered, which cannot be called back: wait for the end of the delivery'
      : `the job is already ${status}`;
  return new JobferryError('conflict', message);
}

/** Any other name names no queue, and need not be asked for. */
function isQueueName(text: string): boolean {
  return text.length <= LIMITS.queueNameLength && LIMITS.queueNamePattern.test(text);
}
