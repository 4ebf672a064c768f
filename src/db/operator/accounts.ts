import type { Actor } from '../../domain/audit.ts';
import { isUnexpired } from '../accounts.ts';
import { actorJson } from '../audit.ts';
import type { Database, Statement } from '../connection/database.ts';

/** The operator's reads and changes of accounts. These statements are not limited to one account. */

export interface AccountSummary {
  id: string;
  name: string;
  plan: string;
  createdAt: Date;
  /** Time and actor of the suspension; null while the account is not suspended. */
  suspendedAt: Date | null;
  suspendedBy: string | null;
  /** Its own limit; null while that of the configuration holds. */
  requestsPerSecond: number | null;
  /** Whether it is the operator's account. */
  isOperator: boolean;
  /** API keys that are in force. */
  keys: number;
  /** Live queues. */
  queues: number;
  /** Delivery attempts of this month (UTC). */
  attempts: number;
}

const SUMMARY = `
    select a.id, a.name, a.plan, a.created_at as "createdAt", a.suspended_at as "suspendedAt",
           a.suspended_by as "suspendedBy", a.requests_per_second as "requestsPerSecond",
           a.is_operator as "isOperator",
           (select count(*) from api_key k where k.account_id = a.id and k.revoked_at is null
               and ${isUnexpired('k')}) as keys,
           (select count(*) from queue q where q.account_id = a.id and q.deleted_at is null) as queues,
           coalesce(u.attempts, 0) as attempts
      from account a left join usage u on u.account_id = a.id and u.month = jobferry_month(jobferry_now())`;

const LIST: Statement = {
  name: 'operator-accounts',
  text: `${SUMMARY} where $1::text is null or a.id > $1 order by a.id limit $2`,
};

const ONE: Statement = { name: 'operator-account', text: `${SUMMARY} where a.id = $1` };

/** @returns accounts, oldest first */
export function listAccounts(db: Database, page: { after: string | null; limit: number }): Promise<AccountSummary[]> {
  return db.query<AccountSummary & Record<string, unknown>>(LIST, [page.after, page.limit]);
}

export function findAccount(db: Database, id: string): Promise<AccountSummary | null> {
  return db.one<AccountSummary & Record<string, unknown>>(ONE, [id]);
}

const MONTHS: Statement = {
  name: 'operator-usage',
  text: 'select month, attempts from usage where account_id = $1 order by month desc limit 120',
};

/** @returns the attempts of an account by month (UTC, YYYY-MM), the newest month first, of ten years at most */
export function usageByMonth(db: Database, accountId: string): Promise<{ month: string; attempts: number }[]> {
  return db.query(MONTHS, [accountId]);
}

// Without an entry in the audit log if the account has this plan already.
const SET_PLAN: Statement = {
  name: 'operator-set-plan',
  text: `
    with present as materialized (
      select id, name, plan from account where id = $1 for no key update
    ), changed as (
      update account set plan = $2 from present where account.id = present.id and present.plan <> $2
      returning account.id
    )
    select present.plan as before,
           (select jobferry_audit(changed.id, $3::json, 'account.set_plan', 'account', present.id, present.name,
                                  jsonb_build_object('plan', present.plan), jsonb_build_object('plan', $2::text))
              from changed)
      from present`,
};

/** @returns the plan that the account had before; null if there is no such account */
export async function setPlan(db: Database, actor: Actor, accountId: string, plan: string): Promise<string | null> {
  return (await db.one<{ before: string }>(SET_PLAN, [accountId, plan, actorJson(actor)]))?.before ?? null;
}

// Without an entry in the audit log if nothing changes.
const SET_REQUEST_LIMIT: Statement = {
  name: 'operator-set-request-limit',
  text: `
    with present as materialized (
      select id, name, requests_per_second as before from account where id = $1 for no key update
    ), changed as (
      update account set requests_per_second = $2 from present
       where account.id = present.id and present.before is distinct from $2
      returning account.id
    )
    select present.before,
           (select jobferry_audit(changed.id, $3::json, 'account.set_limits', 'account', present.id, present.name,
                                  jsonb_build_object('requestsPerSecond', present.before),
                                  jsonb_build_object('requestsPerSecond', $2::integer)) from changed)
      from present`,
};

/**
 * @param perSecond null for the limit of the configuration
 * @returns the limit before; null if there is no such account
 */
export function setRequestLimit(
  db: Database,
  actor: Actor,
  accountId: string,
  perSecond: number | null,
): Promise<{ before: number | null } | null> {
  return db.one<{ before: number | null }>(SET_REQUEST_LIMIT, [accountId, perSecond, actorJson(actor)]);
}
