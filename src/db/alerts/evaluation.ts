import type { AlertContent } from '../../domain/alert-message.ts';
import { ALERT_LIMITS, type AlertKind } from '../../domain/alert-rule.ts';
import type { AlertTarget } from '../../domain/alert-target.ts';
import type { Database, Statement } from '../connection/database.ts';
import { hasTurn } from './turn.ts';

/** The reads of an evaluation of an account, and its write of the changes. */

// Grouped by an index that has at most fifty entries of an account,
// so that a million accounts without rules cost nothing.
const ACCOUNTS: Statement = {
  name: 'accounts-with-alert-rules',
  text: 'select account_id as id from alert_rule where account_id > $1 group by account_id order by account_id limit $2',
};

/** @returns the ids of the next accounts that have rules */
export async function accountsWithRules(db: Database, after: string, limit: number): Promise<string[]> {
  return (await db.query<{ id: string }>(ACCOUNTS, [after, limit])).map(({ id }) => id);
}

export interface EvaluatedRule {
  id: string;
  kind: AlertKind;
  queueId: string | null;
  queueName: string | null;
  threshold: number;
  windowSeconds: number;
  forSeconds: number;
  isSilenced: boolean;
  target: AlertTarget['type'];
  /** Notifications that wait for its receiver, counted up to the limit. */
  waiting: number;
}

/** An alert that has not ended, with the times in milliseconds. */
export interface OpenAlertRow {
  id: string;
  ruleId: string;
  queueId: string | null;
  queueName: string | null;
  state: 'pending' | 'firing';
  sinceMs: number;
  firedAtMs: number | null;
  clearSinceMs: number | null;
  value: number;
  cause: string;
  isNotified: boolean;
  isQueueGone: boolean;
}

export interface AccountOfRules {
  plan: string;
  nowMs: number;
  /** Delivery attempts of this month. */
  attempts: number;
  hasWorker: boolean;
  /** How far the statistics are behind. */
  behindSeconds: number;
  rules: EvaluatedRule[];
  open: OpenAlertRow[];
}

const ms = (column: string) => `floor(extract(epoch from ${column}) * 1000)::float8`;

// A process with a worker has a capacity. Its heartbeat is some seconds old at most; a heartbeat in the future was
// written before the clock was set back.
const LOAD: Statement = {
  name: 'alert-rules-of-account',
  text: `
    with clock as materialized (select jobferry_now() as now)
    select a.plan, ${ms('clock.now')} as "nowMs",
           coalesce((select u.attempts from usage u
                      where u.account_id = a.id and u.month = jobferry_month(clock.now)), 0)::float8 as attempts,
           exists (select from instance i
                    where i.capacity > 0
                      and i.last_seen_at between clock.now - interval '30 s' and clock.now + interval '30 s') as "hasWorker",
           extract(epoch from clock.now - jobferry_stats_until($2 * interval '1 ms'))::float8 as "behindSeconds",
           (select json_agg(json_build_object(
              'id', r.id, 'kind', r.kind, 'queueId', r.queue_id, 'queueName', q.name, 'threshold', r.threshold,
              'windowSeconds', r.window_seconds, 'forSeconds', r.for_seconds, 'target', r.target ->> 'type',
              'isSilenced', coalesce(r.silenced_until > clock.now, false), 'waiting', (
                 select count(*) from (select from alert_notification n where n.rule_id = r.id and n.next_at is not null
                                        limit ${ALERT_LIMITS.waitingOfRule}) n)) order by r.id)
              from alert_rule r left join queue q on q.id = r.queue_id where r.account_id = a.id) as rules,
           (select coalesce(json_agg(json_build_object(
              'id', o.id, 'ruleId', o.rule_id, 'queueId', o.queue_id, 'queueName', o.queue_name, 'state', o.state,
              'sinceMs', ${ms('o.since')}, 'firedAtMs', ${ms('o.fired_at')}, 'clearSinceMs', ${ms('o.clear_since')},
              'value', o.value, 'cause', o.cause, 'isNotified', o.firing_notification_id is not null,
              'isQueueGone', o.queue_id is not null and not exists (
                 select from queue q where q.id = o.queue_id and q.deleted_at is null)) order by o.id), '[]')
              from alert_rule r join alert o on o.rule_id = r.id and o.state <> 'resolved' where r.account_id = a.id) as open
      from account a cross join clock
     where a.id = $1 and a.suspended_at is null and exists (select from alert_rule r where r.account_id = a.id)`,
};

/** @returns null if the account is suspended, or has no rules any more */
export async function loadAccountOfRules(
  db: Database,
  accountId: string,
  retentionMs: number,
): Promise<AccountOfRules | null> {
  return db.one<AccountOfRules & Record<string, unknown>>(LOAD, [accountId, retentionMs]);
}

