import type { DeadReason as Reason, JobStatus as Status } from '../../domain/job.ts';
import type { BackoffType as Backoff } from '../../domain/queue.ts';
import type { Waiting as WaitingShape } from '../../domain/waiting.ts';
import { builder } from '../builder.ts';
import { BackoffType, DeadReason, JobStatus, WaitReason } from '../enums.ts';
import { DeadLetter, Job, Queue } from '../refs.ts';
import { Attempt } from './attempt.ts';
import { visibleJob } from './visible.ts';

const Waiting = builder.objectRef<WaitingShape>('Waiting').implement({
  description: 'Why a pending job is not being delivered now.',
  fields: (t) => ({
    reason: t.field({ type: WaitReason, description: 'What binds last.', resolve: ({ reason }) => reason }),
    message: t.exposeString('message', { description: 'The same as a sentence, with names and numbers.' }),
    earliestAt: t.expose('earliestAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The earliest time at which it can start; null when only an event can let it go.',
    }),
  }),
});

const AckProgress = builder.objectRef<{ text: string; at: Date }>('AckProgress').implement({
  description: 'What the worker of an ack-mode job last reported.',
  fields: (t) => ({
    text: t.exposeString('text', { description: 'In the worker’s words.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it said so.' }),
  }),
});

Job.implement({
  description: 'A job: what was published, and what became of it.',
  authScopes: (job) => ({ owner: job.accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: '24 hexadecimal digits; also in the envelope that the webhook gets.' }),
    queue: t.field({
      type: Queue,
      description: 'The queue it was published to. A deleted queue keeps its name here.',
      resolve: async (job, _args, { loaders }) => existing(await loaders.queue.load(job.queueId)),
    }),
    status: t.field({ type: JobStatus, description: 'As REST shows it.', resolve: (job) => job.status as Status }),
    attemptsMade: t.exposeInt('attempts', {
      description: 'Attempts that count, the one under way included. REST calls it `attempts`.',
    }),
    maxAttempts: t.exposeInt('maxAttempts', { description: 'Copied from the queue at publish.' }),
    deferCount: t.exposeInt('deferCount', { description: 'Holds used so far; never counted as attempts.' }),
    backoffType: t.field({
      type: BackoffType,
      description: 'Copied from the queue at publish.',
      resolve: (job) => job.backoffType as Backoff,
    }),
    backoffDelay: t.exposeFloat('backoffDelay', { description: 'Seconds; copied from the queue at publish.' }),
    idempotencyKey: t.exposeString('idempotencyKey', { nullable: true, description: 'As given at publish.' }),
    payload: t.field({
      type: 'JSON',
      description: 'Parsed, so that very large numbers and duplicate keys are not what they were; see `payloadText`.',
      resolve: async (job, _args, { loaders, texts }) => texts.parse(existing(await loaders.payload.load(job.id))),
    }),
    payloadText: t.string({
      description: 'The JSON text exactly as published and as delivered, byte for byte.',
      resolve: async (job, _args, { loaders, texts }) => texts.take(existing(await loaders.payload.load(job.id))),
    }),
    scheduledFor: t.expose('scheduledFor', {
      type: 'DateTime',
      description: 'The next time at which it may be delivered, or was.',
    }),
    deliverBy: t.expose('deliverBy', { type: 'DateTime', description: 'The end of its delivery lifetime.' }),
    startedAt: t.expose('claimedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the last delivery began.',
    }),
    ackDeadline: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'While it is awaiting an ack: when it times out.',
      resolve: (job) => (job.status === 'awaiting_ack' ? job.deadline : null),
    }),
    progress: t.field({
      type: AckProgress,
      nullable: true,
      description: 'What the worker reported with its last `extendAck`.',
      resolve: ({ progress, progressAt }) =>
        progress === null || progressAt === null ? null : { text: progress, at: progressAt },
    }),
    lastError: t.exposeString('lastError', { nullable: true, description: 'What went wrong last.' }),
    deadReason: t.field({
      type: DeadReason,
      nullable: true,
      description: 'Why it died; null while it has not.',
      resolve: (job) => job.deadReason as Reason | null,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was published.' }),
    completedAt: t.expose('completedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was completed; null for dead jobs.',
    }),
    attempts: t.field({
      type: [Attempt],
      complexity: { field: 1, multiplier: 3 },
      description: 'Its history: every ended attempt, oldest first.',
      resolve: (job, _args, { loaders }) => loaders.attempts.load(job.id),
    }),
    waiting: t.field({
      type: Waiting,
      nullable: true,
      description: 'Why it is not being delivered now; null when it is not pending.',
      resolve: (job, _args, { loaders }) => (job.status === 'pending' ? loaders.waiting.load(job.id) : null),
    }),
    deadLetter: t.field({
      type: DeadLetter,
      nullable: true,
      description: 'Its entry in the dead-letter queue.',
      resolve: (job, _args, { loaders }) => (job.status === 'dead' ? loaders.deadLetterOfJob.load(job.id) : null),
    }),
    replayOf: t.field({
      type: Job,
      nullable: true,
      description: 'The dead job that this one repeats; null also when that one is past retention.',
      resolve: (job, _args, context) => (job.replayOf === null ? null : visibleJob(context, job.replayOf)),
    }),
    replays: t.field({
      type: [Job],
      description: 'Jobs that repeat this one.',
      resolve: async (job, _args, { loaders }) => {
        const jobs = await loaders.job.loadMany(await loaders.replays.load(job.id));
        return jobs.filter((found) => found !== null && !(found instanceof Error)) as JobRowList;
      },
    }),
  }),
});

type JobRowList = (typeof Job.$inferType)[];

/** What a foreign key promises. */
function existing<T>(value: T | null): T {
  if (value === null) throw new Error('a row that must exist is gone');
  return value;
}
