import { createApiKey, revokeApiKey } from '../db/accounts.ts';
import { createPrisma } from '../db/connection/prisma.ts';
import { type KeySummary, listKeys } from '../db/operator/keys.ts';
import { OPERATOR } from '../domain/audit.ts';
import { describeApiKey, generateApiKey } from '../services/accounts/api-key.ts';
import { createLink } from '../services/sign-in/sessions.ts';
import { command, UsageError } from './command.ts';
import { idOf, nextPage, PAGE, pageOf, withDatabase } from './database.ts';
import { type Column, facts, table } from './output.ts';

const COLUMNS: readonly Column<KeySummary>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'ACCOUNT', of: ({ accountId }) => accountId },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'KEY', of: ({ prefix, lastFour }) => `${prefix}…${lastFour}` },
  { title: 'CREATED', of: ({ createdAt }) => createdAt },
  { title: 'LAST USED', of: ({ lastUsedAt }) => lastUsedAt },
  { title: 'REVOKED', of: ({ revokedAt }) => revokedAt },
];

const list = command({
  name: 'key list',
  summary: 'List API keys, oldest first.',
  options: {
    account: { value: 'ID', help: 'only those of this account' },
    revoked: { help: 'also those that were revoked' },
    ...PAGE,
  },
  run: ({ options }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const page = pageOf(options);
      const account = options.account === undefined ? null : idOf(options.account, 'account');
      const keys = await listKeys(db, account, { ...page, revoked: options.revoked });
      return { json: keys, text: table(COLUMNS, keys, 'No API keys.') + nextPage(keys, page) };
    }),
});

const create = command({
  name: 'key create',
  summary: 'Create an API key. It is shown once.',
  options: { account: { value: 'ID', required: true, help: 'the account of the key' } },
  run: ({ options: { account } }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const accountId = idOf(account, 'account');
      const key = generateApiKey();
      const by = { accountId, actor: OPERATOR };
      // The limit on the number of keys holds for API clients, not for the operator.
      const { id } = await createApiKey(createPrisma(db), by, { name: null, ...describeApiKey(key) }, () => undefined);
      return {
        json: { id, accountId, key },
        text: facts([
          ['id', id],
          ['account', accountId],
          ['key (shown once)', key],
        ]),
      };
    }),
});

const revoke = command({
  name: 'key revoke',
  summary: 'Revoke an API key. Every process refuses it within a second.',
  options: {},
  argument: { name: 'ID', what: 'the id of the key' },
  run: ({ argument }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const id = idOf(argument, 'key');
      if (!(await revokeApiKey(db, OPERATOR, null, id)))
        throw new UsageError(`key ${id} does not exist or is already revoked`);
      return { json: { id, revoked: true }, text: `Key ${id} is revoked.` };
    }),
});

const signInLink = command({
  name: 'sign-in-link',
  summary: 'Print a link that signs in to the dashboard once, within ten minutes.',
  options: { account: { value: 'ID', help: 'the account to sign in to; the first one if it is left out' } },
  run: ({ options: { account } }, environment) => {
    const { host, port, publicUrl, oidc } = environment.settings().config;
    if (oidc?.only === true) throw new UsageError('OIDC_ONLY is set, so no link signs in: use the OpenID provider');
    const address = publicUrl ?? new URL(`http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${port}`);
    return withDatabase(environment, async ({ db }) => {
      const link = await createLink(db, account ?? null, address);
      return { json: { link }, text: link };
    });
  },
});

export const KEY_COMMANDS = [list, create, revoke, signInLink];
