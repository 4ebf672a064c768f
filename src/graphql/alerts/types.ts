import { ALERT_RESOLUTIONS, type AlertResolution as Resolution } from '../../domain/alert.ts';
import { MAX_NOTIFICATION_ATTEMPTS } from '../../domain/alert-message.ts';
import { ALERT_KINDS, ALERT_LIMITS, KINDS, type AlertKind as Kind } from '../../domain/alert-rule.ts';
import type { AlertFormat as Format } from '../../domain/alert-target.ts';
import { builder } from '../builder.ts';
import { enumOf } from '../enums.ts';
import { Queue } from '../refs.ts';
import { Selection } from '../selection.ts';
import { AlertFormat, AlertTarget, targetOf } from './targets.ts';
import { shownWebhookUrl } from './webhook-url.ts';

export const AlertKind = enumOf(
  'AlertKind',
  'What a rule watches. `OLDEST_DUE`: the oldest due job has waited for longer than the threshold in seconds, in a queue that is neither paused nor held. `DEAD_LETTERS`: the window has at least as many dead letters as the threshold. `FAILURE_SHARE`: at least the threshold’s percentage of the attempts in the window failed, of ten attempts or more. `HOLD`: the queue has been held for longer than the threshold in seconds, and its breaker is not open. `BREAKER`: the breaker of the queue has been open for longer than the threshold in seconds. `SIGNATURE_REJECTED`: at least the threshold’s percentage of the answers in the window, and at least three, were 401. `SLOW_RECEIVER`: at least one delivery in twenty of the window took longer than the threshold in seconds, of ten deliveries or more. `NO_WORKER`: no worker has been seen for 30 s. `USAGE`: at least the threshold’s percentage of the plan’s attempts of this month is used.',
  ALERT_KINDS,
);
const ALERT_STATES = ['pending', 'firing', 'resolved'] as const;
export const AlertState = enumOf(
  'AlertState',
  'State of an alert. `PENDING`: its condition holds, but not yet for long enough. `FIRING`: it has held for long enough. `RESOLVED`: it has been over for long enough.',
  ALERT_STATES,
);
const AlertResolution = enumOf('AlertResolution', 'Why an alert has ended.', ALERT_RESOLUTIONS);

export const AlertNotification = builder.prismaObject('AlertNotification', {
  description: `A message to the target of a rule. It is tried up to ${MAX_NOTIFICATION_ATTEMPTS} times within about 50 minutes. A \`Retry-After\` in an answer delays the next attempt, by an hour at most. Each attempt has the same body. If the last attempt fails, a new notification contains the alerts that still fire.`,
  authScopes: ({ accountId }) => ({ owner: accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the notification, as in its body.' }),
    attempts: t.exposeInt('attempts', { description: 'Number of attempts so far.' }),
    nextAttemptAt: t.expose('nextAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the next attempt; null if none follows.',
    }),
    sentAt: t.expose('sentAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the receiver accepted it; null if it has not.',
    }),
    failedAt: t.expose('failedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the final attempt failed; null unless the notification was given up.',
    }),
    webhookStatusCode: t.exposeInt('webhookStatusCode', {
      nullable: true,
      description: 'HTTP status code of the last answer; null without one, and for mails.',
    }),
    error: t.exposeString('error', {
      nullable: true,
      description:
        'Error of the last attempt, as in the history of jobs; of a mail also `SMTP 550`, `login_refused`, `too_many_mails` (the account has to wait) or `smtp_not_set` (this process has no `SMTP_URL`). A mail that was sent has one if some of its recipients were refused. Null if there is none.',
    }),
  }),
});

/** The latest notification of a rule. */
const LATEST = { orderBy: { id: 'desc' }, take: 1 } as const;
/** The alerts of a rule that fire. */
const FIRING = { where: { state: 'firing' }, orderBy: { id: 'asc' }, take: ALERT_LIMITS.openOfRule } as const;

