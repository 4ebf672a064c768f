import { ALERT_LIMITS } from '../../domain/alert-rule.ts';
import { builder } from '../builder.ts';
import { ConflictError, ForbiddenError, NotFoundError, ValidationError } from '../errors.ts';
import { refusing, withoutNulls } from '../input.ts';
import { AlertFormat, AlertTargetInput } from './targets.ts';
import { AlertKind, AlertNotification, AlertRule } from './types.ts';

const THRESHOLD =
  'Limit of the condition, with its default. Seconds up to 86400: `OLDEST_DUE` 300, `HOLD` 600, `BREAKER` 60. Seconds up to 600: `SLOW_RECEIVER` 5. Dead letters up to 1000: `DEAD_LETTERS` 1. Percentage: `FAILURE_SHARE` 50, `SIGNATURE_REJECTED` 5, `USAGE` 80. `NO_WORKER` has no limit.';
const WINDOW =
  'Length of the counted window in seconds: a multiple of 300 up to 3600; 900 by default. Only for kinds that count.';
const FOR =
  'Seconds for which the condition must hold before an alert fires, and be over before it resolves: 0 to 3600; 60 by default.';

const TARGET = 'Where notifications are sent: this, or `webhookUrl` and `format`.';

const CreateAlertRuleInput = builder.inputType('CreateAlertRuleInput', {
  description: 'A new alert rule. Durations are in seconds.',
  fields: (t) => ({
    kind: t.field({ type: AlertKind, required: true, description: 'What the rule watches.' }),
    queueId: t.id({
      description: `Id of the queue that is watched. By default all queues are, the ${ALERT_LIMITS.queuesOfRule} oldest of them.`,
    }),
    threshold: t.float({ description: THRESHOLD }),
    windowSeconds: t.int({ description: WINDOW }),
    forSeconds: t.int({ description: FOR }),
    target: t.field({ type: AlertTargetInput, description: TARGET }),
    webhookUrl: t.string({
      description: 'URL to which notifications are sent; http or https. Short for a `target` that is a webhook.',
    }),
    format: t.field({
      type: AlertFormat,
      description: 'Body of the notifications to `webhookUrl`; `JOBFERRY` by default.',
    }),
  }),
});

const UpdateAlertRuleInput = builder.inputType('UpdateAlertRuleInput', {
  description:
    'The settings to change. Fields that are left out keep their values; the defaults below are for new rules only.',
  fields: (t) => ({
    threshold: t.float({ description: THRESHOLD }),
    windowSeconds: t.int({ description: WINDOW }),
    forSeconds: t.int({ description: FOR }),
    target: t.field({
      type: AlertTargetInput,
      description: `${TARGET} If the rule had no webhook before, call \`rotateAlertRuleSecret\` to get a signing secret.`,
    }),
    webhookUrl: t.string({
      description: 'URL to which notifications are sent; http or https. Short for a `target` that is a webhook.',
    }),
    format: t.field({ type: AlertFormat, description: 'Body of the notifications to a webhook.' }),
  }),
});

const CreateAlertRulePayload = builder
  .objectRef<{ id: string; signingSecret: string }>('CreateAlertRulePayload')
  .implement({
    description: 'The new rule and its signing secret.',
    fields: (t) => ({
      signingSecret: t.exposeString('signingSecret', {
        description:
          'The secret that signs the requests to a webhook; empty for other targets. No later response contains it.',
      }),
    }),
  });

const RotateAlertRuleSecretPayload = builder
  .objectRef<{ id: string; signingSecret: string }>('RotateAlertRuleSecretPayload')
  .implement({
    description: 'The rule and its new signing secret.',
    fields: (t) => ({
      signingSecret: t.exposeString('signingSecret', {
        description: 'The secret that signs the notifications from now on. No later response contains it.',
      }),
    }),
  });

const AlertRulePayload = builder.objectRef<{ id: string }>('AlertRulePayload').implement({
  description: 'The changed rule.',
});

for (const payload of [CreateAlertRulePayload, RotateAlertRuleSecretPayload, AlertRulePayload]) {
  builder.objectField(payload, 'rule', (t) =>
    t.prismaField({
      type: AlertRule,
      description: 'The rule.',
      resolve: (query, { id }, _args, { prisma, account }) =>
        prisma.alertRule.findFirstOrThrow({ ...query, where: { id, accountId: account.id } }),
    }),
  );
}

