import { type ReplayAnswer, replay } from '../db/dead-letters.ts';
import { JobferryError, notFound } from '../domain/errors.ts';
import { LIMITS } from '../domain/queue.ts';
import { type Context, limitReached, planOf } from './context.ts';
import type { Account, Services } from './index.ts';
import { assertDeadLettersExist, queueDeleted } from './list-jobs.ts';

type Replay = Pick<Services, 'replayDeadLetter' | 'replayDeadLetters'>;
type Replayed = Extract<ReplayAnswer, { outcome: 'done' }>;

const SKIPPED = {
  not_found: 'dead letter not found',
  already_replayed: 'already replayed',
} as const;

/** New jobs from dead letters (D19). Replays count as new jobs, so the plan's limit applies. */
export function createReplay(context: Context): Replay {
  const run = async (account: Account, queueId: string, ids: string[] | null): Promise<Replayed> => {
    await assertDeadLettersExist(context, account, queueId);
    const plan = planOf(context, account);
    const request = { queueId, ids, max: LIMITS.bulkReplay, limit: plan.monthlyAttempts };
    const answer = await replay(context.db, request, context.periods);
    if (answer.outcome === 'queue_deleted') throw queueDeleted();
    if (answer.outcome === 'limit_reached') throw limitReached(plan);
    if (answer.jobs.length > 0) context.wake(queueId);
    return answer;
  };

  return {
    async replayDeadLetter(account, queueId, deadLetterId) {
      const answer = await run(account, queueId, [deadLetterId]);
      const job = answer.jobs[0];
      if (job !== undefined) {
        return { id: job.replayedJobId, status: 'pending', createdAt: new Date(answer.createdAt) };
      }
      if (answer.skipped[0]?.reason === 'already_replayed') {
        throw new JobferryError('conflict', 'the dead letter has already been replayed');
      }
      throw notFound('dead letter');
    },

    async replayDeadLetters(account, queueId, ids) {
      // An id named twice counts once.
      const answer = await run(account, queueId, ids === 'all' ? null : [...new Set(ids)]);
      return {
        replayed: answer.jobs.length,
        skipped: answer.skipped.length,
        jobs: answer.jobs,
        errors: answer.skipped.map(({ id, reason }) => ({ id, error: SKIPPED[reason] })),
        remaining: answer.remaining,
      };
    },
  };
}
