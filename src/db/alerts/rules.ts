import type { AlertContent } from '../../domain/alert-message.ts';
import {
  ALERT_LIMITS,
  type AlertKind,
  type AlertRuleInput,
  type AlertRuleSettings,
  changedRule,
} from '../../domain/alert-rule.ts';
import type { AlertFormat, AlertTarget } from '../../domain/alert-target.ts';
import { type AuditRecord, type Author, difference } from '../../domain/audit.ts';
import { JobferryError, notFound } from '../../domain/errors.ts';
import { actorJson, audit } from '../audit.ts';
import type { Cipher } from '../connection/cipher.ts';
import type { Database, Statement } from '../connection/database.ts';
import type { PrismaClient } from '../connection/prisma.ts';
import { exclusively } from '../connection/transactions.ts';
import type { AlertRule, Prisma } from '../generated/client.ts';

/** Rows of `alert_rule`. */

/**
 * Creates a rule.
 * @returns its id
 * @throws JobferryError `not_found` (queue), `forbidden` (too many rules)
 */
export async function createAlertRule(
  { prisma, cipher }: { prisma: PrismaClient; cipher: Cipher },
  by: Author,
  rule: AlertRuleSettings & { kind: AlertKind; queueId: string | null; ofQueues: boolean },
  secret: string,
): Promise<string> {
  const { accountId } = by;
  const { ofQueues, ...row } = rule;
  const { target } = row;
  return exclusively(prisma, accountId, async (tx) => {
    const name = row.queueId === null ? null : await nameOfQueue(tx, accountId, row.queueId);
    const present = await tx.alertRule.count({ where: { accountId } });
    if (present >= ALERT_LIMITS.rules) throw tooMany(`${ALERT_LIMITS.rules} alert rules`);
    if (ofQueues && row.queueId === null) {
      const ofAll = { accountId, queueId: null, kind: { notIn: ['no_worker', 'usage'] } };
      const wide = await tx.alertRule.count({ where: ofAll });
      if (wide >= ALERT_LIMITS.rulesOfAllQueues) throw tooMany(`${ALERT_LIMITS.rulesOfAllQueues} rules for all queues`);
    }
    // The secret is encrypted for the id of the rule, so the id is created first.
    const [made] = await tx.$queryRaw<{ id: string }[]>`select jobferry_id() as id`;
    const id = made?.id ?? '';
    await tx.alertRule.create({
      data: { ...row, target, id, accountId, signingSecret: cipher.encrypt(`signing-secret:${id}`, secret) },
    });
    await audit(tx, by, { action: 'alert_rule.create', ...targetOf(id, row.kind), after: { ...row, queue: name } });
    return id;
  });
}

/**
 * @param freshSecret the signing secret of a rule that no longer has a routing key
 * @throws JobferryError `not_found`, `invalid_fields`
 */
export async function updateAlertRule(
  { prisma, cipher }: { prisma: PrismaClient; cipher: Cipher },
  by: Author,
  ruleId: string,
  input: AlertRuleInput,
  freshSecret: string,
): Promise<void> {
  const { accountId } = by;
  await exclusively(prisma, accountId, async (tx) => {
    const row = await tx.alertRule.findFirst({ where: { id: ruleId, accountId } });
    if (row === null) throw notFound('alert rule');
    const present = settingsOf(row);
    const { settings, routingKey } = changedRule(row.kind as AlertKind, present, input);
    const hadKey = present.target.type === 'pagerduty' && settings.target.type !== 'pagerduty';
    const secret = routingKey ?? (hadKey ? freshSecret : null);
    const changed = difference(present, settings) ?? (secret === null ? null : { before: {}, after: {} });
    if (changed === null) return;
    const stored = secret === null ? {} : { signingSecret: cipher.encrypt(`signing-secret:${ruleId}`, secret) };
    await tx.alertRule.update({ where: { id: ruleId }, data: { ...changed.after, ...stored } });
    // A corrected address does not wait for the back-off of the wrong one.
    // Others of the rule follow the first (db/alerts/notifications).
    if ('webhookUrl' in changed.after || secret !== null) {
      await tx.$executeRaw`
        update alert_notification set next_at = least(next_at, jobferry_now()) where id = (
          select id from alert_notification where rule_id = ${ruleId} and next_at is not null order by place limit 1)`;
    }
    await audit(tx, by, { action: 'alert_rule.update', ...targetOf(ruleId, row.kind), ...changed });
  });
}