export const AlertRule = builder.prismaObject('AlertRule', {
  description: 'A condition that is watched, and the target of its notifications. Durations are in seconds.',
  authScopes: ({ accountId }) => ({ owner: accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the rule, 24 hexadecimal digits.' }),
    kind: t.field({
      type: AlertKind,
      description: 'What the rule watches.',
      // The casts are safe: CHECK constraints restrict the columns to the domain's values.
      resolve: ({ kind }) => kind as Kind,
    }),
    queue: t.field({
      type: Queue,
      nullable: true,
      description:
        'The queue that is watched; null for all queues, and for kinds that watch none. The rule of a deleted queue does nothing, and is removed with the last job of the queue.',
      resolve: ({ queueId }, _args, { loaders }, info) => {
        if (queueId === null) return null;
        loaders.selectOfQueues(Selection.of(info));
        return loaders.queue.load(queueId);
      },
    }),
    threshold: t.float({
      nullable: true,
      description: 'Limit in seconds, dead letters or percent, depending on `kind`; null for a kind without a limit.',
      select: { kind: true, threshold: true },
      resolve: ({ kind, threshold }) => (KINDS[kind as Kind].threshold === null ? null : threshold),
    }),
    windowSeconds: t.int({
      nullable: true,
      description: 'Length of the window in which the rule counts, in seconds; null for a kind that counts nothing.',
      select: { kind: true, windowSeconds: true },
      resolve: ({ kind, windowSeconds }) => (KINDS[kind as Kind].hasWindow ? windowSeconds : null),
    }),
    forSeconds: t.exposeInt('forSeconds', {
      description:
        'Time in seconds for which the condition must hold before an alert fires. Before the alert resolves, the condition must be over for the same time, and for a minute at least.',
    }),
    webhookUrl: t.string({
      description:
        'URL of the webhook to which notifications are sent. For another target, a URL that names it, such as `mailto:ops@example.com`. A client that may not call `updateAlertRule` gets only the scheme and the host, such as `https://hooks.slack.com/…`, because the rest may be a secret.',
      resolve: ({ webhookUrl }, _args, context) => shownWebhookUrl(webhookUrl, context),
    }),
    target: t.field({
      type: AlertTarget,
      description: 'Where notifications are sent.',
      select: { target: true, webhookUrl: true, format: true },
      resolve: targetOf,
    }),
    format: t.field({
      type: AlertFormat,
      description: 'Body of the notifications; of no meaning for targets that are no webhook.',
      resolve: ({ format }) => format as Format,
    }),
    silencedUntil: t.expose('silencedUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'End of the silence, which may have passed; null without one.',
    }),
    silencedBy: t.exposeString('silencedBy', {
      nullable: true,
      description: 'Actor that silenced the rule; null without a silence.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the rule was created.' }),
    evaluatedAt: t.expose('evaluatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last evaluation; null before the first.',
    }),
    problem: t.exposeString('problem', {
      nullable: true,
      description: 'Reason why the last evaluation had no result and changed no alert; null if it had a result.',
    }),
    firing: t.relation('alerts', {
      complexity: { field: 1, multiplier: 10 },
      query: FIRING,
      description: 'The alerts of the rule that fire, one for each queue.',
    }),
    lastNotification: t.prismaField({
      type: AlertNotification,
      nullable: true,
      description: 'The latest notification, tests included; null before the first.',
      select: (_args, _context, nestedSelection) => ({ notifications: nestedSelection(LATEST) }),
      resolve: (_query, { notifications }) => notifications[0] ?? null,
    }),
  }),
});

export const Alert = builder.prismaObject('Alert', {
  description: 'A condition of a rule that holds, or held, for one queue or for the account.',
  authScopes: ({ accountId }) => ({ owner: accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the alert, as in its notifications.' }),
    rule: t.relation('rule', { description: 'The rule.' }),
    queueName: t.exposeString('queueName', {
      nullable: true,
      description: 'Name of the queue; null if the rule watches the account.',
    }),
    state: t.field({
      type: AlertState,
      description: 'State of the alert.',
      resolve: ({ state }) => state as (typeof ALERT_STATES)[number],
    }),
    since: t.expose('since', { type: 'DateTime', description: 'Time since which the condition held.' }),
    firedAt: t.expose('firedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the alert fired; null while it is pending.',
    }),
    resolvedAt: t.expose('resolvedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the alert ended; null while it has not.',
    }),
    value: t.exposeFloat('value', { description: 'The last value, in the unit of the rule’s threshold.' }),
    cause: t.exposeString('cause', { description: 'Why the alert fires, in words, with the last value.' }),
    resolution: t.field({
      type: AlertResolution,
      nullable: true,
      description: 'Why the alert has ended; null while it has not.',
      resolve: ({ resolution }) => resolution as Resolution | null,
    }),
    firingNotificationId: t.exposeID('firingNotificationId', {
      nullable: true,
      description:
        'Id of the notification that reports the alert as firing. Null if there is none, because the rule was silenced or too many of its notifications were waiting, or if the notification was given up.',
    }),
    resolvedNotificationId: t.exposeID('resolvedNotificationId', {
      nullable: true,
      description: 'Id of the notification that reports the end of the alert; null if there is none.',
    }),
  }),
});
