import {
  ALERT_FORMATS,
  ALERT_SEVERITIES,
  type AlertFormat as Format,
  MAX_RECIPIENTS,
  type AlertTarget as Target,
} from '../../domain/alert-target.ts';
import { builder } from '../builder.ts';
import { enumOf } from '../enums.ts';
import { shownRecipients, shownWebhookUrl } from './webhook-url.ts';

/** Where a rule sends its notifications, as it is shown and as it is sent. */

export const AlertFormat = enumOf(
  'AlertFormat',
  'Body of the notifications of a rule. `JOBFERRY`: the alerts as JSON. `SLACK`: a `text`, for Slack and what is compatible with it.',
  ALERT_FORMATS,
);
const AlertSeverity = enumOf(
  'AlertSeverity',
  'Severity of the incidents of a rule, in the words of PagerDuty.',
  ALERT_SEVERITIES,
);

type WebhookTarget = { webhookUrl: string; format: Format };
const AlertWebhook = builder.objectRef<WebhookTarget>('AlertWebhook').implement({
  description: 'A webhook that gets signed requests.',
  fields: (t) => ({
    url: t.string({
      description: 'URL of the webhook. A client that may not call `updateAlertRule` gets its scheme and host only.',
      resolve: ({ webhookUrl }, _args, context) => shownWebhookUrl(webhookUrl, context),
    }),
    format: t.field({ type: AlertFormat, description: 'Body of the requests.', resolve: ({ format }) => format }),
  }),
});
const AlertEmail = builder.objectRef<Extract<Target, { type: 'email' }>>('AlertEmail').implement({
  description: 'People that get mails.',
  fields: (t) => ({
    to: t.stringList({
      description:
        'Addresses of the recipients. A client that may not call `updateAlertRule` gets their domains only, such as `…@example.com`.',
      resolve: ({ to }, _args, context) => shownRecipients(to, context),
    }),
  }),
});
const AlertPagerDuty = builder.objectRef<Extract<Target, { type: 'pagerduty' }>>('AlertPagerDuty').implement({
  description: 'A service of PagerDuty, which gets an incident for each alert.',
  fields: (t) => ({
    routingKey: t.string({
      description: 'The end of the routing key, such as `…3f2a`. No response contains the rest.',
      resolve: ({ keyEnd }) => `…${keyEnd}`,
    }),
    severity: t.field({
      type: AlertSeverity,
      description: 'Severity of the incidents.',
      resolve: ({ severity }) => severity,
    }),
  }),
});

const MEMBERS = { webhook: AlertWebhook, email: AlertEmail, pagerduty: AlertPagerDuty };
export const AlertTarget = builder.unionType('AlertTarget', {
  description: 'Where a rule sends its notifications.',
  types: Object.values(MEMBERS),
  resolveType: (target) => MEMBERS['type' in target ? target.type : 'webhook'],
});

/**
 * Returns the target of a stored rule. The casts are safe: CHECK constraints restrict the columns to the domain's
 * values.
 */
export function targetOf({ target, webhookUrl, format }: { target: unknown; webhookUrl: string; format: string }) {
  const stored = target as Target;
  return stored.type === 'webhook' ? { webhookUrl, format: format as Format } : stored;
}

const AlertWebhookInput = builder.inputType('AlertWebhookInput', {
  description: 'A webhook that gets signed requests.',
  fields: (t) => ({
    url: t.string({ required: true, description: 'URL to which notifications are sent; http or https.' }),
    format: t.field({ type: AlertFormat, description: 'Body of the requests; `JOBFERRY` by default.' }),
  }),
});
const AlertEmailInput = builder.inputType('AlertEmailInput', {
  description: 'People that get mails. The operator of the service has to set `SMTP_URL`.',
  fields: (t) => ({
    to: t.stringList({
      required: true,
      description: `Addresses of the recipients, such as \`ops@example.com\`; at most ${MAX_RECIPIENTS}.`,
    }),
  }),
});
const AlertPagerDutyInput = builder.inputType('AlertPagerDutyInput', {
  description: 'A service of PagerDuty.',
  fields: (t) => ({
    routingKey: t.string({
      description:
        'Integration key of the Events API v2; it is stored like a signing secret. A rule that has one keeps it by default.',
    }),
    severity: t.field({
      type: AlertSeverity,
      description: 'Severity of the incidents. By default it stays the same; in a new target it is `CRITICAL`.',
    }),
  }),
});
export const AlertTargetInput = builder.inputType('AlertTargetInput', {
  description: 'Where a rule sends its notifications: exactly one of these.',
  isOneOf: true,
  fields: (t) => ({
    webhook: t.field({ type: AlertWebhookInput, description: 'A webhook.' }),
    email: t.field({ type: AlertEmailInput, description: 'Mails to people.' }),
    pagerDuty: t.field({ type: AlertPagerDutyInput, description: 'Incidents in PagerDuty.' }),
  }),
});