const DeleteAlertRulePayload = builder.objectRef<{ id: string }>('DeleteAlertRulePayload').implement({
  description: 'The rule that was deleted.',
  fields: (t) => ({ id: t.exposeID('id', { description: 'Id of the rule.' }) }),
});

const TestAlertRulePayload = builder.objectRef<{ id: string }>('TestAlertRulePayload').implement({
  description: 'The test notification, which is sent in a moment.',
  fields: (t) => ({
    notification: t.prismaField({
      type: AlertNotification,
      description: 'The notification.',
      resolve: (query, { id }, _args, { prisma, account }) =>
        prisma.alertNotification.findFirstOrThrow({ ...query, where: { id, accountId: account.id } }),
    }),
  }),
});

builder.mutationFields((t) => ({
  createAlertRule: t.field({
    type: CreateAlertRulePayload,
    description: `Creates an alert rule. An account has at most ${ALERT_LIMITS.rules}, ${ALERT_LIMITS.rulesOfAllQueues} of them for all queues.`,
    errors: { types: [ValidationError, ForbiddenError, NotFoundError] },
    args: { input: t.arg({ type: CreateAlertRuleInput, required: true, description: 'The rule.' }) },
    resolve: (_root, { input }, { services, account }) =>
      refusing(() => {
        const { kind, queueId, ...settings } = input;
        const rule = { kind, queueId: queueId ?? null, ...withoutNulls(settings) };
        return services.alerts.createRule(account, rule as Parameters<typeof services.alerts.createRule>[1]);
      }),
  }),
  updateAlertRule: t.field({
    type: AlertRulePayload,
    description:
      'Changes settings of an alert rule. Its alerts stay, and follow the new settings. Notifications that wait go to a new target at once.',
    errors: { types: [ValidationError, NotFoundError] },
    args: {
      id: t.arg.id({ required: true, description: 'Id of the rule.' }),
      input: t.arg({ type: UpdateAlertRuleInput, required: true, description: 'The settings to change.' }),
    },
    resolve: (_root, { id, input }, { services, account }) =>
      refusing(async () => {
        const changes = withoutNulls(input) as Parameters<typeof services.alerts.updateRule>[2];
        await services.alerts.updateRule(account, id, changes);
        return { id };
      }),
  }),
  deleteAlertRule: t.field({
    type: DeleteAlertRulePayload,
    description:
      'Deletes an alert rule with its alerts, also those that fire: the receiver is not notified of their end.',
    errors: { types: [NotFoundError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the rule.' }) },
    resolve: (_root, { id }, { services, account }) =>
      refusing(async () => {
        await services.alerts.deleteRule(account, id);
        return { id };
      }),
  }),
  rotateAlertRuleSecret: t.field({
    type: RotateAlertRuleSecretPayload,
    description:
      'Replaces the signing secret of an alert rule at once, also for notifications that wait. If the receiver refuses a notification because it still has the former secret, the notification is sent again. To replace the routing key of PagerDuty, call `updateAlertRule`.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the rule.' }) },
    resolve: (_root, { id }, { services, account }) =>
      refusing(async () => ({ id, signingSecret: await services.alerts.rotateSecret(account, id) })),
  }),
  silenceAlertRule: t.field({
    type: AlertRulePayload,
    description:
      'Silences an alert rule. Its alerts fire without a notification. If an alert still fires at the end of the silence, its notification is sent then. If an alert ends whose notification was sent before the silence, its end is reported at once.',
    errors: { types: [ValidationError, NotFoundError] },
    args: {
      id: t.arg.id({ required: true, description: 'Id of the rule.' }),
      until: t.arg({
        type: 'DateTime',
        description: 'End of the silence, at most 90 days from now; left out, the present silence ends.',
      }),
    },
    resolve: (_root, { id, until }, { services, account }) =>
      refusing(async () => {
        await services.alerts.silenceRule(account, id, until ?? null);
        return { id };
      }),
  }),
  testAlertRule: t.field({
    type: TestAlertRulePayload,
    description:
      'Sends a test notification to the target of an alert rule; one in ten seconds, and none while one waits.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the rule.' }) },
    resolve: (_root, { id }, { services, account }) =>
      refusing(async () => ({ id: await services.alerts.testRule(account, id) })),
  }),
}));
