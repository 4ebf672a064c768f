import { accountUsage } from '../../db/insight/usage.ts';
import type { Account } from '../../domain/account.ts';
import type { Context } from '../context.ts';

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

/** The usage of an account, which its plan limits. */
export function createUsage({ db }: Pick<Context, 'db'>) {
  return {
    /** Returns the usage of the account now and in this month. */
    async usage(account: Account): Promise<AccountUsage> {
      const { in_flight: inFlight, ...usage } = await accountUsage(db.reading(account.id), account.id);
      return { ...usage, inFlight };
    },
  };
}
