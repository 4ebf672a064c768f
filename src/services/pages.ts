import type { Account } from '../domain/account.ts';
import { type Context, planOf } from './context.ts';

/** Which page of a list of REST is asked for. */
export interface PageInput {
  page: number;
  limit: number;
  from?: Date | undefined;
  to?: Date | undefined;
}

export interface Page<T> {
  /** The first entries of the page; all of them unless there is a rest. */
  jobs: T[];
  /** The entries that follow on a page with large payloads, read slice by slice as the caller iterates. */
  rest?: AsyncIterable<T[]>;
  total: number;
  page: number;
  limit: number;
}

/** Milliseconds that an account's lists reach back: the plan's window, but no further than retention. */
export function windowOf(context: Pick<Context, 'plans' | 'periods'>, account: Pick<Account, 'plan'>): number {
  return Math.min(planOf(context, account).window * 1000, context.periods.retentionMs);
}

export function offsetOf({ page, limit }: PageInput): { limit: number; offset: number } {
  return { limit, offset: (page - 1) * limit };
}
