import type { AlertContent } from '../../domain/alert-message.ts';
import type { AlertFormat, AlertTarget } from '../../domain/alert-target.ts';
import type { Database, Statement } from '../connection/database.ts';

/** Notifications that are to be sent. */

/** Notifications of an account that are sent at once. */
const AT_ONCE_OF_ACCOUNT = 4;
const IS_DUE = 'n.next_at <= (select now from clock)';
/** No notification waits for longer than an hour: this time was written before the clock was set back. */
const IS_LOST = `n.next_at > (select now from clock) + interval '61 min'`;
/** Rows that one claim examines in each of its parts. */
const CANDIDATES = 500;

export interface ClaimedNotification {
  id: string;
  accountId: string;
  ruleId: string;
  content: AlertContent;
  /** Number of this attempt, from 1. */
  attempts: number;
  webhookUrl: string;
  format: AlertFormat;
  target: AlertTarget;
  /** The routing key, if the target has one. */
  signingSecret: string;
  isSuspended: boolean;
}

/**
 * SQL: notifications that are due, the ones due longest first.
 * Only the first of its rule, so that "resolved" follows "firing".
 */
const due = (which: string) => `
  (select n.id, n.account_id, n.attempts > 0 as is_again, n.next_at from alert_notification n
    where ${which} and n.account_id <> all (array(select account_id from busy where sending >= ${AT_ONCE_OF_ACCOUNT}))
      and not exists (select from alert_notification o
                       where o.rule_id = n.rule_id and o.place < n.place and o.next_at is not null)
    order by n.next_at limit ${CANDIDATES})`;

// Notifications that were never tried go first: receivers that do not answer take long at each attempt,
// and may be many.
const CLAIM: Statement = {
  name: 'claim-alert-notifications',
  text: `
    with clock as materialized (select jobferry_now() as now),
    busy as materialized (select account_id, count(*) as sending from unnest($2::text[]) as of(account_id) group by 1),
    due as materialized (
      ${due(`n.attempts = 0 and ${IS_DUE}`)}
      union all ${due(`n.attempts > 0 and ${IS_DUE}`)}
      union all ${due(`n.attempts = 0 and ${IS_LOST}`)}
      union all ${due(`n.attempts > 0 and ${IS_LOST}`)}
    ), chosen as materialized (
      select id from (
        select id, is_again, next_at, coalesce(sending, 0)
               + row_number() over (partition by account_id order by is_again, next_at, id) as place
          from due left join busy using (account_id)) d
       where place <= ${AT_ONCE_OF_ACCOUNT} order by is_again, next_at limit $1
    ), claimed as (
      update alert_notification set attempts = attempts + 1, next_at = jobferry_now() + $3 * interval '1 ms'
       where id = any (array(
         select n.id from alert_notification n
          where n.id = any (array(select id from chosen)) and (${IS_DUE} or ${IS_LOST})
          order by n.id for update skip locked))
      returning id, account_id, rule_id, content, attempts
    )
    select n.id, n.account_id as "accountId", n.rule_id as "ruleId", n.content, n.attempts,
           r.webhook_url as "webhookUrl", r.format, r.target, r.signing_secret as "signingSecret",
           a.suspended_at is not null as "isSuspended"
      from claimed n join alert_rule r on r.id = n.rule_id join account a on a.id = n.account_id`,
};

/**
 * Claims notifications that are due. If their outcome is not recorded within `leaseMs`, they are claimed again.
 * @param sending for each notification that this process is sending, its account
 */
export async function claimNotifications(
  db: Database,
  limit: number,
  sending: readonly string[],
  leaseMs: number,
): Promise<ClaimedNotification[]> {
  return db.query<ClaimedNotification & Record<string, unknown>>(CLAIM, [limit, sending, leaseMs]);
}

export interface NotificationOutcome {
  isSent: boolean;
  /** Time until the next attempt; null if there is none. */
  retryMs: number | null;
  statusCode: number | null;
  error: string | null;
  /** Whether nothing was tried, because this process was busy or the account has sent enough: that is no attempt. */
  isPutOff?: boolean;
}

// Applies to this attempt only: a later one may have begun meanwhile. Those that wait behind it become due with it, or
// at once. If it is given up, its receiver does not know of the alerts that it names: those that still fire are sent
// again.
const RECORD: Statement = {
  name: 'record-alert-notification',
  text: `
    with clock as materialized (select jobferry_now() as now), recorded as (
      update alert_notification
         set sent_at = case when $3::boolean then clock.now end,
             failed_at = case when not $3::boolean and $4::float8 is null then clock.now end,
             next_at = clock.now + $4::float8 * interval '1 ms', webhook_status_code = $5, error = $6,
             attempts = attempts - $7::boolean::integer
        from clock where id = $1 and attempts = $2 and next_at is not null
      returning rule_id, place, failed_at, coalesce(next_at, clock.now) as next_at
    ), untold as (
      update alert set firing_notification_id = null from recorded
       where recorded.failed_at is not null and alert.rule_id = recorded.rule_id and alert.state <> 'resolved'
         and alert.firing_notification_id = $1
    )
    update alert_notification n set next_at = recorded.next_at from recorded
     where n.rule_id = recorded.rule_id and n.place > recorded.place and n.next_at is not null`,
};

export async function recordNotification(
  db: Database,
  { id, attempts }: Pick<ClaimedNotification, 'id' | 'attempts'>,
  { isSent, retryMs, statusCode, error, isPutOff = false }: NotificationOutcome,
): Promise<void> {
  await db.query(RECORD, [id, attempts, isSent, retryMs, statusCode, error, isPutOff]);
}
