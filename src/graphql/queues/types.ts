import { breakerOpenSince } from '../../domain/breaker.ts';
import { ofSettings } from '../../domain/queue-settings.ts';
import type { IgnoredNames as IgnoredNamesShape } from '../../services/insight/queues.ts';
import type { OpenTunnel } from '../../services/queues/tunnels.ts';
import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';
import { DeadLetterFilterInput, toDeadLetterFilter } from '../dead-letters/filter.ts';
import { DeadLetterConnection, deadLetterPage, ErrorGroup, hasAttempts } from '../dead-letters/types.ts';
import { JobFilterInput, JobOrderInput, toJobFilter, toOrder } from '../jobs/filter.ts';
import { JobConnection, jobPage } from '../jobs/page.ts';
import { PRICE, searchPriceOfQueue, timelinePrice } from '../prices.ts';
import { DeadLetter, Job } from '../refs.ts';
import { Selection } from '../selection.ts';
import { inTurn, timelineArgs } from '../timeline.ts';
import { QueueBreaker } from './breaker.ts';
import { QueueHold } from './hold.ts';
import { fieldOf } from './settings.ts';
import { LAST_DELIVERY, QueueDepth, QueueHealth, RateWindow, TimelinePoint } from './statistics.ts';

const QueueTunnel = builder.objectRef<OpenTunnel>('QueueTunnel').implement({
  description: 'A tunnel: a client to which deliveries of a queue go.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the tunnel.' }),
    openedBy: t.exposeString('openedBy', { description: 'Name of the API key or the person, as in the audit log.' }),
    openedAt: t.expose('openedAt', { type: 'DateTime', description: 'Time at which the tunnel was opened.' }),
  }),
});

const IgnoredNames = builder.objectRef<IgnoredNamesShape>('IgnoredNames').implement({
  description: 'Publishes over REST with unknown names, which are probably misspelled. The API ignores these names.',
  fields: (t) => ({
    message: t.string({
      description: 'A sentence for people.',
      resolve: ({ names, count }, _args, { access }) =>
        `${count} publishes had names that Jobferry ignores.${access.mayViewPayloads ? ` The last one had ${names}.` : ''}`,
    }),
    names: t.exposeString('names', {
      nullable: true,
      description: 'The names in the last such publish, as in the header `x-jobferry-ignored` of its answer.',
    }),
    count: t.exposeInt('count', { description: 'Number of such publishes since `since`.' }),
    since: t.expose('since', { type: 'DateTime', description: 'Time of the first of them.' }),
    lastAt: t.expose('lastAt', { type: 'DateTime', description: 'Time of the last of them.' }),
  }),
});

const QueuePause = builder.objectRef<{ pausedAt: Date; pausedBy: string }>('QueuePause').implement({
  description: 'A pause of a queue. No job of the queue is claimed during it.',
  fields: (t) => ({
    since: t.expose('pausedAt', { type: 'DateTime', description: 'Start of the pause.' }),
    by: t.exposeString('pausedBy', {
      description: 'Actor that paused the queue: an API key, a member by the e-mail address, or `operator`.',
    }),
  }),
});

