import { type UsageByQueue, usageByQueue } from '../../db/insight/queue-usage.ts';
import { accountUsage } from '../../db/insight/usage.ts';
import { usageByMonth } from '../../db/operator/accounts.ts';
import type { Account } from '../../domain/account.ts';
import { JobferryError } from '../../domain/errors.ts';
import { isMonth } from '../../domain/month.ts';
import type { Context } from '../context.ts';

export type { QueueUsage, UsageByQueue } from '../../db/insight/queue-usage.ts';

export interface AccountUsage {
  /** The current month in UTC, as YYYY-MM. */
  month: string;
  /** Delivery attempts that began in the month. */
  attempts: number;
  /** Jobs in flight (processing or awaiting_ack) over all queues. */
  inFlight: number;
  /** Sum of the `concurrency` of the live queues. */
  concurrency: number;
  /** Number of live queues. */
  queues: number;
}

export const MAX_QUEUES_OF_USAGE = 1000;

/** The usage of an account, which its plan limits. */
export function createUsage({ db }: Pick<Context, 'db'>) {
  return {
    /** Returns the usage of the account now and in this month. */
    async usage(account: Account): Promise<AccountUsage> {
      const { in_flight: inFlight, ...usage } = await accountUsage(db.reading(account.id), account.id);
      return { ...usage, inFlight };
    },

    /** Returns the attempts of the account by month, the newest first. */
    usageByMonth(account: Account): Promise<{ month: string; attempts: number }[]> {
      return usageByMonth(db.reading(account.id), account.id);
    },

    /**
     * Returns the attempts of a month by queue, the most first.
     * @param month YYYY-MM in UTC
     * @throws JobferryError `invalid_request` (month, or limit)
     */
    usageByQueue(account: Account, month: string, limit: number): Promise<UsageByQueue> {
      if (!isMonth(month)) throw new JobferryError('invalid_request', 'month must be of the form YYYY-MM');
      if (limit < 1 || limit > MAX_QUEUES_OF_USAGE) {
        throw new JobferryError('invalid_request', `first must be between 1 and ${MAX_QUEUES_OF_USAGE}`);
      }
      return usageByQueue(db.reading(account.id), account.id, month, limit);
    },
  };
}
