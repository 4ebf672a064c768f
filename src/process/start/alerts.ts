import { Mailer, NOTIFICATION_TIMEOUT_MS, startAlerts } from '../../alerts/index.ts';
import type { Sender } from '../../delivery/send.ts';
import type { Foundations } from './foundations.ts';

/** Evaluates alert rules in this process, unless that is switched off. @returns a function that stops it */
export function startAlertsOf(
  { config, log, database: { db }, started }: Foundations,
  openSender: (timeoutMs: number) => Sender,
): () => Promise<unknown> {
  const { alertIntervalMs: everyMs, plans, jobRetentionMs: retentionMs, publicUrl, smtp, pagerDutyUrl } = config;
  if (everyMs === 0) return async () => undefined;
  const sender = openSender(NOTIFICATION_TIMEOUT_MS);
  const pageUrl = publicUrl === null ? null : new URL('alerts', publicUrl).href;
  const mailer = smtp === null ? null : new Mailer(smtp, NOTIFICATION_TIMEOUT_MS);
  const parts = { db, log, plans, retentionMs, sender, mailer, pagerDutyUrl, pageUrl, everyMs };
  return started.add(startAlerts(parts));
}
