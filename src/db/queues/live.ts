import { LIMITS } from '../../domain/queue.ts';
import type { Database, Statement } from '../connection/database.ts';
import { hasHold, isHeld } from './held.ts';

/** A live queue, as far as it matters for a change of several of them. */
export interface LiveQueue {
  id: string;
  name: string;
  webhookUrl: string;
  isAckMode: boolean;
  pausedAt: Date | null;
  isHeld: boolean;
  /**
   * Whether there is a hold to end: also one whose time is over and that no job has probed yet, but no due probe of a
   * breaker, unless its job waits.
   */
  hasHold: boolean;
  concurrency: number;
  rateLimitMax: number | null;
  rateLimitWindow: number;
}

// Each queue takes at least one of the account's slots, so their number is the bound.
const LIVE: Statement = {
  name: 'live-queues',
  text: `
    select id, name, webhook_url as "webhookUrl", mode = 'ack' as "isAckMode", paused_at as "pausedAt",
           ${isHeld('jobferry_now()')} as "isHeld", ${hasHold('queue')} as "hasHold",
           concurrency, rate_limit_max as "rateLimitMax", rate_limit_window as "rateLimitWindow"
      from queue where account_id = $1 and deleted_at is null order by id limit ${LIMITS.accountConcurrency}`,
};

/** @returns the live queues of an account, oldest first */
export async function liveQueues(db: Database, accountId: string): Promise<LiveQueue[]> {
  return db.query<LiveQueue & Record<string, unknown>>(LIVE, [accountId]);
}

/** Waiting jobs of several queues that are counted. */
const MAX_WAITING = 10_000;

const WAITING: Statement = {
  name: 'waiting-of-queues',
  text: `
    select count(*) as waiting from (
      select from unnest($2::text[]) chosen(id)
       join queue q on q.id = chosen.id and q.account_id = $1
       cross join lateral (
         select from job j where j.queue_id = q.id and j.status = 'pending' limit ${MAX_WAITING + 1}) j
       limit ${MAX_WAITING + 1}) counted`,
};

/** @returns the pending jobs of the queues together, counted up to a bound */
export async function waitingOf(
  db: Database,
  accountId: string,
  queueIds: readonly string[],
): Promise<{ count: number; exact: boolean }> {
  const row = await db.one<{ waiting: number }>(WAITING, [accountId, queueIds]);
  const waiting = row?.waiting ?? 0;
  return { count: Math.min(waiting, MAX_WAITING), exact: waiting <= MAX_WAITING };
}
