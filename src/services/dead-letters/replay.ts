import { jobsOfLetters, type ReplayAnswer, replay } from '../../db/dead-letters.ts';
import { type Account, assertNotSuspended, authorOf } from '../../domain/account.ts';
import { JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import type { BulkReplayResult, PublishedJob } from '../../domain/job.ts';
import { LIMITS } from '../../domain/queue.ts';
import { type Context, limitReached, planOf } from '../context.ts';
import { afterCommit } from '../explain-unavailable.ts';
import { assertDeadLettersExist, queueDeleted } from './exists.ts';

type Done = Extract<ReplayAnswer, { outcome: 'done' }>;
type Replayed = Omit<Done, 'skipped'> & { skipped: Skipped[] };

const SKIPPED = {
  not_found: 'dead letter not found',
  already_replayed: 'already replayed',
  limit_reached: "the plan's delivery attempts of this month are used up",
} as const;
type Skipped = { id: string; reason: keyof typeof SKIPPED };

/** Creates new jobs from dead letters (D19). The plan's monthly limit applies, because replays are new jobs. */
export function createReplay(context: Context) {
  const once = async (
    account: Account,
    queueId: string,
    ids: string[] | null,
    { single }: { single: boolean },
  ): Promise<Done> => {
    const plan = planOf(context, account);
    const request = { queueId, ids, max: LIMITS.bulkReplay, limit: plan.monthlyAttempts };
    const answer = await replay(context.db, request, context.periods, { by: authorOf(account), single });
    if (answer.outcome === 'queue_deleted') throw queueDeleted();
    if (answer.outcome === 'limit_reached') throw limitReached(plan);
    if (answer.jobs.length > 0) context.wake(queueId, 'job');
    for (const { replayedJobId: jobId } of answer.jobs) {
      context.changes.changed({ accountId: account.id, queueId, jobId });
    }
    await announceReplayed(
      context,
      account.id,
      answer.jobs.map(({ id }) => id),
    );
    return answer;
  };

  /** Uses several commits for large payloads, because a statement has to end in time. */
  const run = async (
    account: Account,
    queueId: string,
    ids: string[] | null,
    options: { single: boolean },
  ): Promise<Replayed> => {
    assertNotSuspended(account);
    await assertDeadLettersExist(context.db.reading(account.id), account, queueId);
    let answer = await once(account, queueId, ids, options);
    const jobs = [...answer.jobs];
    const skipped: Skipped[] = [];
    for (;;) {
      const postponed: string[] = [];
      for (const { id, reason } of answer.skipped) {
        if (reason === 'postponed') postponed.push(id);
        else skipped.push({ id, reason });
      }
      if (postponed.length === 0) return { ...answer, jobs, skipped };
      const next = await once(account, queueId, postponed, options).catch(unlessLimitReached);
      if (next === null) {
        skipped.push(...postponed.map((id): Skipped => ({ id, reason: 'limit_reached' })));
        return { ...answer, jobs, skipped };
      }
      answer = next;
      jobs.push(...answer.jobs);
    }
  };

  return {
    /**
     * Publishes the job of a dead letter again, with the queue's present settings.
     * @throws JobferryError `not_found`, `gone` (deleted queue), `conflict` (already replayed), `limit_reached`,
     *   `unavailable`
     */
    async replay(account: Account, queueId: string, deadLetterId: string): Promise<PublishedJob> {
      const answer = await run(account, queueId, [deadLetterId], { single: true });
      const job = answer.jobs[0];
      if (job !== undefined) {
        return { id: job.replayedJobId, status: 'pending', createdAt: new Date(answer.createdAt) };
      }
      if (answer.skipped[0]?.reason === 'already_replayed') {
        throw new JobferryError('conflict', 'the dead letter has already been replayed');
      }
      throw notFound('dead letter');
    },

    /**
     * Replays dead letters by id, or those of the queue that were not replayed (`all`, up to 1000 per call). Dead
     * letters that cannot be replayed are skipped, with the reason.
     * @throws JobferryError `not_found`, `gone` (deleted queue), `limit_reached`, `unavailable`
     */
    async replayMany(account: Account, queueId: string, ids: string[] | 'all'): Promise<BulkReplayResult> {
      // A repeated id counts once. Text that is not an id is not sent to the database.
      const unique = ids === 'all' ? [] : [...new Set(ids)];
      const [possible, impossible] = [unique.filter(isId), unique.filter((id) => !isId(id))];
      const answer = await run(account, queueId, ids === 'all' ? null : possible, { single: false });
      const errors = [
        ...answer.skipped.map(({ id, reason }) => ({ id, error: SKIPPED[reason] })),
        ...impossible.map((id) => ({ id, error: SKIPPED.not_found })),
      ];
      return {
        replayed: answer.jobs.length,
        skipped: errors.length,
        jobs: answer.jobs,
        errors,
        remaining: answer.remaining,
      };
    },
  };
}

/**
 * The jobs that died were replayed, so pages that show them change, too.
 * The replay is done, so an error here is none of it.
 */
export async function announceReplayed(
  { db, changes }: Pick<Context, 'db' | 'changes'>,
  accountId: string,
  letterIds: readonly string[],
): Promise<void> {
  const jobs = await jobsOfLetters(db, letterIds).catch(() => []);
  for (const jobId of jobs) changes.changed({ accountId, jobId });
}

/** For commits after the first: an error would hide that jobs were already replayed. */
function unlessLimitReached(error: unknown): null {
  if (error instanceof JobferryError && error.kind === 'limit_reached') return null;
  return afterCommit(error);
}
