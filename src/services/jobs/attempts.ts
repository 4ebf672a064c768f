import { countAttempts, searchAttempts } from '../../db/search/attempts.ts';
import type { SearchBudget } from '../../db/search/budget.ts';
import type { Account } from '../../domain/account.ts';
import { type AttemptFilter, type AttemptOrder, assertAttemptFilter } from '../../domain/attempt-filter.ts';
import { type BoundedCount, MAX_COUNT, type Position, type Slice } from '../../domain/page.ts';
import type { Context } from '../context.ts';
import { windowOf } from '../pages.ts';

/**
 * Attempts of the jobs of the account's live queues, within the plan's window and retention.
 * @param request the budget that the searches of one request share; when left out, each search has its own
 */
export function createAttemptSearch(
  context: Pick<Context, 'db' | 'periods' | 'plans'>,
  request?: { budget: SearchBudget },
) {
  const { db, periods } = context;
  const scopeOf = (account: Account) => ({
    accountId: account.id,
    windowMs: windowOf(context, account),
    periods,
    budget: request?.budget,
  });
  return {
    /**
     * Returns the positions of a slice of the matching attempts, in order.
     * @throws JobferryError `invalid_request` (filter, or too many attempts to read), `unavailable`
     */
    async searchAttempts(
      account: Account,
      filter: AttemptFilter,
      order: AttemptOrder,
      slice: Slice,
    ): Promise<Position[]> {
      assertAttemptFilter(filter);
      return searchAttempts(db, scopeOf(account), filter, order, slice);
    },

    /**
     * Counts the attempts of such a list, up to 10 000.
     * @throws JobferryError as `searchAttempts`
     */
    async countAttempts(account: Account, filter: AttemptFilter, order: AttemptOrder): Promise<BoundedCount> {
      assertAttemptFilter(filter);
      const found = await countAttempts(db, scopeOf(account), filter, order, MAX_COUNT);
      return { count: Math.min(found, MAX_COUNT), exact: found <= MAX_COUNT };
    },
  };
}
