import { z } from 'zod';
import type { MailServer } from '../../domain/alert-mail.ts';
import { isMailAddress, PAGERDUTY_URL } from '../../domain/alert-target.ts';
import { parsedUrl } from '../../domain/parsed-url.ts';
import { parseWebhookUrl } from '../../domain/webhook-url.ts';

/** How alerts reach people. */
export interface AlertConfig {
  /** Time between two evaluations of the alert rules; 0 if this process evaluates none. */
  readonly alertIntervalMs: number;
  /** Null if no mail is sent. */
  readonly smtp: MailServer | null;
  /** Where events for PagerDuty go. */
  readonly pagerDutyUrl: string;
}

export const ALERT_VARIABLES = {
  ALERT_INTERVAL_SECONDS: z.coerce
    .number({ invalid_type_error: 'must be a number of seconds' })
    .max(3600)
    .refine((seconds) => seconds === 0 || seconds >= 0.1, 'must be 0, or at least 0.1')
    .default(15)
    .transform((seconds) => Math.round(seconds * 1000)),
  SMTP_URL: z
    .string()
    .refine((text) => serverOf(text) !== null, 'must be smtp://user:password@host:port or smtps://…, without a path')
    .optional(),
  SMTP_FROM: z
    .string()
    .refine(
      (text) => senderOf(text) !== null,
      'must be an address such as alerts@example.com or Jobferry <alerts@example.com>',
    )
    .optional(),
  PAGERDUTY_URL: z
    .string()
    .refine((text) => parseWebhookUrl(text).ok, 'must be an http:// or https:// address')
    .default(PAGERDUTY_URL),
};

interface Parsed {
  ALERT_INTERVAL_SECONDS: number;
  SMTP_URL?: string | undefined;
  SMTP_FROM?: string | undefined;
  PAGERDUTY_URL: string;
}

/** @returns the text of a problem, if there is one */
export function alertConfig(parsed: Parsed): AlertConfig | string {
  const { ALERT_INTERVAL_SECONDS: alertIntervalMs, SMTP_URL: url, SMTP_FROM: sender } = parsed;
  const pagerDuty = parseWebhookUrl(parsed.PAGERDUTY_URL);
  const shared = { alertIntervalMs, pagerDutyUrl: pagerDuty.ok ? pagerDuty.href : PAGERDUTY_URL };
  if (url === undefined) return sender === undefined ? { ...shared, smtp: null } : 'SMTP_FROM: needs SMTP_URL';
  if (sender === undefined) return 'SMTP_FROM: must be given with SMTP_URL';
  const [server, from] = [serverOf(url), senderOf(sender)];
  return server === null || from === null
    ? 'SMTP_URL: is wrong'
    : { ...shared, smtp: Object.freeze({ ...server, from }) };
}

const PORTS: Readonly<Record<string, number>> = { 'smtp:': 587, 'smtps:': 465 };

function serverOf(text: string): Omit<MailServer, 'from'> | null {
  const url = parsedUrl(text);
  const port = PORTS[url?.protocol ?? ''];
  if (url === null || port === undefined || url.hostname === '') return null;
  if (!/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '' || url.port === '0') return null;
  const [user, password] = [decoded(url.username), decoded(url.password)];
  if (user === null || password === null || (user === '') !== (password === '')) return null;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? port : Number(url.port),
    isSecure: url.protocol === 'smtps:',
    login: user === '' ? null : { user, password },
  };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** An address, or a name with an address. */
function senderOf(text: string): MailServer['from'] | null {
  const [, name = '', address = text] = /^([^<>"\p{Cc}]{0,100}?) ?<([^<>]*)>$/u.exec(text) ?? [];
  return isMailAddress(address) ? { name: name.trim(), address } : null;
}
