import { databaseTime } from '../../db/connection/clock.ts';
import { STATEMENT_TIMEOUT_MS } from '../../db/connection/connections.ts';
import type { Database } from '../../db/connection/database.ts';
import { listDeadLetterDocuments } from '../../db/dead-letters.ts';
import { listStart } from '../../db/jobs/documents.ts';
import { type KeptJobs, listJobDocuments } from '../../db/jobs/list.ts';
import { queueState } from '../../db/queues/queues.ts';
import { JobferryError, notFound } from '../../domain/errors.ts';
import { type Context, planOf } from '../context.ts';
import type { Account, PageInput, Services } from '../index.ts';
import type { JobBatches } from './batches.ts';

type ListJobs = Pick<Services, 'getJob' | 'listJobs' | 'listDeadLetters'>;

export function createListJobs(context: Context, jobs: JobBatches): ListJobs {
  const { db, periods } = context;
  return {
    getJob: (account, jobId) => jobs.document(account, jobId),

    async listJobs(account, queueId, input, isGone) {
      const reading = db.reading(account.id, { isGone, maxMs: STATEMENT_TIMEOUT_MS });
      if ((await queueState(reading, account.id, queueId)) !== 'live') throw notFound('queue');
      const { from: appliedFrom, kept } = await jobsFrom(context, reading, account, queueId, input);
      const { to, status, idempotencyKey } = input;
      const filter = { queueId, from: appliedFrom, to, status, idempotencyKey, kept };
      const found = await listJobDocuments(reading, filter, slice(input));
      return { ...found, page: input.page, limit: input.limit, appliedFrom };
    },

    async listDeadLetters(account, queueId, input, isGone) {
      const reading = db.reading(account.id, { isGone, maxMs: STATEMENT_TIMEOUT_MS });
      await assertDeadLettersExist(reading, account, queueId);
      const filter = {
        queueId,
        from: await clampedFrom(context, reading, account, input),
        to: input.to,
        includeReplayed: input.includeReplayed ?? true,
        periods,
      };
      const found = await listDeadLetterDocuments(reading, filter, slice(input));
      return { ...found, page: input.page, limit: input.limit };
    },
  };
}

/**
 * The dead letters of a deleted queue are gone, and that is another answer than "never was" (D17).
 * @throws JobferryError `gone` or `not_found`
 */
export async function assertDeadLettersExist(reading: Database, account: Account, queueId: string): Promise<void> {
  const state = await queueState(reading, account.id, queueId);
  if (state === 'unknown') throw notFound('queue');
  if (state === 'deleted') throw queueDeleted();
}

export function queueDeleted(): JobferryError {
  return new JobferryError('gone', 'the queue has been deleted, and its dead letters with it');
}

/**
 * The lower bound of a list of jobs. A plan whose window is the whole retention also shows the jobs that outlast
 * it, back to the oldest of them.
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

/** The lower bound actually used: `from`, but not before the plan's window (spec "Job list"). */
async function clampedFrom(context: Context, reading: Database, account: Account, input: PageInput): Promise<Date> {
  const windowMs = Math.min(planOf(context, account).window * 1000, context.periods.retentionMs);
  const earliest = (await databaseTime(reading)) - windowMs;
  return new Date(Math.max(input.from?.getTime() ?? earliest, earliest));
}

function slice({ page, limit }: PageInput): { limit: number; offset: number } {
  return { limit, offset: (page - 1) * limit };
}