builder.prismaObject('Queue', {
  description: 'A queue with its settings and statistics. Durations are in seconds.',
  authScopes: (queue) => ({ owner: queue.accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the queue, 24 hexadecimal digits.' }),
    name: t.exposeString('name', {
      description: 'Name of the queue, unique among the live queues of the account. It cannot be changed.',
    }),
    webhookUrl: t.exposeString('webhookUrl', { description: 'URL to which jobs are delivered.' }),
    ...ofSettings((setting, name) => t.field(fieldOf(setting, name))),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the queue was created.' }),
    deletedAt: t.expose('deletedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Time at which the queue was deleted; null if it is live. Deleted queues are visible only through their jobs.',
    }),
    paused: t.boolean({
      description: 'Whether the queue is paused.',
      resolve: ({ pausedAt }) => pausedAt !== null,
    }),
    pause: t.field({
      type: QueuePause,
      nullable: true,
      description: 'The pause of the queue; null if the queue is not paused.',
      resolve: ({ pausedAt, pausedBy }) => (pausedAt === null || pausedBy === null ? null : { pausedAt, pausedBy }),
    }),
    hold: t.field({
      type: QueueHold,
      nullable: true,
      description:
        'The hold of the queue, set by a defer of queue scope or by its breaker, and removed when its probe has ended; null if the queue is not held.',
      resolve: (queue) => (queue.holdUntil === null ? null : { ...queue, holdUntil: queue.holdUntil }),
    }),
    breaker: t.field({
      type: QueueBreaker,
      nullable: true,
      description: 'The breaker of the queue; null if it has none.',
      resolve: (queue) => (queue.breakerFailures === null && queue.breakerSeconds === null ? null : queue),
    }),
    signingSecretRotatesAt: t.expose('nextSigningSecretAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the next signing secret takes over; null if no rotation is in progress.',
    }),
    signingSecretRotatedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'Time at which the present signing secret took over; null if it is the first one, or took over before this was recorded.',
      resolve: async ({ signingSecretSince, formerSecretSince }, _args, { loaders }) => {
        if (signingSecretSince === null) return null;
        return signingSecretSince <= (await loaders.server()).now ? signingSecretSince : formerSecretSince;
      },
    }),
    lastDeliveryAt: t.field({
      type: 'DateTime',
      complexity: PRICE.lastDelivery,
      nullable: true,
      description: `Time at which the last attempt of the queue ended; null if there is none within retention. ${LAST_DELIVERY}`,
      resolve: ({ id }, _args, { loaders }) => loaders.lastDelivery.load(id),
    }),
    payloadsEncrypted: t.exposeBoolean('payloadsEncrypted', {
      description:
        'Whether payloads of jobs published from now on, and the answers of their webhook, are stored encrypted. Such jobs cannot be searched by payload.',
    }),
    standardWebhooks: t.exposeBoolean('standardWebhooks', {
      description:
        'Whether deliveries also have the headers of Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature`.',
    }),
    production: t.exposeBoolean('production', {
      description: 'Whether the queue is marked as production: a tunnel to it has to be forced.',
    }),
    tags: t.exposeStringList('tags', { description: 'Words by which queues are grouped, in alphabetical order.' }),
    tunnels: t.field({
      type: [QueueTunnel],
      complexity: PRICE.tunnels,
      description: 'Tunnels that take the deliveries of the queue from its webhook, oldest first, at most 100.',
      resolve: ({ id }, _args, { services, account }) => services.queues.tunnelsOf(account, id),
    }),
    depth: t.field({
      type: QueueDepth,
      complexity: PRICE.depth,
      nullable: true,
      description: 'Number of jobs by state; null for a deleted queue.',
      resolve: ({ id }, _args, { loaders }) => loaders.depth.load(id),
    }),
    oldestDueSeconds: t.float({
      complexity: PRICE.depth,
      nullable: true,
      description: 'Time for which the oldest due job has been due, in seconds; null if no job is due.',
      resolve: async ({ id }, _args, { loaders }) => {
        const oldest = (await loaders.depth.load(id))?.oldestDueAt ?? null;
        if (oldest === null) return null;
        return Math.max(0, ((await loaders.server()).now.getTime() - oldest.getTime()) / 1000);
      },
    }),
    publishedLastMinute: t.int({
      complexity: PRICE.publishedNow,
      description: 'Number of jobs that were published in the last 60 seconds.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.publishedLastMinute.load(id)) ?? 0,
    }),
    inFlight: t.int({
      nullable: true,
      description:
        'Number of jobs that are processing or awaiting an ack, to compare with `concurrency`; null for a deleted queue.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.use.load(id))?.inFlight ?? null,
    }),
    rateWindow: t.field({
      type: RateWindow,
      nullable: true,
      description: 'The present rate window; null if there is no rate limit.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.use.load(id))?.rate ?? null,
    }),
    addressWarning: t.string({
      nullable: true,
      description:
        'Problem of the webhook URL if its host is an IP address that is neither public nor allowed: all deliveries are refused. Null for other addresses and for host names.',
      resolve: ({ webhookUrl }, _args, { services }) => services.queues.addressWarning(webhookUrl),
    }),
    ignoredNames: t.field({
      type: IgnoredNames,
      nullable: true,
      description:
        'Publishes with names that the API ignores; null unless running processes got three or more, the last within an hour.',
      resolve: async ({ name, createdAt }, _args, { loaders }) => {
        const ignored = await loaders.ignoredNames.load(name);
        return ignored === null || ignored.lastAt < createdAt ? null : ignored;
      },
    }),
    health: t.field({
      type: QueueHealth,
      complexity: PRICE.health,
      nullable: true,
      description:
        'Attempts of the last hour, grouped by the receiver’s answer, and warnings; null for a deleted queue.',
      resolve: async (queue, _args, { loaders }) => {
        const health = await loaders.health.load(queue.id);
        const usesAttempts = queue.pausedAt === null && breakerOpenSince(queue) === null;
        return health === null ? null : { ...health, queueId: queue.id, usesAttempts };
      },
    }),
    timeline: t.field({
      type: [TimelinePoint],
      description:
        'Attempts over time; the last day by default, at most 1000 time spans, and not before the start of retention.',
      complexity: timelinePrice,
      args: timelineArgs,
      resolve: async ({ id }, args, context, info) =>
        inTurn(context, (await context.loaders.timeline(args, Selection.of(info).has('published')).load(id)) ?? []),
    }),
    jobs: t.connection(
      {
        type: Job,
        complexity: searchPriceOfQueue,
        description: 'Jobs of the queue; newest first by default.',
        args: {
          filter: t.arg({ type: JobFilterInput, description: 'The jobs to return; all by default.' }),
          orderBy: t.arg({ type: JobOrderInput, description: 'The order of the jobs; newest first by default.' }),
        },
        resolve: (queue, args, context, info) => {
          const filter = { ...toJobFilter(args.filter), queueIds: [queue.id], queueNames: undefined };
          const order = toOrder(args.orderBy);
          const isPlain = args.after == null && args.before == null && args.last == null && args.orderBy == null;
          // The first pages of many queues are read in one statement.
          return jobPage(
            { context, args, info },
            filter,
            order,
            isPlain ? newest(queue.id, args.filter, context) : undefined,
          );
        },
      },
      JobConnection,
    ),
    deadLetters: t.connection(
      {
        type: DeadLetter,
        complexity: searchPriceOfQueue,
        description: 'Dead letters of the queue; the most recently dead first.',
        args: {
          filter: t.arg({ type: DeadLetterFilterInput, description: 'The dead letters to return; all by default.' }),
        },
        resolve: (queue, args, context, info) =>
          deadLetterPage({ context, args, info }, { ...toDeadLetterFilter(args.filter), queueIds: [queue.id] }),
      },
      DeadLetterConnection,
    ),
    errorGroups: t.field({
      type: [ErrorGroup],
      complexity: ({ first }) => ({ field: PRICE.errorGroups, multiplier: Math.min(Math.max(first ?? 10, 1), 100) }),
      description: 'Dead letters of the queue that were not replayed, grouped by error; the largest group first.',
      args: {
        first: t.arg.int({ defaultValue: 10, required: true, description: 'Maximum number of groups; at most 100.' }),
      },
      resolve: (queue, { first }, { loaders }, info) =>
        loaders.errorGroups.load({
          queueId: queue.id,
          limit: Math.min(Math.max(first, 0), 100),
          withAttempts: hasAttempts(info),
        }),
    }),
  }),
});

function newest(
  queueId: string,
  filter: typeof JobFilterInput.$inferInput | null | undefined,
  { loaders }: GraphQLContext,
) {
  const own = { ...toJobFilter(filter), queueIds: undefined, queueNames: undefined };
  return ({ limit }: { limit: number }) => loaders.newestJobs(own, limit).load(queueId);
}
