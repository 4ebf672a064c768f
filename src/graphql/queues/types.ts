import type {
  BackoffType as Backoff,
  QueueMode as Mode,
  AckTimeoutAction as TimeoutAction,
} from '../../domain/queue.ts';
import { builder } from '../builder.ts';
import { DeadLetterFilterInput, toDeadLetterFilter } from '../dead-letters/filter.ts';
import { DeadLetterConnection, deadLetterPage, ErrorGroup } from '../dead-letters/types.ts';
import { AckTimeoutAction, BackoffType, QueueMode } from '../enums.ts';
import { JobFilterInput, JobOrderInput, toJobFilter, toOrder } from '../jobs/filter.ts';
import { JobConnection, jobPage } from '../jobs/page.ts';
import type { QueueRow } from '../loaders.ts';
import { PRICE, searchPriceOfQueue, timelinePrice } from '../prices.ts';
import { DeadLetter, Job, Queue } from '../refs.ts';
import { toTimeline } from '../timeline.ts';
import { QueueDepth, QueueHealth, RateWindow, TimelinePoint } from './statistics.ts';

const QueueHold = builder.objectRef<QueueRow & { holdUntil: Date }>('QueueHold').implement({
  description: 'A queue whose deliveries stand still because a receiver asked for it.',
  fields: (t) => ({
    until: t.expose('holdUntil', { type: 'DateTime', description: 'Then one job is released as a probe.' }),
    reason: t.exposeString('holdReason', { nullable: true, description: 'What the receiver said.' }),
    askedBy: t.field({
      type: Job,
      nullable: true,
      description: 'The job whose defer asked for it.',
      resolve: ({ holdJobId }, _args, { loaders }) => (holdJobId === null ? null : loaders.job.load(holdJobId)),
    }),
    probe: t.field({
      type: Job,
      nullable: true,
      description: 'The job that finds out whether the queue may go on, while it is under way.',
      resolve: ({ probeJobId }, _args, { loaders }) => (probeJobId === null ? null : loaders.job.load(probeJobId)),
    }),
  }),
});

const QueuePause = builder.objectRef<{ pausedAt: Date; pausedBy: string }>('QueuePause').implement({
  description: 'Somebody has stopped the deliveries of a queue.',
  fields: (t) => ({
    since: t.expose('pausedAt', { type: 'DateTime', description: 'When.' }),
    by: t.exposeString('pausedBy', { description: 'Who: an API key, or the command line.' }),
  }),
});

