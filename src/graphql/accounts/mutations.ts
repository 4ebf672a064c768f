import { builder } from '../builder.ts';
import { ConflictError, ForbiddenError, NotFoundError, ValidationError } from '../errors.ts';
import { idOf, refusing } from '../input.ts';
import { ApiKey } from './types.ts';

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
    resolve: (_root, { name }, { operations, account }) =>
      refusing(() => operations.createApiKey(account, name ?? null)),
  }),
  revokeApiKey: t.field({
    type: RevokeApiKeyPayload,
    description: 'Makes an API key of the account useless; it may be the one that asks.',
    errors: { types: [NotFoundError] },
    args: { id: t.arg.id({ required: true, description: 'Of the key.' }) },
    resolve: (_root, { id }, { operations, account }) =>
      refusing(async () => ({ id: await operations.revokeApiKey(account, idOf(id, 'API key')) })),
  }),
}));
