import type { KeyScope } from '../../domain/key-rights.ts';
import { LIMITS } from '../../domain/queue.ts';
import { builder } from '../builder.ts';
import { ApiKeyScope } from '../enums.ts';
import { ConflictError, ForbiddenError, NotFoundError, ValidationError } from '../errors.ts';
import { idOf, refusing } from '../input.ts';

export const ApiKey = builder.prismaObject('ApiKey', {
  description: 'An API key. The key itself is not stored.',
  authScopes: (key) => ({ owner: key.accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the key, used to revoke it.' }),
    name: t.exposeString('name', { nullable: true, description: 'Name of the key; null if none was given.' }),
    prefix: t.exposeString('prefix', { description: 'First characters of the key.' }),
    lastFour: t.exposeString('lastFour', { description: 'Last four characters of the key.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the key was created.' }),
    createdBy: t.exposeString('createdBy', {
      nullable: true,
      description:
        'Actor that created the key: an API key by its name and its first and last characters, a member by the e-mail address, or `operator`. Null if it is not known.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last use, to the minute; null if the key was never used.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the key was revoked; null if it was not.',
    }),
    scopes: t.field({
      type: [ApiKeyScope],
      select: { scopes: true },
      description: 'What the key may do; `ADMIN` alone for a key without limits.',
      // The cast is safe: a CHECK constraint restricts the column to the domain's values.
      resolve: ({ scopes }): KeyScope[] => (scopes.length === 0 ? ['admin'] : (scopes as KeyScope[])),
    }),
    queues: t.stringList({
      nullable: true,
      select: { queues: true },
      description: 'Names of the queues that the key is limited to; null for all.',
      resolve: ({ queues }) => (queues.length === 0 ? null : queues),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time from which no process accepts the key; null if it does not expire.',
    }),
  }),
});

const CreateApiKeyPayload = builder.objectRef<{ id: string; key: string }>('CreateApiKeyPayload').implement({
  description: 'The new API key.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'The key. Only its hash is stored, so no later response contains it.' }),
    apiKey: t.prismaField({
      type: ApiKey,
      description: 'The stored data of the key.',
      resolve: (query, { id }, _args, { prisma, account }) =>
        prisma.apiKey.findFirstOrThrow({ ...query, where: { id, accountId: account.id } }),
    }),
  }),
});

const RevokeApiKeyPayload = builder.objectRef<{ id: string }>('RevokeApiKeyPayload').implement({
  description: 'The revoked API key. Within a second, no process accepts it any more.',
  fields: (t) => ({ id: t.exposeID('id', { description: 'Id of the key.' }) }),
});

builder.mutationFields((t) => ({
  createApiKey: t.field({
    type: CreateApiKeyPayload,
    description: 'Creates an API key for the account.',
    errors: { types: [ValidationError, ForbiddenError, ConflictError] },
    args: {
      name: t.arg.string({ description: 'Name of the key, for example its purpose; at most 64 characters.' }),
      scopes: t.arg({ type: [ApiKeyScope], description: 'What the key may do; everything if left out.' }),
      queues: t.arg.stringList({
        description: `Names of the queues that the key is limited to, at most ${LIMITS.queuesOfKey}; all if left out. Such a key needs \`scopes\` without \`ADMIN\`, and can use the REST API only.`,
      }),
      expiresAt: t.arg({
        type: 'DateTime',
        description: 'Time from which no process accepts the key; it does not expire if left out.',
      }),
    },
    resolve: (_root, { name, ...limits }, { services, account }) =>
      refusing(() => services.accounts.createApiKey(account, name ?? null, limits)),
  }),
  revokeApiKey: t.field({
    type: RevokeApiKeyPayload,
    description: 'Revokes an API key of the account. It may be the key of this request.',
    errors: { types: [NotFoundError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the key.' }) },
    resolve: (_root, { id }, { services, account }) =>
      refusing(async () => ({ id: await services.accounts.revokeApiKey(account, idOf(id, 'API key')) })),
  }),
}));
