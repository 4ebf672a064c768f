import type { AlertContent } from './alert-message.ts';
import { KINDS } from './alert-rule.ts';
import type { AlertSeverity } from './alert-target.ts';

/** Events of PagerDuty (Events API v2): one for each alert, which names its incident by the id of the alert. */

interface Incident {
  routingKey: string;
  severity: AlertSeverity;
  /** Address of the page with the alerts; null if it is not known. */
  pageUrl: string | null;
}

/** PagerDuty cuts longer ones. */
const MAX_SUMMARY = 1024;

/**
 * Returns the events of a notification, in their order. A test begins an incident and ends it.
 * @param id of the notification
 */
export function eventsOf(id: string, content: AlertContent, incident: Incident): object[] {
  const { type, rule, alerts, createdAt } = content;
  if (type === 'test') {
    const summary = `A test of the alert rule ${rule.id} (${rule.kind})`;
    const test = { id, cause: summary, queue: rule.queue, firedAt: createdAt, value: 0 };
    return [triggerOf(test, content, { ...incident, severity: 'info' }), resolveOf(id, incident)];
  }
  return alerts.map((alert) =>
    alert.state === 'resolved' ? resolveOf(alert.id, incident) : triggerOf(alert, content, incident),
  );
}

function triggerOf(
  {
    id,
    cause,
    queue,
    firedAt,
    value,
  }: Pick<AlertContent['alerts'][number], 'id' | 'cause' | 'queue' | 'firedAt' | 'value'>,
  { rule, createdAt }: AlertContent,
  { routingKey, severity, pageUrl }: Incident,
): object {
  return {
    routing_key: routingKey,
    event_action: 'trigger',
    dedup_key: id,
    client: 'Jobferry',
    ...(pageUrl !== null && { client_url: pageUrl }),
    payload: {
      summary: cause.slice(0, MAX_SUMMARY),
      source: queue ?? 'jobferry',
      severity,
      timestamp: firedAt ?? createdAt,
      component: queue ?? 'jobferry',
      class: rule.kind,
      custom_details: { rule: rule.id, queue, value, threshold: rule.threshold, what_to_do: KINDS[rule.kind].advice },
    },
  };
}

function resolveOf(id: string, { routingKey }: Incident): object {
  return { routing_key: routingKey, event_action: 'resolve', dedup_key: id };
}