Queue.implement({
  description: 'A queue, its settings (durations are seconds) and how it does.',
  authScopes: (queue) => ({ owner: queue.accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: '24 hexadecimal digits.' }),
    name: t.exposeString('name', { description: 'Unique among the live queues of the account; cannot be changed.' }),
    webhookUrl: t.exposeString('webhookUrl', { description: 'Where jobs are delivered to.' }),
    maxAttempts: t.exposeInt('maxAttempts', { description: 'Attempts until a job is dead, for jobs to come.' }),
    maxDefers: t.exposeInt('maxDefers', { description: 'Holds that a job may have.' }),
    concurrency: t.exposeInt('concurrency', { description: 'Jobs in flight at once, at most.' }),
    dlqEnabled: t.exposeBoolean('dlqEnabled', { description: 'Whether dead jobs leave a dead letter.' }),
    mode: t.field({ type: QueueMode, description: 'What a 2xx means.', resolve: (queue) => queue.mode as Mode }),
    rateLimitMax: t.exposeInt('rateLimitMax', {
      nullable: true,
      description: 'Deliveries per window; null: no limit.',
    }),
    rateLimitWindow: t.exposeFloat('rateLimitWindow', { description: 'Length of the window, in seconds.' }),
    ackTimeout: t.exposeFloat('ackTimeout', { description: 'Seconds in which a worker has to report.' }),
    ackTimeoutAction: t.field({
      type: AckTimeoutAction,
      description: 'What becomes of a job that is not reported on in time.',
      resolve: (queue) => queue.ackTimeoutAction as TimeoutAction,
    }),
    backoffType: t.field({
      type: BackoffType,
      description: 'How the waits between retries grow, for jobs to come.',
      resolve: (queue) => queue.backoffType as Backoff,
    }),
    backoffDelay: t.exposeFloat('backoffDelay', { description: 'Seconds before the first retry, for jobs to come.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    deletedAt: t.expose('deletedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was deleted; seen only through jobs that are still kept.',
    }),
    paused: t.boolean({
      description: 'Whether somebody has stopped it.',
      resolve: ({ pausedAt }) => pausedAt !== null,
    }),
    pause: t.field({
      type: QueuePause,
      nullable: true,
      description: 'Since when and by whom it is paused.',
      resolve: ({ pausedAt, pausedBy }) => (pausedAt === null || pausedBy === null ? null : { pausedAt, pausedBy }),
    }),
    hold: t.field({
      type: QueueHold,
      nullable: true,
      description: 'Set while a defer of queue scope holds it, until its probe has answered.',
      resolve: (queue) => (queue.holdUntil === null ? null : { ...queue, holdUntil: queue.holdUntil }),
    }),
    signingSecretRotatesAt: t.expose('nextSigningSecretAt', {
      type: 'DateTime',
      nullable: true,
      description: 'During the overlap of a rotation: when the next secret takes over.',
    }),
    payloadsEncrypted: t.exposeBoolean('payloadsEncrypted', {
      description:
        'Whether payloads of jobs to come, and what their webhook answers, are stored encrypted. No search by payload finds such jobs.',
    }),
    depth: t.field({
      type: QueueDepth,
      complexity: PRICE.depth,
      nullable: true,
      description: 'How many jobs are in which state.',
      resolve: ({ id }, _args, { loaders }) => loaders.depth.load(id),
    }),
    oldestDueSeconds: t.float({
      complexity: PRICE.depth,
      nullable: true,
      description: 'For how long the oldest due job has been due, in seconds; null when none is.',
      resolve: async ({ id }, _args, { loaders }) => {
        const oldest = (await loaders.depth.load(id))?.oldestDueAt ?? null;
        if (oldest === null) return null;
        return Math.max(0, ((await loaders.server()).now.getTime() - oldest.getTime()) / 1000);
      },
    }),
    inFlight: t.int({
      nullable: true,
      description: 'Processing and awaiting ack, to compare with `concurrency`.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.use.load(id))?.inFlight ?? null,
    }),
    rateWindow: t.field({
      type: RateWindow,
      nullable: true,
      description: 'The present rate window; null without a rate limit.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.use.load(id))?.rate ?? null,
    }),
    health: t.field({
      type: QueueHealth,
      complexity: PRICE.health,
      nullable: true,
      description: 'How the receiver answered in the last hour.',
      resolve: ({ id }, _args, { loaders }) => loaders.health.load(id),
    }),
    timeline: t.field({
      type: [TimelinePoint],
      description: 'Attempts over time; the last day by default, at most 1000 spans.',
      complexity: timelinePrice,
      args: {
        from: t.arg({ type: 'DateTime', description: 'A day before `to` when left out.' }),
        to: t.arg({ type: 'DateTime', description: 'Now when left out.' }),
        bucketSeconds: t.arg.int({ defaultValue: 300, required: true, description: 'A multiple of 300.' }),
      },
      resolve: async ({ id }, args, { loaders }) =>
        loaders.timeline(toTimeline(args, (await loaders.server()).now)).load(id),
    }),
    jobs: t.connection(
      {
        type: Job,
        complexity: searchPriceOfQueue,
        description: 'Its jobs, newest first unless asked otherwise.',
        args: {
          filter: t.arg({ type: JobFilterInput, description: 'Which ones.' }),
          orderBy: t.arg({ type: JobOrderInput, description: 'In which order.' }),
        },
        resolve: (queue, args, context) => {
          const filter = { ...toJobFilter(args.filter), queueIds: [queue.id], queueNames: undefined };
          const order = toOrder(args.orderBy);
          const isPlain = args.after == null && args.before == null && args.last == null && args.orderBy == null;
          // The first pages of many queues come in one statement.
          return jobPage(context, filter, order, args, isPlain ? newest(queue.id, args.filter, context) : undefined);
        },
      },
      JobConnection,
    ),
    deadLetters: t.connection(
      {
        type: DeadLetter,
        complexity: searchPriceOfQueue,
        description: 'Its dead letters, most recently dead first.',
        args: { filter: t.arg({ type: DeadLetterFilterInput, description: 'Which ones.' }) },
        resolve: (queue, args, context) =>
          deadLetterPage(context, { ...toDeadLetterFilter(args.filter), queueIds: [queue.id] }, args),
      },
      DeadLetterConnection,
    ),
    errorGroups: t.field({
      type: [ErrorGroup],
      complexity: ({ first }) => ({ field: PRICE.errorGroups, multiplier: Math.min(Math.max(first ?? 10, 1), 100) }),
      description: 'Its dead letters that were not replayed, by what they died of; the largest group first.',
      args: { first: t.arg.int({ defaultValue: 10, required: true, description: 'So many; at most 100.' }) },
      resolve: (queue, { first }, { loaders }) =>
        loaders.errorGroups({ replayed: false }, Math.min(Math.max(first, 0), 100)).load(queue.id),
    }),
  }),
});

type Context = Parameters<typeof jobPage>[0];

function newest(queueId: string, filter: typeof JobFilterInput.$inferInput | null | undefined, { loaders }: Context) {
  const own = { ...toJobFilter(filter), queueIds: undefined, queueNames: undefined };
  return ({ limit }: { limit: number }) => loaders.newestJobs(own, limit).load(queueId);
}
