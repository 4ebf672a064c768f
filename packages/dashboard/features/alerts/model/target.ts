import type { SchemaType } from '../../../../query/schema/types.ts';

/** Where a rule sends its notifications, as the dialog and the list show it. */

export const TARGETS = [
  ['webhook', 'A webhook'],
  ['email', 'Mail'],
  ['pagerDuty', 'PagerDuty'],
] as const;
export const SEVERITIES = ['CRITICAL', 'ERROR', 'WARNING', 'INFO'] as const satisfies SchemaType<'AlertSeverity'>[];

export interface TargetDraft {
  target: (typeof TARGETS)[number][0];
  webhookUrl: string;
  isSlack: boolean;
  /** Mail addresses as they were typed. */
  to: string;
  /** Empty for the one that the rule has. */
  routingKey: string;
  severity: (typeof SEVERITIES)[number];
}

export const FIRST_TARGET: TargetDraft = {
  target: 'webhook',
  webhookUrl: '',
  isSlack: false,
  to: '',
  routingKey: '',
  severity: 'CRITICAL',
};

/** The target of a rule, as the server returns it. */
export type Target =
  | { __typename: 'AlertWebhook'; url: string; format: SchemaType<'AlertFormat'> }
  | { __typename: 'AlertEmail'; to: string[] }
  | { __typename: 'AlertPagerDuty'; routingKey: string; severity: TargetDraft['severity'] };

export function draftOfTarget(target: Target): TargetDraft {
  switch (target.__typename) {
    case 'AlertEmail':
      return { ...FIRST_TARGET, target: 'email', to: target.to.join(', ') };
    case 'AlertPagerDuty':
      return { ...FIRST_TARGET, target: 'pagerDuty', severity: target.severity };
    default:
      return { ...FIRST_TARGET, webhookUrl: target.url, isSlack: target.format === 'SLACK' };
  }
}

/** The input of the mutations: one member. */
export function inputOfTarget({ target, webhookUrl, isSlack, to, routingKey, severity }: TargetDraft) {
  const key = routingKey.trim();
  switch (target) {
    case 'email':
      return { email: { to: to.split(/[\s,;]+/).filter((address) => address !== '') } };
    case 'pagerDuty':
      return { pagerDuty: { severity, ...(key !== '' && { routingKey: key }) } };
    default:
      return { webhook: { url: webhookUrl.trim(), format: isSlack ? ('SLACK' as const) : ('JOBFERRY' as const) } };
  }
}

/** "ops@example.com", or "PagerDuty …3f2a, critical" */
export function textOfTarget(target: Target): string {
  switch (target.__typename) {
    case 'AlertEmail':
      return target.to.join(', ');
    case 'AlertPagerDuty':
      return `PagerDuty ${target.routingKey}, ${target.severity.toLowerCase()}`;
    default:
      return target.url;
  }
}
