import type { Plan as PlanShape } from '../../domain/plan.ts';
import type { Person as PersonShape, SignedIn } from '../../domain/session.ts';
import {
  type AccountUsage,
  MAX_QUEUES_OF_USAGE,
  type QueueUsage as QueueUsageShape,
  type UsageByQueue as UsageByQueueShape,
} from '../../services/accounts/usage.ts';
import { builder } from '../builder.ts';
import { MemberRole } from '../enums.ts';
import { HOLDER, Session } from '../members/types.ts';
import { PRICE, totalTimelinePrice } from '../prices.ts';
import { LAST_DELIVERY, TimelinePoint } from '../queues/statistics.ts';
import { Selection } from '../selection.ts';
import { inTurn, timelineArgs } from '../timeline.ts';
import { toTimeline } from '../timeline-range.ts';
import { ApiKey } from './api-keys.ts';

const Plan = builder.objectRef<PlanShape & { name: string }>('Plan').implement({
  description: 'The limits of an account.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the plan.' }),
    queues: t.exposeInt('queues', {
      nullable: true,
      description: 'Maximum number of live queues; null if there is no limit.',
    }),
    monthlyAttempts: t.exposeInt('monthlyAttempts', {
      nullable: true,
      description:
        'Number of delivery attempts per month (UTC) at which publish and replay are refused; null if there is no limit.',
    }),
    includedAttempts: t.exposeInt('includedAttempts', {
      description: 'Number of attempts per month that the price includes.',
    }),
    maxAttempts: t.exposeInt('maxAttempts', { description: 'Ceiling of a queue’s `maxAttempts`.' }),
    maxDefers: t.exposeInt('maxDefers', { description: 'Ceiling of a queue’s `maxDefers`.' }),
    windowSeconds: t.exposeFloat('window', { description: 'Time for which lists reach back, in seconds.' }),
  }),
});

const MonthUsage = builder.objectRef<{ month: string; attempts: number }>('MonthUsage').implement({
  description: 'The delivery attempts of an account in a month.',
  fields: (t) => ({
    month: t.exposeString('month', { description: 'Month, YYYY-MM in UTC.' }),
    attempts: t.exposeFloat('attempts', { description: 'Number of delivery attempts that began in the month.' }),
  }),
});

const QueueUsage = builder.objectRef<QueueUsageShape>('QueueUsage').implement({
  description: 'The delivery attempts of a queue that ended in a month.',
  fields: (t) => ({
    queueId: t.exposeID('queueId', { description: 'Id of the queue, which may be deleted.' }),
    queueName: t.exposeString('queueName', { description: 'Name of the queue.' }),
    attempts: t.float({
      description: 'Number of attempts.',
      resolve: ({ succeeded, failed, deferred }) => succeeded + failed + deferred,
    }),
    succeeded: t.exposeFloat('succeeded', { description: 'Number of attempts that succeeded.' }),
    failed: t.exposeFloat('failed', { description: 'Number of attempts that failed or were nacked.' }),
    deferred: t.exposeFloat('deferred', { description: 'Number of attempts that the receiver or a worker put off.' }),
  }),
});

const UsageByQueue = builder.objectRef<UsageByQueueShape>('UsageByQueue').implement({
  description:
    'The delivery attempts of a month by queue. They are counted when they end, up to `countedUntil`, so their sum is not exactly that of the account, which counts attempts that begin.',
  fields: (t) => ({
    countedUntil: t.expose('countedUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'Moment up to which attempts are counted, usually some minutes ago; null before the first count.',
    }),
    queues: t.field({
      type: [QueueUsage],
      // The field above knows how many there are.
      complexity: { field: 1, multiplier: 1 },
      description: 'The queues with attempts, the most first.',
      resolve: ({ queues }) => queues,
    }),
    otherQueues: t.float({
      description: 'Number of queues with attempts that are not in `queues`.',
      resolve: ({ otherQueues }) => otherQueues,
    }),
    otherAttempts: t.float({
      description: 'Number of attempts of the queues that are not in `queues`.',
      resolve: ({ otherAttempts }) => otherAttempts,
    }),
  }),
});

const DEFAULT_QUEUES = 100;

const Usage = builder.objectRef<AccountUsage>('Usage').implement({
  description: 'The present use of an account.',
  fields: (t) => ({
    month: t.exposeString('month', { description: 'The present month, YYYY-MM in UTC.' }),
    attempts: t.float({
      description: 'Number of delivery attempts in this month.',
      resolve: ({ attempts }) => attempts,
    }),
    inFlight: t.exposeInt('inFlight', { description: 'Number of jobs in flight over all queues.' }),
    concurrency: t.exposeInt('concurrency', {
      description: 'Sum of `concurrency` over all live queues; at most 1000.',
    }),
    queues: t.exposeInt('queues', { description: 'Number of live queues.' }),
    months: t.field({
      type: [MonthUsage],
      complexity: { field: PRICE.usage, multiplier: 12 },
      description: 'The delivery attempts by month, the newest first; of ten years at most.',
      resolve: (_usage, _args, { services, account }) => services.accounts.usageByMonth(account),
    }),
    byQueue: t.field({
      type: UsageByQueue,
      complexity: ({ first }) => ({ field: 1, multiplier: Math.max(first ?? DEFAULT_QUEUES, 1) }),
      description: 'The delivery attempts of a month by queue. Months are kept for 13 months.',
      args: {
        month: t.arg.string({ description: 'Month, YYYY-MM in UTC; the present one by default.' }),
        first: t.arg.int({
          description: `Number of queues to return, at most ${MAX_QUEUES_OF_USAGE}; ${DEFAULT_QUEUES} by default. The others are counted together.`,
        }),
      },
      resolve: (usage, { month, first }, { services, account }) =>
        services.accounts.usageByQueue(account, month ?? usage.month, first ?? DEFAULT_QUEUES),
    }),
  }),
});

