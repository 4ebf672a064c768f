import {
  createAlertRule,
  deleteAlertRule,
  rotateAlertSecret,
  silenceAlertRule,
  testAlertRule,
  updateAlertRule,
} from '../../db/alerts/rules.ts';
import { recentDatabaseTime } from '../../db/connection/clock.ts';
import { type Account, assertNotSuspended, authorOf } from '../../domain/account.ts';
import { testContentOf } from '../../domain/alert-message.ts';
import { type AlertKind, type AlertRuleInput, assertSilenceEnd, KINDS, newRule } from '../../domain/alert-rule.ts';
import { invalidField, JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import type { Context } from '../context.ts';
import { generateSigningSecret } from '../queues/signing-secret.ts';

export type NewAlertRule = AlertRuleInput & { kind: AlertKind; queueId: string | null };

/** Changes the alert rules of an account. Each change is written to the audit log in the same commit. */
export function createAlertRules({ db, prisma, sendsMail }: Pick<Context, 'db' | 'prisma' | 'sendsMail'>) {
  const assertTarget = ({ target }: AlertRuleInput) => {
    if (target?.email == null || sendsMail) return;
    throw invalidField('target.email', 'this service sends no mail: its operator has to set SMTP_URL and SMTP_FROM');
  };
  return {
    /**
     * Creates a rule.
     * @returns its id and its signing secret, which is shown once; empty if its target checks no signatures
     * @throws JobferryError `invalid_fields`, `not_found` (queue), `forbidden` (too many rules), `unavailable`
     */
    async createRule(
      account: Account,
      { kind, queueId, ...input }: NewAlertRule,
    ): Promise<{ id: string; signingSecret: string }> {
      assertNotSuspended(account);
      const { ofQueues } = KINDS[kind];
      if (queueId !== null && !ofQueues) throw invalidField('queueId', 'this kind of rule watches no queue');
      if (queueId !== null && !isId(queueId)) throw notFound('queue');
      assertTarget(input);
      const { settings, routingKey } = newRule(kind, input);
      const signingSecret = generateSigningSecret();
      const rule = { ...settings, kind, queueId, ofQueues };
      const stored = routingKey ?? signingSecret;
      const id = await createAlertRule({ prisma, cipher: db.cipher }, authorOf(account), rule, stored);
      return { id, signingSecret: settings.target.type === 'webhook' ? signingSecret : '' };
    },

    /** Changes a rule; what is left out stays. @throws JobferryError `invalid_fields`, `not_found`, `unavailable` */
    async updateRule(account: Account, ruleId: string, input: AlertRuleInput): Promise<void> {
      if (!isId(ruleId)) throw notFound('alert rule');
      assertTarget(input);
      const author = authorOf(account);
      await updateAlertRule({ prisma, cipher: db.cipher }, author, ruleId, input, generateSigningSecret());
    },

    /** Deletes a rule with its alerts. @throws JobferryError `not_found`, `unavailable` */
    async deleteRule(account: Account, ruleId: string): Promise<void> {
      if (!isId(ruleId) || !(await deleteAlertRule(db, authorOf(account), ruleId))) throw notFound('alert rule');
    },

    /**
     * Replaces the signing secret of a rule. Later attempts are signed with the new one,
     * also those of notifications that wait.
     * @returns the new secret, which is shown once
     * @throws JobferryError `not_found`, `conflict` (its target is no webhook), `unavailable`
     */
    async rotateSecret(account: Account, ruleId: string): Promise<string> {
      const secret = generateSigningSecret();
      const isRotated = isId(ruleId) && (await rotateAlertSecret(db, authorOf(account), ruleId, secret));
      if (isRotated) return secret;
      const isThere =
        isId(ruleId) && (await prisma.alertRule.count({ where: { id: ruleId, accountId: account.id } })) > 0;
      if (!isThere) throw notFound('alert rule');
      throw new JobferryError(
        'conflict',
        'only a webhook has a signing secret: updateAlertRule changes another target',
      );
    },

    /**
     * Silences a rule: its alerts fire without a notification.
     * @param until null ends the silence
     * @throws JobferryError `not_found`, `invalid_fields` (end), `unavailable`
     */
    async silenceRule(account: Account, ruleId: string, until: Date | null): Promise<void> {
      if (until !== null) assertSilenceEnd(until, await recentDatabaseTime(db));
      const isSilenced = isId(ruleId) && (await silenceAlertRule(db, authorOf(account), ruleId, until));
      if (!isSilenced) throw notFound('alert rule');
    },

    /**
     * Sends a test notification to the webhook of a rule, in a moment.
     * @returns the id of the notification
     * @throws JobferryError `not_found`, `conflict` (the last test was a moment ago, or waits), `unavailable`
     */
    async testRule(account: Account, ruleId: string): Promise<string> {
      const rule = isId(ruleId)
        ? await prisma.alertRule.findFirst({
            where: { id: ruleId, accountId: account.id },
            include: { queue: { select: { name: true } } },
          })
        : null;
      if (rule === null) throw notFound('alert rule');
      // The cast is safe: a CHECK constraint restricts the column to the domain's values.
      const about = { ...rule, kind: rule.kind as AlertKind, queueName: rule.queue?.name ?? null };
      const content = testContentOf(about, await recentDatabaseTime(db));
      const id = await testAlertRule(db, authorOf(account), rule, content);
      if (id !== null) return id;
      throw new JobferryError(
        'conflict',
        'the last test of this rule was a moment ago, or waits for its target: wait ten seconds',
      );
    },
  };
}
