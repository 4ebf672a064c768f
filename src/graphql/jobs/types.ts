import type { DeadReason as Reason, JobStatus as Status } from '../../domain/job.ts';
import type { BackoffType as Backoff } from '../../domain/queue.ts';
import type { ShownWaiting } from '../../services/insight/queues.ts';
import { builder } from '../builder.ts';
import { BackoffType, DeadReason, JobStatus, WaitReason } from '../enums.ts';
import { DeadLetter, Job, Queue } from '../refs.ts';
import { Attempt } from './attempt.ts';
import { visibleJob } from './visible.ts';

const Waiting = builder.objectRef<ShownWaiting>('Waiting').implement({
  description: 'The reason why a pending job is not being delivered now.',
  fields: (t) => ({
    reason: t.field({
      type: WaitReason,
      description: 'The reason; if several apply, the one that ends last.',
      resolve: ({ reason }) => reason,
    }),
    message: t.string({
      description:
        'The reason as a sentence, with names and numbers. It quotes no text of the receiver if the client may not see payloads.',
      resolve: ({ message, messageWithoutTexts }, _args, { access }) =>
        access.mayViewPayloads ? message : messageWithoutTexts,
    }),
    earliestAt: t.expose('earliestAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Earliest time at which the delivery can start; null if the job waits for an event, such as the end of a pause.',
    }),
  }),
});

const AckProgress = builder.objectRef<{ text: string; at: Date }>('AckProgress').implement({
  description: 'The progress that the worker of an ack-mode job last reported.',
  fields: (t) => ({
    text: t.exposeString('text', { nullable: true, description: 'Text of the worker.' }),
    at: t.expose('at', { type: 'DateTime', description: 'Time of the report.' }),
  }),
});

Job.implement({
  description: 'A published job, with its state and its history.',
  authScopes: (job) => ({ owner: job.accountId }),
  fields: (t) => ({
    id: t.exposeID('id', {
      description: 'Id of the job, 24 hexadecimal digits; the envelope of each delivery contains it.',
    }),
    queue: t.field({
      type: Queue,
      description: 'The queue to which the job was published. A deleted queue keeps its name here.',
      resolve: async (job, _args, { loaders }) => existing(await loaders.queue.load(job.queueId)),
    }),
    status: t.field({
      type: JobStatus,
      description: 'Status of the job, the same as in REST.',
      resolve: (job) => job.status as Status,
    }),
    attemptsMade: t.exposeInt('attempts', {
      description: 'Number of attempts that count, including the one in progress. REST calls it `attempts`.',
    }),
    maxAttempts: t.exposeInt('maxAttempts', {
      description: 'Number of attempts after which the job is dead; copied from the queue at publish.',
    }),
    deferCount: t.exposeInt('deferCount', {
      description: 'Number of holds used so far. Holds never count as attempts.',
    }),
    backoffType: t.field({
      type: BackoffType,
      description: 'Growth of the back-off from retry to retry; copied from the queue at publish.',
      resolve: (job) => job.backoffType as Backoff,
    }),
    backoffDelay: t.exposeFloat('backoffDelay', {
      description: 'Back-off before the first retry, in seconds; copied from the queue at publish.',
    }),
    idempotencyKey: t.exposeString('idempotencyKey', {
      nullable: true,
      description: 'The idempotency key given at publish; null if none was given.',
    }),
    payload: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'The payload, parsed. Parsing changes very large numbers and drops duplicate keys; `payloadText` is exact.',
      resolve: async (job, _args, { loaders, texts }) => texts.parse(existing(await loaders.payload.load(job.id))),
    }),
    payloadText: t.string({
      nullable: true,
      description: 'The JSON text of the payload, byte for byte as published and delivered.',
      resolve: async (job, _args, { loaders, texts }) => texts.take(existing(await loaders.payload.load(job.id))),
    }),
    scheduledFor: t.expose('scheduledFor', {
      type: 'DateTime',
      description:
        'Time at which the next delivery may start; after the last delivery, the time at which that one could start.',
    }),
    deliverBy: t.expose('deliverBy', { type: 'DateTime', description: 'End of the job’s delivery lifetime.' }),
    startedAt: t.expose('claimedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Start of the last delivery; null before the first one.',
    }),
    ackDeadline: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the job times out without a report; null unless the job is awaiting an ack.',
      resolve: (job) => (job.status === 'awaiting_ack' ? job.deadline : null),
    }),
    progress: t.field({
      type: AckProgress,
      nullable: true,
      description: 'The progress that the worker reported with its last `extendAck`; null if it reported none.',
      resolve: ({ progress, progressAt }) =>
        progress === null || progressAt === null ? null : { text: progress, at: progressAt },
    }),
    lastError: t.exposeString('lastError', {
      nullable: true,
      description: 'The last error, or the reason why the job is dead; null if there was no error.',
    }),
    deadReason: t.field({
      type: DeadReason,
      nullable: true,
      description: 'The reason why the job died; null unless the job is dead.',
      resolve: (job) => job.deadReason as Reason | null,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the job was published.' }),
    completedAt: t.expose('completedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the job was completed; null unless it is completed.',
    }),
    attempts: t.field({
      type: [Attempt],
      complexity: { field: 1, multiplier: 3 },
      description: 'History of the job: all ended attempts, oldest first.',
      resolve: (job, _args, { loaders }) => loaders.attempts.load(job.id),
    }),
    waiting: t.field({
      type: Waiting,
      nullable: true,
      description: 'The reason why the job is not being delivered now; null unless the job is pending.',
      resolve: (job, _args, { loaders }) => (job.status === 'pending' ? loaders.waiting.load(job.id) : null),
    }),
    deadLetter: t.field({
      type: DeadLetter,
      nullable: true,
      description: 'The dead letter of the job; null if there is none.',
      resolve: (job, _args, { loaders }) => (job.status === 'dead' ? loaders.deadLetterOfJob.load(job.id) : null),
    }),
    replayOf: t.field({
      type: Job,
      nullable: true,
      description:
        'The dead job of which this job is a replay; null for other jobs, and when the dead job is past retention.',
      resolve: (job, _args, context) => (job.replayOf === null ? null : visibleJob(context, job.replayOf)),
    }),
    replays: t.field({
      type: [Job],
      description: 'The replays of this job.',
      resolve: async (job, _args, { loaders }) => {
        const jobs = await loaders.job.loadMany(await loaders.replays.load(job.id));
        return jobs.filter((found) => found !== null && !(found instanceof Error)) as JobRowList;
      },
    }),
  }),
});

type JobRowList = (typeof Job.$inferType)[];

/** The row exists: a foreign key refers to it. */
function existing<T>(value: T | null): T {
  if (value === null) throw new Error('a row that a foreign key refers to was not found');
  return value;
}
