import { builder } from '../builder.ts';
import { ConflictError, ForbiddenError, NotFoundError, ValidationError } from '../errors.ts';
import { idOf, refusing } from '../input.ts';

export const ApiKey = builder.prismaObject('ApiKey', {
  description: 'An API key, without the key.',
  select: { id: true, accountId: true },
  authScopes: (key) => ({ owner: key.accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: 'To revoke it.' }),
    name: t.exposeString('name', { nullable: true, description: 'What it is for.' }),
    prefix: t.exposeString('prefix', { description: 'Its first characters.' }),
    lastFour: t.exposeString('lastFour', { description: 'Its last four characters.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last used, to the minute.',
    }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', nullable: true, description: 'When it was revoked.' }),
  }),
});

const CreateApiKeyPayload = builder.objectRef<{ id: string; key: string }>('CreateApiKeyPayload').implement({
  description: 'The new key.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'Shown once; only its hash is kept.' }),
    apiKey: t.prismaField({
      type: ApiKey,
      description: 'What is kept of it.',
      resolve: (query, { id }, _args, { prisma, account }) =>
        prisma.apiKey.findFirstOrThrow({ ...query, where: { id, accountId: account.id } }),
    }),
  }),
});

const RevokeApiKeyPayload = builder.objectRef<{ id: string }>('RevokeApiKeyPayload').implement({
  description: 'The key is refused from now on, within a second everywhere.',
  fields: (t) => ({ id: t.exposeID('id', { description: 'Of the key.' }) }),
});

builder.mutationFields((t) => ({
  createApiKey: t.field({
    type: CreateApiKeyPayload,
    description: 'Makes an API key for the account.',
    errors: { types: [ValidationError, ForbiddenError, ConflictError] },
    args: { name: t.arg.string({ description: 'What it is for; at most 64 characters.' }) },
    resolve: (_root, { name }, { services, account }) =>
      refusing(() => services.accounts.createApiKey(account, name ?? null)),
  }),
  revokeApiKey: t.field({
    type: RevokeApiKeyPayload,
    description: 'Makes an API key of the account useless; it may be the one that asks.',
    errors: { types: [NotFoundError] },
    args: { id: t.arg.id({ required: true, description: 'Of the key.' }) },
    resolve: (_root, { id }, { services, account }) =>
      refusing(async () => ({ id: await services.accounts.revokeApiKey(account, idOf(id, 'API key')) })),
  }),
}));
