import { accountUsage } from '../../db/insight/usage.ts';
import type { Account } from '../../domain/account.ts';
import type { Context } from '../context.ts';

export interface AccountUsage {
  /** YYYY-MM, UTC. */
  month: string;
  /** Delivery attempts of the month. */
  attempts: number;
  /** Deliveries under way over all queues. */
  inFlight: number;
  /** Sum of the caps of the live queues. */
  concurrency: number;
  /** Live queues. */
  queues: number;
}

/** What an account uses of its plan. */
export function createUsage({ db }: Pick<Context, 'db'>) {
  return {
    /** Returns what the account uses now and has used this month. */
    async usage(account: Account): Promise<AccountUsage> {
      const { in_flight: inFlight, ...usage } = await accountUsage(db.reading(account.id), account.id);
      return { ...usage, inFlight };
    },
  };
}
