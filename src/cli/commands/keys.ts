import { createApiKey, revokeApiKey } from '../../db/accounts.ts';
import { databaseTime } from '../../db/connection/clock.ts';
import { createPrisma } from '../../db/connection/prisma.ts';
import { servedAddress } from '../../db/insight/instances.ts';
import { findAccount } from '../../db/operator/accounts.ts';
import { type KeySummary, keyAccount, listKeys } from '../../db/operator/keys.ts';
import { missingQueues } from '../../db/operator/queues.ts';
import { OPERATOR } from '../../domain/audit.ts';
import { KEY_SCOPES, type KeyRights, type KeyScope, rightsOf } from '../../domain/key-rights.ts';
import { boundUrl, localUrl } from '../../domain/listening-address.ts';
import { LIMITS } from '../../domain/queue.ts';
import { describeApiKey, generateApiKey } from '../../services/accounts/api-key.ts';
import { isKeyName } from '../../services/accounts/keys.ts';
import { createLink } from '../../services/sign-in/sessions.ts';
import { CommandError, command, UsageError } from './command.ts';
import { found, idOf, nextPage, PAGE, pageOf, withDatabase } from './database.ts';
import { type Column, facts, table } from './output.ts';

/** Options of a new API key, as they were written. */
interface KeyLimits {
  scopes: string | undefined;
  queues: string | undefined;
  expires: string | undefined;
}

/** Returns the limits of a new key; null for none. @throws UsageError, JobferryError `invalid_fields` */
function requestedRights({ scopes, queues, expires }: KeyLimits, now: Date): KeyRights | null {
  return rightsOf({ scopes: scopesOf(scopes), queues: listOf(queues), expiresAt: endOf(expires, now) }, now);
}

function listOf(text: string | undefined): string[] | undefined {
  return text?.split(',').map((item) => item.trim());
}

function scopesOf(text: string | undefined): KeyScope[] | undefined {
  return listOf(text)?.map((item) => {
    const scope = KEY_SCOPES.find((known) => known === item);
    if (scope === undefined) throw new UsageError(`--scopes must be of ${KEY_SCOPES.join(', ')}`);
    return scope;
  });
}

const UNIT_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000 };
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?$/;

function endOf(text: string | undefined, now: Date): Date | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ''] = /^(\d{1,5})([dhm])$/.exec(text) ?? [];
  if (count !== undefined) return new Date(now.getTime() + Number(count) * (UNIT_MS[unit] ?? 0));
  if (TIME.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text);
  throw new UsageError('--expires must be like 90d, 12h, 30m, 2027-01-31 or 2027-01-31T12:00:00Z');
}

const COLUMNS: readonly Column<KeySummary>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'ACCOUNT', of: ({ accountId }) => accountId },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'KEY', of: ({ prefix, lastFour }) => `${prefix}…${lastFour}` },
  { title: 'CREATED', of: ({ createdAt }) => createdAt },
  { title: 'CREATED BY', of: ({ createdBy }) => createdBy },
  { title: 'LAST USED', of: ({ lastUsedAt }) => lastUsedAt },
  { title: 'MAY', of: ({ scopes }) => (scopes.length === 0 ? 'everything' : scopes.join(' ')) },
  { title: 'QUEUES', of: ({ queues }) => (queues.length === 0 ? 'all' : queues.join(' ')) },
  { title: 'EXPIRES', of: ({ expiresAt }) => expiresAt },
  { title: 'REVOKED', of: ({ revokedAt }) => revokedAt },
];

const list = command({
  name: 'key list',
  summary: 'List API keys, oldest first.',
  options: {
    account: { value: 'ID', help: 'only those of this account' },
    revoked: { help: 'also those that were revoked or have expired' },
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
  options: {
    account: { value: 'ID', required: true, help: 'the account of the key' },
    name: { value: 'N', help: 'display name, such as the purpose of the key' },
    scopes: { value: 'LIST', help: `what the key may do, of ${KEY_SCOPES.join(',')}; everything if left out` },
    queues: { value: 'LIST', help: 'names of the queues that the key is limited to; all if left out' },
    expires: { value: 'TIME', help: 'end of the key, as 90d, 12h or 2027-01-31T12:00:00Z; none if left out' },
  },
  run: ({ options: { account, name = null, ...limits } }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const accountId = idOf(account, 'account');
      if (name !== null && !isKeyName(name))
        throw new UsageError(`--name must have 1 to ${LIMITS.apiKeyNameLength} characters`);
      const rights = requestedRights(limits, new Date(await databaseTime(db)));
      const key = generateApiKey();
      const by = { accountId, actor: OPERATOR };
      // The limit on the number of keys holds for API clients, not for the operator.
      const stored = { name, ...describeApiKey(key, { hasLimits: rights !== null }) };
      const { id } = await createApiKey(createPrisma(db), by, stored, rights, () => undefined);
      const unknownQueues = await missingQueues(db, accountId, rights?.queues ?? []);
      return {
        json: { id, accountId, name, key, ...rights, ...(unknownQueues.length === 0 ? {} : { unknownQueues }) },
        text: facts([
          ['id', id],
          ['account', accountId],
          ['name', name ?? undefined],
          ['may', rights?.scopes.join(' ') ?? 'everything'],
          ['queues', rights === null || rights.queues.length === 0 ? 'all' : rights.queues.join(' ')],
          ['expires', rights?.expiresAt ?? undefined],
          ['key (shown once)', key],
          ['no such queue yet', unknownQueues.length === 0 ? undefined : unknownQueues.join(' ')],
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
      const changed = await revokeApiKey(db, OPERATOR, null, id);
      if (!changed) found(await keyAccount(db, id), 'key', id);
      const text = changed ? `Key ${id} is revoked.` : `Key ${id} is already revoked.`;
      return { json: { id, revoked: true, changed }, text };
    }),
});

const signInLink = command({
  name: 'sign-in-link',
  summary: 'Print a link that signs in to the dashboard once, within ten minutes.',
  options: { account: { value: 'ID', help: 'the account to sign in to; the first one if it is left out' } },
  run: ({ options: { account } }, environment) => {
    const id = account === undefined ? null : idOf(account, 'account');
    return withDatabase(environment, async ({ db }, { host, port, publicUrl, oidc }) => {
      if (oidc?.only === true) throw new CommandError('OIDC_ONLY is set, so no link signs in: use the OpenID provider');
      // A process that runs knows its address. This command has the variables of its own shell only.
      const local = publicUrl === null ? ((await servedAddress(db)) ?? localUrl(boundUrl(host, port))) : null;
      const address = publicUrl ?? (local === null ? null : new URL(local));
      if (address === null) throw new CommandError('HOST is a unix socket: set PUBLIC_URL to the address in browsers');
      if (id !== null) found(await findAccount(db, id), 'account', id);
      const link = await createLink(db, id, address);
      const doubt = publicUrl !== null || (await isHere(address)) ? '' : `\n\n${NOT_HERE}`;
      return { json: { link }, text: link + doubt };
    });
  },
});

const NOT_HERE = 'No Jobferry answers at this address: start one, or set PUBLIC_URL to its address in browsers.';

/** Whether a Jobferry answers there. */
async function isHere(address: URL): Promise<boolean> {
  const answer = await fetch(new URL('healthz', address), { signal: AbortSignal.timeout(1000) }).catch(() => null);
  return (
    answer?.ok === true && ((await answer.json().catch(() => null)) as { status?: unknown } | null)?.status === 'ok'
  );
}

export const KEY_COMMANDS = [list, create, revoke, signInLink];
