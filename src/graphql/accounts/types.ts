import type { Account as AccountShape } from '../../domain/account.ts';
import type { Actor } from '../../domain/audit.ts';
import type { Plan as PlanShape } from '../../domain/plan.ts';
import type { AccountUsage } from '../../services/accounts/usage.ts';
import { builder } from '../builder.ts';
import { PRICE } from '../prices.ts';
import { ApiKey } from './api-keys.ts';

const Plan = builder.objectRef<PlanShape & { name: string }>('Plan').implement({
  description: 'What an account may do; null means no limit.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    queues: t.exposeInt('queues', { nullable: true, description: 'Live queues.' }),
    monthlyAttempts: t.exposeInt('monthlyAttempts', {
      nullable: true,
      description: 'Delivery attempts of a month (UTC), after which publishing is refused.',
    }),
    includedAttempts: t.exposeInt('includedAttempts', { description: 'Attempts of a month within the price.' }),
    maxAttempts: t.exposeInt('maxAttempts', { description: 'Ceiling of a queue’s `maxAttempts`.' }),
    maxDefers: t.exposeInt('maxDefers', { description: 'Ceiling of a queue’s `maxDefers`.' }),
    windowSeconds: t.exposeFloat('window', { description: 'How far back lists reach.' }),
  }),
});

const Usage = builder.objectRef<AccountUsage>('Usage').implement({
  description: 'What an account uses.',
  fields: (t) => ({
    month: t.exposeString('month', { description: 'YYYY-MM, UTC.' }),
    attempts: t.float({ description: 'Delivery attempts of the month.', resolve: ({ attempts }) => attempts }),
    inFlight: t.exposeInt('inFlight', { description: 'Jobs in flight over all queues.' }),
    concurrency: t.exposeInt('concurrency', {
      description: 'Sum of the caps of all live queues; at most 1000.',
    }),
    queues: t.exposeInt('queues', { description: 'Live queues.' }),
  }),
});

const AccountRef = builder.objectRef<AccountShape>('Account').implement({
  description: 'The caller’s account.',
  authScopes: ({ id }) => ({ owner: id }),
  fields: (t) => ({
    id: t.exposeID('id', { description: '24 hexadecimal digits.' }),
    name: t.exposeString('name', { description: 'As given when it was made.' }),
    plan: t.field({
      type: Plan,
      description: 'What it may do.',
      resolve: ({ plan: name }, _args, { plan }) => ({ ...plan, name }),
    }),
    usage: t.field({
      type: Usage,
      complexity: PRICE.usage,
      description: 'What it uses.',
      resolve: (account, _args, { services }) => services.accounts.usage(account),
    }),
    apiKeys: t.prismaField({
      type: [ApiKey],
      description: 'Its keys, newest first.',
      args: {
        includeRevoked: t.arg.boolean({ defaultValue: false, required: true, description: 'Also revoked ones.' }),
      },
      resolve: (query, account, { includeRevoked }, { prisma }) =>
        prisma.apiKey.findMany({
          ...query,
          where: { accountId: account.id, ...(includeRevoked ? {} : { revokedAt: null }) },
          orderBy: { id: 'desc' },
          take: 200,
        }),
    }),
  }),
});

const Me = builder.objectRef<Actor>('Me').implement({
  description: 'Who asks.',
  fields: (t) => ({
    label: t.exposeString('label', { description: 'The key by its first and last characters; also in the audit log.' }),
    apiKeyId: t.exposeID('id', { nullable: true, description: 'Id of the key.' }),
    account: t.field({ type: AccountRef, description: 'Its account.', resolve: (_me, _args, { account }) => account }),
  }),
});

builder.queryFields((t) => ({
  account: t.field({
    type: AccountRef,
    description: 'The caller’s account: plan, use and keys.',
    resolve: (_root, _args, { account }) => account,
  }),
  me: t.field({ type: Me, description: 'Who asks.', resolve: (_root, _args, { account }) => account.actor }),
}));
