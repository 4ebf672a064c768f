import { type PublishAnswer, type PublishItem, publish } from '../db/publish.ts';
import { JobferryError, notFound } from '../domain/errors.ts';
import type { PublishedJob } from '../domain/job.ts';
import { Batcher } from './batcher.ts';
import { type Context, limitReached, planOf } from './context.ts';
import type { Account, PublishInput } from './index.ts';

export type PublishJob = (
  account: Account,
  queueName: string,
  input: PublishInput,
) => Promise<{ created: boolean; job: PublishedJob }>;

/** Within 5 s a caller must know that the database is gone (reliability I-37). */
const DEADLINE_MS = 4500;
/** Each round means that another publish with the same key won and was then gone; once is rare. */
const MAX_ROUNDS = 5;

/**
 * Publishes a job; resolves after the commit, so a 201 is a promise.
 * Errors: `not_found` (queue), `limit_reached`, `unavailable`.
 */
export function createPublishJob(context: Context): PublishJob {
  const batcher = new Batcher<PublishItem, PublishAnswer>((items) => publish(context.db, items, context.periods), {
    maxItems: 200,
    maxBytes: 4 * 1024 * 1024,
    sizeOf: (item) => item.payload.length,
    maxWaiting: 5000,
    deadlineMs: DEADLINE_MS,
  });

  return async (account, queueName, input) => {
    const plan = planOf(context, account);
    const item: PublishItem = {
      accountId: account.id,
      queue: queueName,
      payload: input.payload,
      key: input.idempotencyKey ?? null,
      delayMs: Math.round((input.delay ?? 0) * 1000),
      limit: plan.monthlyAttempts,
    };
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const answer = await batcher.add(item);
      switch (answer.outcome) {
        case 'queue_not_found':
          throw notFound('queue');
        case 'limit_reached':
          throw limitReached(plan);
        case 'retry':
          continue;
        case 'created':
        case 'existing': {
          const created = answer.outcome === 'created';
          const { id, status, createdAt, queueId } = answer;
          if (created) {
            context.wake(queueId);
            context.changes.changed({ accountId: account.id, queueId, jobId: id });
          }
          return { created, job: { id, status, createdAt: new Date(createdAt) } };
        }
      }
    }
    throw new JobferryError('unavailable', 'too many publishes race for this idempotency key, try again');
  };
}
