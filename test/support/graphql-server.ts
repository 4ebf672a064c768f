import { afterAll } from 'vitest';
import type { Database } from '../../src/db/connection/database.ts';
import { createGraphQL } from '../../src/graphql/index.ts';
import { createApp, listen } from '../../src/http/index.ts';
import { CredentialWatch } from '../../src/services/accounts/credential-watch.ts';
import { createStoredText } from '../../src/services/jobs/stored-text.ts';
import { createServices } from '../../src/services/services.ts';
import { createAccount } from './account.ts';
import { createGraphQLClient, type GraphQL } from './graphql.ts';
import { openServices } from './services.ts';

/**
 * An API process without a worker, within the test's own process: requests go over the wire, and the test itself does
 * what workers do. Of the live subscriptions, only those that read at intervals are served.
 */
export async function openGraphQL(
  url: string,
  options: Parameters<typeof openServices>[1] & { watch?: (db: Database) => void } = {},
) {
  const op = openServices(url, options);
  const { db, context } = op;
  options.watch?.(db);
  const services = createServices(context);
  const notHere = () => {
    throw new Error('not in this test');
  };
  const log = {
    error: (fields: object) => {
      throw new Error(JSON.stringify(fields));
    },
  };
  const { readingPrisma, plans } = context;
  const shared = { readingPrisma, stored: createStoredText(db), plans, credentials: new CredentialWatch(db) };
  const live = { watch: notHere, admit: () => () => undefined };
  const app = createApp({
    services,
    config: { maxBodyBytes: 1_048_576, signatureHeader: 'x-service-signature', templates: {} },
    log,
    readiness: async () => ({ ready: true, checks: {} }),
    graphql: createGraphQL({ services, live, ...shared }, { graphiql: true, log }),
  });
  const listening = await listen(app, { host: '127.0.0.1', port: 0 });
  afterAll(() => listening.close());
  return {
    op,
    url: listening.url,
    /** A new account with a client of its own. */
    async newAccount(): Promise<{ id: string; graphql: GraphQL }> {
      const { id, key } = await createAccount(url);
      return { id, graphql: createGraphQLClient(listening.url, key) };
    },
    /** A client with a new key of an account that exists. */
    async clientOf(accountId: string): Promise<GraphQL> {
      const account = {
        id: accountId,
        name: 'test',
        plan: 'pro',
        actor: { type: 'operator', id: null, label: 'test' },
      } as const;
      return createGraphQLClient(listening.url, (await op.accounts.createApiKey(account, null)).key);
    },
  };
}
