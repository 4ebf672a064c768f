import type { StoredJob } from '../db/stored-job.ts';
import { JobferryError } from '../domain/errors.ts';
import type { JobDocument } from '../domain/job.ts';
import { type JobEvent, transition } from '../domain/transition.ts';
import type { Context } from './context.ts';
import type { Account, Services } from './index.ts';
import type { JobBatches } from './job-batches.ts';
import { afterCommit } from './told-what-was-stored.ts';

type ReportOutcome = Pick<Services, 'ackJob' | 'nackJob' | 'deferJob'>;

/** The worker's report that ends a job in ack mode (spec "Ack mode"). Exactly one report wins. */
export function createReportOutcome(context: Context, jobs: JobBatches): ReportOutcome {
  const report = async (account: Account, jobId: string, event: JobEvent): Promise<JobDocument> => {
    const job = await findReportable(jobs, account, jobId);
    const moment = { now: job.now, random: Math.random() };
    const decided = transition(job.state, job.rules, event, moment);
    if (decided === null) throw notAwaitingAck(job.rules.mode, job.state.status);
    const { id, token } = job;
    if (!(await jobs.settle(account, { id, expected: job.state.status, token, transition: decided, answer: null }))) {
      throw new JobferryError(
        'invalid_request',
        'the job is no longer awaiting_ack: another report or its timeout came first',
      );
    }
    context.wake(job.queueId, 'change');
    context.changes.changed({ accountId: account.id, queueId: job.queueId, jobId });
    return jobs.document(account, jobId).catch(afterCommit);
  };

  return {
    ackJob: (account, jobId) => report(account, jobId, { type: 'acked' }),
    nackJob: (account, jobId, input) => report(account, jobId, { type: 'nacked', ...input }),
    deferJob: (account, jobId, { retryAfter, scope, reason }) =>
      report(account, jobId, { type: 'deferred', retryAfterMs: Math.ceil(retryAfter * 1000), scope, reason }),
  };
}

/**
 * A worker may report at the very moment it has confirmed receipt, before we have noted that. So a
 * report of a job that is still processing in ack mode waits a moment for the delivery to be settled.
 */
const SETTLE_GRACE_MS = 1000;
const LOOK_AGAIN_MS = 20;

export async function findReportable(jobs: JobBatches, account: Account, jobId: string): Promise<StoredJob> {
  const giveUpAt = performance.now() + SETTLE_GRACE_MS;
  for (;;) {
    const job = await jobs.find(account, jobId);
    const mayComeSoon = job.state.status === 'processing' && job.rules.mode === 'ack';
    if (!mayComeSoon || performance.now() > giveUpAt) return job;
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

export function notAwaitingAck(mode: string, status: string): JobferryError {
  const message = mode === 'ack' ? `the job is ${status}, not awaiting_ack` : 'the queue is not in ack mode';
  return new JobferryError('invalid_request', message);
}
