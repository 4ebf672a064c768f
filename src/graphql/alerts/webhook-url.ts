import { hasRole } from '../../domain/access.ts';
import { hasScope } from '../../domain/key-rights.ts';
import { MUTATION_ROLES, MUTATION_SCOPES } from '../access/roles.ts';
import type { GraphQLContext } from '../context.ts';

/**
 * Addresses of alert webhooks. That of Slack, and of many other services, is a secret: with it anyone can post there. Clients
 * that may not change a rule get its scheme and host.
 */

type Client = Pick<GraphQLContext, 'access' | 'account'>;

export function shownWebhookUrl(url: string, client: Client): string {
  return mayChangeRules(client) ? url : `${new URL(url).origin}/…`;
}

/** The audit log's record of a change of a rule, with the address as the client may see it. */
export function shownRule(stored: unknown, client: Client): unknown {
  if (typeof stored !== 'object' || stored === null || !('webhookUrl' in stored)) return stored;
  return { ...stored, webhookUrl: shownWebhookUrl(String(stored.webhookUrl), client) };
}

function mayChangeRules({ access, account: { rights } }: Client): boolean {
  const { updateAlertRule: role = 'admin' } = MUTATION_ROLES;
  const { updateAlertRule: scope = 'admin' } = MUTATION_SCOPES;
  return rights == null ? hasRole(access, role) : hasScope(rights, scope);
}