export interface AlertChanges {
  /** All evaluated rules, with why they could not be decided. */
  rules: { id: string; problem: string | null }[];
  begun: { ruleId: string; queueId: string | null; queueName: string | null; value: number; cause: string }[];
  updated: {
    id: string;
    ruleId: string;
    state: 'firing' | 'resolved';
    firedAtMs: number | null;
    clearSinceMs: number | null;
    value: number;
    cause: string;
    resolution: string | null;
    /** Its part of the notification of the rule; null for nothing. */
    notified: 'firing' | 'resolved' | null;
  }[];
  /** Ids of pending alerts. */
  forgotten: string[];
  /** At most one for each rule. */
  notifications: { ruleId: string; content: AlertContent }[];
}

const at = (column: string) => `to_timestamp(${column} / 1000)::timestamptz(3)`;

// One statement, so that an alert changes and its notification is stored together or not at all. It writes nothing if
// another process has the turn: this one was frozen, and its findings are old.
const APPLY: Statement = {
  name: 'apply-alert-changes',
  text: `
    with turn as materialized (${hasTurn('$2')}),
    rule as materialized (
      select r.id, e.problem from json_to_recordset($4::json) as e(id text, problem text)
        join alert_rule r on r.id = e.id and r.account_id = $1 cross join turn
    ), evaluated as (
      update alert_rule set evaluated_at = ${at('$3::float8')}, problem = rule.problem from rule where alert_rule.id = rule.id
    ), begun as (
      insert into alert (account_id, rule_id, queue_id, queue_name, since, value, cause)
      select $1, rule.id, b."queueId", b."queueName", ${at('$3::float8')}, b.value, b.cause
        from json_to_recordset($5::json) as b("ruleId" text, "queueId" text, "queueName" text, value float8, cause text)
        join rule on rule.id = b."ruleId"
      on conflict (rule_id, coalesce(queue_id, '')) where state <> 'resolved' do nothing
    ), notified as (
      insert into alert_notification (account_id, rule_id, content)
      select $1, rule.id, n.content from json_to_recordset($6::json) as n("ruleId" text, content jsonb)
        join rule on rule.id = n."ruleId"
      returning id, rule_id
    ), forgotten as (
      delete from alert using rule where alert.rule_id = rule.id and alert.id = any ($7::text[]) and state = 'pending'
    ), updated as (
      update alert set state = u.state, fired_at = ${at('u."firedAtMs"')}, clear_since = ${at('u."clearSinceMs"')},
             resolved_at = case when u.state = 'resolved' then ${at('$3::float8')} end, value = u.value, cause = u.cause,
             resolution = u.resolution,
             firing_notification_id = case when u.notified = 'firing' then n.id else firing_notification_id end,
             resolved_notification_id = case when u.notified = 'resolved' then n.id end
        from json_to_recordset($8::json) as u(id text, "ruleId" text, state text, "firedAtMs" float8, "clearSinceMs" float8,
                                              value float8, cause text, resolution text, notified text)
        join rule on rule.id = u."ruleId" left join notified n on n.rule_id = u."ruleId"
       where alert.id = u.id and alert.state <> 'resolved'
    )
    select exists (select from turn) as applied`,
};

/** @returns false if this process has lost its turn: nothing was written */
export async function applyAlertChanges(
  db: Database,
  holder: string,
  { accountId, nowMs }: { accountId: string; nowMs: number },
  { rules, begun, updated, forgotten, notifications }: AlertChanges,
): Promise<boolean> {
  const [ruleJson, begunJson, notifiedJson, updatedJson] = [rules, begun, notifications, updated].map((rows) =>
    JSON.stringify(rows),
  );
  const values = [accountId, holder, nowMs, ruleJson, begunJson, notifiedJson, forgotten, updatedJson];
  return (await db.one<{ applied: boolean }>(APPLY, values))?.applied ?? false;
}

/** As many as can end in one evaluation, so that the number stays within its bound. */
const PRUNED = ALERT_LIMITS.rules * ALERT_LIMITS.openOfRule;

// An alert that goes on and off would fill the tables. Nothing that is open is removed.
const PRUNE: Statement = {
  name: 'prune-alerts',
  text: `
    with alerts as (
      delete from alert where id = any (array(
        select id from alert where account_id = $1 and state = 'resolved'
         order by account_id desc, id desc offset ${ALERT_LIMITS.kept} limit ${PRUNED}))
    )
    delete from alert_notification where id = any (array(
      select id from alert_notification where account_id = $1 and next_at is null
       order by account_id desc, id desc offset ${ALERT_LIMITS.kept} limit ${PRUNED}))`,
};

/** Removes the oldest ended alerts and notifications of an account beyond the number that it keeps. */
export async function pruneAlerts(db: Database, accountId: string): Promise<void> {
  await db.query(PRUNE, [accountId]);
}
