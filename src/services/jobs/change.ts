import { settleCancelled } from '../../db/delivery/settle.ts';
import { findJob, type StoredJob } from '../../db/delivery/stored-job.ts';
import { runJobNow } from '../../db/jobs/operations.ts';
import { type Account, authorOf } from '../../domain/account.ts';
import { JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { transition } from '../../domain/transition.ts';
import { counts } from '../../telemetry/counts/counts.ts';
import type { Context } from '../context.ts';

/** Each round means that another transaction changed the job between reading and writing; two in a row are rare. */
const MAX_ROUNDS = 5;

/**
 * Changes of single jobs by hand (GraphQL only). Each is written to the audit log in the same commit. Jobs of other
 * accounts are not found.
 */
export function createJobChanges(context: Context) {
  /** Reads the job and changes it; repeats both when another transaction changed the job in between. */
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

  return {
    /**
     * Makes a pending or awaiting_ack job dead (`cancelled`), without a dead letter.
     * @returns the job's id
     * @throws JobferryError `not_found`, `conflict` (any other status), `unavailable`
     */
    async cancel(account: Account, jobId: string): Promise<string> {
      return change(account, jobId, async (job) => {
        const decided = transition(job.state, job.rules, { type: 'cancelled' }, { now: job.now, random: 0 });
        if (decided === null) throw notCancellable(job);
        const { id, token } = job;
        const settlement = { id, expected: job.state.status, token, transition: decided, answer: null };
        const applied = await settleCancelled(context.db, authorOf(account), settlement);
        if (applied) counts.settled(job.queueId, decided);
        return applied;
      });
    },

    /**
     * Makes a pending job due now; pause, hold, concurrency and rate limit still apply.
     * @returns the job's id
     * @throws JobferryError `not_found`, `conflict` (any other status), `unavailable`
     */
    async runNow(account: Account, jobId: string): Promise<string> {
      return change(account, jobId, async (job) => {
        const { status } = job.state;
        if (status !== 'pending') throw new JobferryError('conflict', `the job is ${status}, not pending`);
        return runJobNow(context.db, authorOf(account), job);
      });
    },
  };
}

function notCancellable({ state: { status } }: StoredJob): JobferryError {
  const message =
    status === 'processing'
      ? 'the job is being delivered, which cannot be called back: wait for the end of the delivery'
      : `the job is already ${status}`;
  return new JobferryError('conflict', message);
}
