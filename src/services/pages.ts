import type { Account } from '../domain/account.ts';
import { type Context, planOf } from './context.ts';

/** The requested page of a REST list. */
export interface PageInput {
  page: number;
  limit: number;
  from?: Date | undefined;
  to?: Date | undefined;
}

export interface Page<T> {
  /** The first entries of the page; all of them when `rest` is missing. */
  jobs: T[];
  /** The remaining entries of a page with large payloads, read in slices while the HTTP route iterates over them. */
  rest?: AsyncIterable<T[]>;
  total: number;
  page: number;
  limit: number;
}

/** Milliseconds that an account's lists reach back: the plan's window, but not beyond retention. */
export function windowOf(context: Pick<Context, 'plans' | 'periods'>, account: Pick<Account, 'plan'>): number {
  return Math.min(planOf(context, account).window * 1000, context.periods.retentionMs);
}

export function offsetOf({ page, limit }: PageInput): { limit: number; offset: number } {
  return { limit, offset: (page - 1) * limit };
}
