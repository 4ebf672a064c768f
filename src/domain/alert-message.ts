import type { AlertNotice } from './alert.ts';
import { ALERT_LIMITS, type AlertKind, KINDS } from './alert-rule.ts';

/** The message that a webhook of alerts gets. */

export interface NotifiedAlert {
  id: string;
  state: 'firing' | 'resolved';
  /** Null for a rule that watches the account. */
  queue: string | null;
  since: string;
  firedAt: string | null;
  /** Null while it fires. */
  resolvedAt: string | null;
  value: number;
  cause: string;
}

/** A notification as it is stored. */
export interface AlertContent {
  /** `test`: a person tries the webhook. */
  type: 'alert' | 'test';
  createdAt: string;
  rule: { id: string; kind: AlertKind; queue: string | null; threshold: number | null; windowSeconds: number | null };
  alerts: readonly NotifiedAlert[];
  /** Alerts beyond those. */
  others: number;
}

interface ContentRule {
  id: string;
  kind: AlertKind;
  queueName: string | null;
  threshold: number;
  windowSeconds: number;
}

/** Returns the message for a rule's receiver. */
export function contentOf(rule: ContentRule, notices: readonly AlertNotice[], nowMs: number): AlertContent {
  return {
    type: 'alert',
    ...headOf(rule, nowMs),
    alerts: notices.slice(0, ALERT_LIMITS.named).map(({ alert, state }) => ({
      id: alert.id,
      state,
      queue: alert.queueName,
      since: iso(alert.sinceMs),
      firedAt: alert.firedAtMs === null ? null : iso(alert.firedAtMs),
      resolvedAt: state === 'resolved' ? iso(nowMs) : null,
      value: alert.value,
      cause: alert.cause,
    })),
    others: Math.max(notices.length - ALERT_LIMITS.named, 0),
  };
}

/** Returns the message for a rule's receiver when a person tests the rule. */
export function testContentOf(rule: ContentRule, nowMs: number): AlertContent {
  return { type: 'test', ...headOf(rule, nowMs), alerts: [], others: 0 };
}

function headOf({ id, kind, queueName, threshold, windowSeconds }: ContentRule, nowMs: number) {
  const { threshold: bounds, hasWindow } = KINDS[kind];
  const limits = { threshold: bounds === null ? null : threshold, windowSeconds: hasWindow ? windowSeconds : null };
  return { createdAt: iso(nowMs), rule: { id, kind, queue: queueName, ...limits } };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns the body of the request. Each attempt has the same body, and so the same id and signature. */
export function messageOf(id: string, content: AlertContent, url: string | null): object {
  const { type, createdAt, rule, alerts, others } = content;
  return { id, type, createdAt, rule, alerts, others, url };
}

const SLACK_ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Slack cuts longer texts. */
const SLACK_LENGTH = 3500;

/** Returns the body for Slack and what is compatible with it. */
export function slackMessageOf({ type, rule, alerts, others }: AlertContent, url: string | null): object {
  const where = url === null ? '' : `\n<${url}|Alerts in Jobferry>`;
  if (type === 'test') return { text: `A test of the alert rule ${rule.id} (${rule.kind}).${where}` };
  const lines = alerts.map(({ state, cause }) => `*${state.toUpperCase()}* ${escaped(cause)}`);
  if (others > 0) lines.push(`and ${others} more`);
  return { text: `${lines.join('\n').slice(0, SLACK_LENGTH)}${where}` };
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (character) => SLACK_ENTITIES[character] ?? character);
}

/** Attempts of a notification: ten within about fifty minutes. */
export const MAX_NOTIFICATION_ATTEMPTS = 10;
const FIRST_WAIT_MS = 10_000;
const MAX_WAIT_MS = 900_000;
/** A receiver may ask for a longer wait, up to this. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * Returns the wait before the next attempt; null after the last one.
 * @param attempts made so far @param retryAfterMs the answer's Retry-After; null without one
 */
export function nextAttemptMs(attempts: number, retryAfterMs: number | null): number | null {
  if (attempts >= MAX_NOTIFICATION_ATTEMPTS) return null;
  const wait = Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), MAX_WAIT_MS);
  return Math.max(wait, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS));
}
