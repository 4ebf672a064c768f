import { invalidField } from './errors.ts';
import { parseWebhookUrl } from './webhook-url.ts';

/** Where the notifications of a rule go. */

export const ALERT_FORMATS = ['jobferry', 'slack'] as const;
export type AlertFormat = (typeof ALERT_FORMATS)[number];

export const ALERT_SEVERITIES = ['critical', 'error', 'warning', 'info'] as const;
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

/** The address and format of a webhook are settings of the rule itself, which had them before it had a target. */
export type AlertTarget =
  | { type: 'webhook' }
  | { type: 'email'; to: readonly string[] }
  /** `keyEnd`: the last characters of the routing key, which is stored in place of a signing secret. */
  | { type: 'pagerduty'; severity: AlertSeverity; keyEnd: string };

/** The settings of a rule that name its target. */
export interface TargetSettings {
  /** For other targets than webhooks, an URL that names them. */
  webhookUrl: string;
  format: AlertFormat;
  target: AlertTarget;
}

/** A target that a client sends: one of the members. */
export interface AlertTargetInput {
  webhook?: { url: string; format?: AlertFormat | null | undefined } | null | undefined;
  email?: { to: readonly string[] } | null | undefined;
  pagerDuty?:
    | { routingKey?: string | null | undefined; severity?: AlertSeverity | null | undefined }
    | null
    | undefined;
}

interface TargetInput {
  webhookUrl?: string | undefined;
  format?: AlertFormat | undefined;
  target?: AlertTargetInput | undefined;
}

interface ChosenTarget extends TargetSettings {
  /** A new routing key; null if there is none. */
  routingKey: string | null;
}

export const MAX_RECIPIENTS = 5;
/** The longest address that SMTP can name. */
const MAX_ADDRESS = 254;
/** No quoted local parts and no address literals: nothing in an address can end a header or a command of SMTP. */
const LOCAL = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}$/;
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const ROUTING_KEY = /^[A-Za-z0-9]{16,64}$/;
const SHOWN_END = 4;

export const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue';

export function isMailAddress(text: string): boolean {
  const [local = '', domain = '', ...others] = text.split('@');
  const isOneAddress = text.length <= MAX_ADDRESS && others.length === 0 && LOCAL.test(local);
  return isOneAddress && domain.split('.').every((label) => LABEL.test(label));
}

/**
 * Returns the target of a rule after a change. What is left out stays.
 * @param present null for a new rule
 * @throws JobferryError `invalid_fields`
 */
export function chosenTarget(input: TargetInput, present: TargetSettings | null): ChosenTarget {
  const { target, webhookUrl, format } = input;
  if (target === undefined) return chosenWebhook(webhookUrl, format, present);
  if (webhookUrl !== undefined || format !== undefined) {
    throw invalidField('target', 'cannot be given together with webhookUrl or format');
  }
  const { webhook, email, pagerDuty } = target;
  if (email != null) return { ...mailTo(email.to), routingKey: null };
  if (pagerDuty != null) return chosenService(pagerDuty, present?.target ?? null);
  if (webhook == null) throw invalidField('target', 'must be one of webhook, email and pagerDuty');
  return { ...toWebhook('target.webhook.url', webhook.url, webhook.format ?? 'jobferry'), routingKey: null };
}

function chosenWebhook(
  url: string | undefined,
  format: AlertFormat | undefined,
  present: TargetSettings | null,
): ChosenTarget {
  if (url === undefined) {
    if (present === null) throw invalidField('target', 'must be given, or webhookUrl');
    if (present.target.type !== 'webhook') {
      if (format !== undefined) throw invalidField('format', 'this rule has no webhook');
      return { ...present, routingKey: null };
    }
  }
  const before = present?.format ?? 'jobferry';
  return { ...toWebhook('webhookUrl', url ?? present?.webhookUrl ?? '', format ?? before), routingKey: null };
}

function toWebhook(field: string, text: string, format: AlertFormat): TargetSettings {
  const url = parseWebhookUrl(text);
  if (!url.ok) throw invalidField(field, url.message);
  return { webhookUrl: url.href, format, target: { type: 'webhook' } };
}

function mailTo(addresses: readonly string[]): TargetSettings {
  const field = 'target.email.to';
  if (addresses.length === 0 || addresses.length > MAX_RECIPIENTS) {
    throw invalidField(field, `must have between 1 and ${MAX_RECIPIENTS} addresses`);
  }
  const wrong = addresses.findIndex((address) => !isMailAddress(address));
  if (wrong !== -1) throw invalidField(field, `address ${wrong + 1} is not of the form name@example.com`);
  const to = [...new Map(addresses.map((address) => [address.toLowerCase(), address])).values()];
  return { webhookUrl: `mailto:${to.join(',')}`, format: 'jobferry', target: { type: 'email', to } };
}

function chosenService(
  { routingKey = null, severity }: NonNullable<AlertTargetInput['pagerDuty']>,
  present: AlertTarget | null,
): ChosenTarget {
  const before = present?.type === 'pagerduty' ? present : null;
  const keyEnd = routingKey === null ? before?.keyEnd : routingKey.slice(-SHOWN_END);
  if (keyEnd === undefined) throw invalidField('target.pagerDuty.routingKey', 'must be given');
  if (routingKey !== null && !ROUTING_KEY.test(routingKey)) {
    throw invalidField('target.pagerDuty.routingKey', 'must be 16 to 64 letters and digits');
  }
  return {
    webhookUrl: PAGERDUTY_URL,
    format: 'jobferry',
    routingKey,
    target: { type: 'pagerduty', severity: severity ?? before?.severity ?? 'critical', keyEnd },
  };
}

/** The database returns the members of a stored target in another order. */
export function isSameTarget(one: AlertTarget, other: AlertTarget): boolean {
  const [first, second] = [one, other].map((target) => JSON.stringify(Object.entries(target).sort()));
  return first === second;
}
