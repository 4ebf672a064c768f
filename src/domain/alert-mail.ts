import type { AlertContent, NotifiedAlert } from './alert-message.ts';
import { KINDS } from './alert-rule.ts';

/** The mail that people get about alerts: plain text, whose headers are made of Jobferry's own words and of names. */

/** How mails are sent, from SMTP_URL and SMTP_FROM. */
export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** Whether TLS begins with the connection, and not after STARTTLS. */
  readonly isSecure: boolean;
  /** Null if the server asks for none. */
  readonly login: { readonly user: string; readonly password: string } | null;
  readonly from: { readonly name: string; readonly address: string };
}

export interface AlertMail {
  subject: string;
  text: string;
  /** With angle brackets. Each attempt has the same, so that a mail server or a reader can drop a repeated one. */
  messageId: string;
  /**
   * References of the alerts. A mail about the end of an alert has a reference in common with the mail about its start,
   * so mail readers group the two.
   */
  references: readonly string[];
}

const MAX_SUBJECT = 150;
/** Names of queues in a subject. */
const NAMED_QUEUES = 2;

/** @param pageUrl address of the page with the alerts; null if it is not known @param domain that of the sender */
export function mailOf(id: string, content: AlertContent, pageUrl: string | null, domain: string): AlertMail {
  return {
    subject: oneLine(subjectOf(content)).slice(0, MAX_SUBJECT),
    text: textOf(content, pageUrl),
    messageId: `<${id}@${domain}>`,
    references: content.alerts.map((alert) => `<alert-${alert.id}@${domain}>`),
  };
}

function subjectOf({ type, rule, alerts, others }: AlertContent): string {
  const { words } = KINDS[rule.kind];
  const where = rule.queue === null ? '' : ` in ${rule.queue}`;
  if (type === 'test') return `[Jobferry] Test: ${words}${where}`;
  const firing = alerts.filter(({ state }) => state === 'firing').length;
  const [first] = alerts;
  if (alerts.length === 1 && others === 0 && first !== undefined) {
    return `[Jobferry] ${firing === 1 ? 'Firing' : 'Resolved'}: ${words}${placeOf([first])}`;
  }
  const counts = [
    ...(firing > 0 ? [`${firing} firing`] : []),
    ...(firing < alerts.length ? [`${alerts.length - firing} resolved`] : []),
    ...(others > 0 ? [`${others} more`] : []),
  ];
  return `[Jobferry] ${counts.join(', ')}: ${words}${placeOf(alerts, others > 0)}`;
}

function placeOf(alerts: readonly NotifiedAlert[], hasOthers = false): string {
  const queues = [...new Set(alerts.flatMap(({ queue }) => (queue === null ? [] : [queue])))];
  if (queues.length === 0) return '';
  const unnamed = queues.length > NAMED_QUEUES ? ` and ${queues.length - NAMED_QUEUES} more` : '';
  const more = hasOthers ? ' and others' : unnamed;
  return ` in ${queues.slice(0, NAMED_QUEUES).join(', ')}${more}`;
}

function textOf({ type, rule, alerts, others }: AlertContent, pageUrl: string | null): string {
  const { advice } = KINDS[rule.kind];
  const parts: string[] =
    type === 'test'
      ? [`This is a test of the alert rule ${rule.id} (${rule.kind}). Nothing is wrong.`]
      : alerts.map((alert) => paragraphOf(alert, pageUrl));
  if (others > 0) parts.push(`And ${others} more.`);
  if (alerts.some(({ state }) => state === 'firing')) parts.push(`What to do: ${advice}`);
  if (pageUrl !== null) parts.push(`Alerts in Jobferry: ${pageUrl}`);
  parts.push(`The alert rule ${rule.id} sends mail to your address. Members with the role admin can change it.`);
  return `${parts.map(withoutControls).join('\n\n')}\n`;
}

function paragraphOf({ state, cause, queue, firedAt, resolvedAt }: NotifiedAlert, pageUrl: string | null): string {
  const time = state === 'firing' ? firedAt : resolvedAt;
  const lines = [`${state.toUpperCase()}: ${cause}`];
  if (time !== null) lines.push(`${state === 'firing' ? 'Since' : 'Resolved at'} ${time}`);
  if (queue !== null && pageUrl !== null) lines.push(new URL(`queues/${encodeURIComponent(queue)}`, pageUrl).href);
  return lines.join('\n');
}

/** Header lines end at a line break, so a subject has none, nor any other control character. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}

function withoutControls(text: string): string {
  return text
    .split('\n')
    .map((line) => oneLine(line))
    .join('\n');
}
