import { STATEMENT_TIMEOUT_MS } from '../../db/connection/connections.ts';
import type { Database } from '../../db/connection/database.ts';
import { listStart } from '../../db/jobs/documents.ts';
import { type KeptJobs, listJobDocuments } from '../../db/jobs/list.ts';
import { queueState } from '../../db/queues/queues.ts';
import type { Account } from '../../domain/account.ts';
import { notFound } from '../../domain/errors.ts';
import type { JobDocument, JobStatus } from '../../domain/job.ts';
import { type Context, planOf } from '../context.ts';
import { offsetOf, type Page, type PageInput } from '../pages.ts';
import type { JobBatches } from './batches.ts';

export interface ListJobsInput extends PageInput {
  status?: JobStatus | undefined;
  /** Literal, case-insensitive substring. */
  idempotencyKey?: string | undefined;
}

/** Single jobs and lists of jobs, as REST returns them. */
export function createJobReads(context: Context, batches: JobBatches) {
  const { db } = context;
  return {
    /** Returns the job with its payload and history. @throws JobferryError `not_found`, `unavailable` */
    async get(account: Account, jobId: string): Promise<JobDocument> {
      return batches.document(account, jobId);
    },

    /**
     * Returns a page of the jobs of a queue, newest first. `appliedFrom` is the lower bound that was used: the plan's
     * window may be shorter than the requested one.
     * @param isGone whether the client has disconnected: later statements are then not run
     * @throws JobferryError `not_found` (queue), `unavailable`
     */
    async list(
      account: Account,
      queueId: string,
      input: ListJobsInput,
      isGone?: () => boolean,
    ): Promise<Page<JobDocument> & { appliedFrom: Date }> {
      const reading = db.reading(account.id, { isGone, maxMs: STATEMENT_TIMEOUT_MS });
      if ((await queueState(reading, account.id, queueId)) !== 'live') throw notFound('queue');
      const { from: appliedFrom, kept } = await jobsFrom(context, reading, account, queueId, input);
      const { to, status, idempotencyKey } = input;
      const filter = { queueId, from: appliedFrom, to, status, idempotencyKey, kept };
      const found = await listJobDocuments(reading, filter, offsetOf(input));
      return { ...found, page: input.page, limit: input.limit, appliedFrom };
    },
  };
}

/**
 * Returns the lower bound of a list of jobs. A plan whose window is the whole retention also shows the jobs that are
 * kept for longer, back to the oldest of them.
 */
async function jobsFrom(
  { periods, ...context }: Context,
  reading: Database,
  account: Account,
  queueId: string,
  input: PageInput,
): Promise<{ from: Date; kept: KeptJobs | undefined }> {
  const { now, oldestKept } = await listStart(reading, queueId, periods);
  const windowMs = planOf(context, account).window * 1000;
  const young = now.getTime() - periods.retentionMs;
  const showsKept = windowMs >= periods.retentionMs && oldestKept !== null;
  const earliest = showsKept ? Math.min(oldestKept.getTime(), young) : Math.max(now.getTime() - windowMs, young);
  const from = Math.max(input.from?.getTime() ?? earliest, earliest);
  return { from: new Date(from), kept: from < young ? { youngFrom: new Date(young), periods } : undefined };
}