const Account = builder.prismaObject('Account', {
  description: 'The account of the client.',
  authScopes: ({ id }) => ({ owner: id }),
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the account, 24 hexadecimal digits.' }),
    name: t.exposeString('name', { description: 'Name given when the account was created.' }),
    isSuspended: t.boolean({
      description:
        'Whether the operator has suspended the account. Its queues are paused, and it cannot publish or replay jobs, create queues or alert rules, resume queues, or open tunnels.',
      resolve: (_row, _args, { account }) => account.isSuspended === true,
    }),
    plan: t.field({
      type: Plan,
      description: 'The plan of the account, with its limits.',
      resolve: ({ plan: name }, _args, { plan }) => ({ ...plan, name }),
    }),
    usage: t.field({
      type: Usage,
      complexity: PRICE.usage,
      description: 'The present use of the account.',
      resolve: (_row, _args, { services, account }) => services.accounts.usage(account),
    }),
    timeline: t.field({
      type: [TimelinePoint],
      complexity: (args) => totalTimelinePrice(args),
      description:
        'Attempts of all live queues together over time; the last day by default, at most 1000 time spans. Of more than 1000 queues only the oldest are included.',
      args: timelineArgs,
      resolve: async (_row, args, context, info) => {
        const { now } = await context.loaders.server();
        const input = { ...toTimeline(args, now), published: Selection.of(info).has('published') };
        return inTurn(context, await context.services.insight.totalTimeline(context.account, input));
      },
    }),
    lastDeliveryAt: t.field({
      type: 'DateTime',
      complexity: PRICE.lastDelivery,
      nullable: true,
      description: `Time at which the last attempt of any live queue ended; null if there is none within retention. ${LAST_DELIVERY} Of more than 1000 queues only the oldest are included.`,
      resolve: (_row, _args, { services, account }) => services.insight.lastDelivery(account),
    }),
    apiKeys: t.prismaField({
      type: [ApiKey],
      description: 'API keys of the account, newest first; at most 200.',
      args: {
        includeRevoked: t.arg.boolean({
          defaultValue: false,
          required: true,
          description: 'Whether to include revoked keys.',
        }),
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

const Person = builder.objectRef<PersonShape>('Person').implement({
  description: 'A person who has signed in with the OpenID provider.',
  fields: (t) => ({
    name: t.exposeString('name', { nullable: true, description: 'Name; null if the provider sent none.' }),
    email: t.exposeString('email', { nullable: true, description: 'E-mail address; null if the provider sent none.' }),
  }),
});

const Me = builder.objectRef<SignedIn>('Me').implement({
  description: 'The client of this request, and what it may do.',
  fields: (t) => ({
    label: t.string({
      description:
        'The client as in the audit log: an API key by its name and its first and last characters, a member by the e-mail address, or `operator`.',
      resolve: ({ account }) => account.actor.label,
    }),
    apiKeyId: t.id({
      nullable: true,
      description: 'Id of the API key; null if the client is a member or the operator.',
      resolve: ({ account: { actor } }) => (actor.type === 'api_key' ? actor.id : null),
    }),
    account: t.field({
      type: Account,
      description: 'The account of the client.',
      resolve: ({ account }) => account,
    }),
    person: t.field({
      type: Person,
      nullable: true,
      description: 'The person who has signed in with the OpenID provider; null for an API key and the operator.',
      resolve: ({ person }) => person,
    }),
    role: t.field({
      type: MemberRole,
      description: 'Role of the client. An API key without limits has the role `ADMIN`.',
      resolve: ({ access }) => access.role,
    }),
    mayViewPayloads: t.boolean({
      description:
        'Whether payloads, answers of webhooks and texts of receivers are visible to the client. To an API key they are.',
      resolve: ({ access }) => access.mayViewPayloads,
    }),
    session: t.field({
      type: Session,
      nullable: true,
      description: 'The session of this request; null if it has an API key instead.',
      resolve: ({ session, account }, _args, { prisma }) =>
        session === null
          ? null
          : prisma.session.findFirst({ where: { id: session.id, accountId: account.id }, include: HOLDER }),
    }),
  }),
});

builder.queryFields((t) => ({
  account: t.field({
    type: Account,
    description: 'The account of the client, with its plan, its usage and its keys.',
    resolve: (_root, _args, { account }) => account,
  }),
  me: t.field({
    type: Me,
    description: 'The client of this request, and what it may do.',
    resolve: (_root, _args, { account, access, person, session }) => ({ account, access, person, session }),
  }),
}));
