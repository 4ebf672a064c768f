import { hasRole } from '../../domain/access.ts';
import type { AlertTarget } from '../../domain/alert-target.ts';
import { hasScope } from '../../domain/key-rights.ts';
import { MUTATIONS } from '../../domain/operation-rights.ts';
import type { GraphQLContext } from '../context.ts';

/**
 * Addresses of alert rules. That of Slack, and of many other services, is a secret: with it anyone can post there.
 * Clients that may not change a rule get its scheme and host, and of people who get mails the domains.
 */

type Client = Pick<GraphQLContext, 'access' | 'account'>;

export function shownWebhookUrl(url: string, client: Client): string {
  if (mayChangeRules(client)) return url;
  const { protocol, origin } = new URL(url);
  return protocol === 'mailto:' ? 'mailto:…' : `${origin}/…`;
}

export function shownRecipients(to: readonly string[], client: Client): string[] {
  return mayChangeRules(client) ? [...to] : to.map((address) => `…${address.slice(address.lastIndexOf('@'))}`);
}

/** The audit log's record of a change of a rule, with the address as the client may see it. */
export function shownRule(stored: unknown, client: Client): unknown {
  if (typeof stored !== 'object' || stored === null) return stored;
  const { webhookUrl, target } = stored as { webhookUrl?: string; target?: AlertTarget };
  return {
    ...stored,
    ...(webhookUrl !== undefined && { webhookUrl: shownWebhookUrl(webhookUrl, client) }),
    ...(target?.type === 'email' && { target: { ...target, to: shownRecipients(target.to, client) } }),
  };
}

function mayChangeRules({ access, account: { rights } }: Client): boolean {
  const { role, scope } = MUTATIONS.updateAlertRule;
  return rights == null ? hasRole(access, role) : hasScope(rights, scope);
}