const DELETE: Statement = {
  name: 'delete-alert-rule',
  text: `
    with gone as (delete from alert_rule where id = $3 and account_id = $1 returning *)
    select jobferry_audit($1, $2::json, 'alert_rule.delete', 'alert_rule', id, kind, jsonb_build_object(
             'kind', kind, 'queueId', queue_id, 'threshold', threshold, 'windowSeconds', window_seconds,
             'forSeconds', for_seconds, 'webhookUrl', webhook_url, 'format', format, 'target', target))
      from gone`,
};

/** Removes a rule with its alerts and notifications. @returns false if there is none */
export async function deleteAlertRule(db: Database, by: Author, ruleId: string): Promise<boolean> {
  return (await db.query(DELETE, [by.accountId, actorJson(by.actor), ruleId])).length > 0;
}

const ROTATE: Statement = {
  name: 'rotate-alert-secret',
  text: `
    with rotated as (
      update alert_rule set signing_secret = $4
       where id = $3 and account_id = $1 and target ->> 'type' = 'webhook' returning id, kind)
    select jobferry_audit($1, $2::json, 'alert_rule.rotate_secret', 'alert_rule', id, kind) from rotated`,
};

/**
 * Replaces the signing secret of a rule at once.
 * @returns false if there is no such rule, or if its target is no webhook
 */
export async function rotateAlertSecret(db: Database, by: Author, ruleId: string, secret: string): Promise<boolean> {
  const stored = db.cipher.encrypt(`signing-secret:${ruleId}`, secret);
  return (await db.query(ROTATE, [by.accountId, actorJson(by.actor), ruleId, stored])).length > 0;
}

const SILENCE: Statement = {
  name: 'silence-alert-rule',
  text: `
    with present as materialized (
      select id, kind, silenced_until from alert_rule where id = $3 and account_id = $1 for no key update
    ), silenced as (
      update alert_rule set silenced_until = $4::timestamptz, silenced_by = case when $4 is not null then $2::json ->> 'label' end
        from present where alert_rule.id = present.id
    )
    select jobferry_audit($1, $2::json, 'alert_rule.silence', 'alert_rule', id, kind,
                          jsonb_build_object('silencedUntil', jobferry_iso(silenced_until)),
                          jsonb_build_object('silencedUntil', jobferry_iso($4::timestamptz)))
      from present`,
};

/** @param until null ends the silence @returns false if there is no such rule */
export async function silenceAlertRule(db: Database, by: Author, ruleId: string, until: Date | null): Promise<boolean> {
  return (await db.query(SILENCE, [by.accountId, actorJson(by.actor), ruleId, until])).length > 0;
}

// A person who clicks often is no load for the receiver: one test in ten seconds, and none while the last one waits.
const TEST: Statement = {
  name: 'test-alert-rule',
  text: `
    with made as (
      insert into alert_notification (account_id, rule_id, content)
      select $1, $3, $4::jsonb
       where not exists (select from alert_notification
                          where rule_id = $3 and id >= jobferry_first_id(jobferry_now() - interval '10 s')
                            and id < jobferry_first_id(jobferry_now() + interval '10 s') and content ->> 'type' = 'test')
         and not exists (select from alert_notification
                          where rule_id = $3 and next_at is not null and content ->> 'type' = 'test')
      returning id
    )
    select id, jobferry_audit($1, $2::json, 'alert_rule.test', 'alert_rule', $3, $5) from made`,
};

/** Stores a test notification. @returns its id; null if the last one was a moment ago, or waits */
export async function testAlertRule(
  db: Database,
  by: Author,
  rule: { id: string; kind: string },
  content: AlertContent,
): Promise<string | null> {
  const values = [by.accountId, actorJson(by.actor), rule.id, JSON.stringify(content), rule.kind];
  return (await db.one<{ id: string }>(TEST, values))?.id ?? null;
}

async function nameOfQueue(tx: Prisma.TransactionClient, accountId: string, queueId: string): Promise<string> {
  const queue = await tx.queue.findFirst({
    where: { id: queueId, accountId, deletedAt: null },
    select: { name: true },
  });
  if (queue === null) throw notFound('queue');
  return queue.name;
}

/** The casts are safe: a CHECK constraint restricts the column to the domain's values. */
function settingsOf(row: AlertRule): AlertRuleSettings {
  const { threshold, windowSeconds, forSeconds, webhookUrl } = row;
  const [format, target] = [row.format as AlertFormat, row.target as AlertTarget];
  return { threshold, windowSeconds, forSeconds, webhookUrl, format, target };
}

function targetOf(id: string, kind: string): Pick<AuditRecord, 'targetType' | 'targetId' | 'targetName'> {
  return { targetType: 'alert_rule', targetId: id, targetName: kind };
}

function tooMany(what: string): JobferryError {
  return new JobferryError('forbidden', `an account may have ${what}: delete one first`);
}
