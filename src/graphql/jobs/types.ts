import type { DeadReason as Reason, JobStatus as Status } from '../../domain/job.ts';
import { stateOf } from '../../domain/job-filter.ts';
import type { BackoffType as Backoff } from '../../domain/queue-settings.ts';
import type { ShownWaiting } from '../../services/insight/queues.ts';
import { firstOf } from '../../services/jobs/stored-text.ts';
import { builder } from '../builder.ts';
import { BackoffType, DeadReason, JobStateName, JobStatus, WaitReason } from '../enums.ts';
import type { JobRow } from '../loaders.ts';
import { PRICE } from '../prices.ts';
import { DeadLetter, Job, Queue } from '../refs.ts';
import { Attempt } from './attempt.ts';
import { cancelKey } from './cancelled-by.ts';
import { visibleJob } from './visible.ts';

const Waiting = builder.objectRef<ShownWaiting & { jobId: string }>('Waiting').implement({
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
    ahead: t.int({
      nullable: true,
      complexity: PRICE.ahead,
      description:
        'Number of pending jobs of the queue that are scheduled before this job; null if there are more than 1000.',
      resolve: ({ jobId }, _args, { loaders }) => loaders.ahead.load(jobId),
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

const Receipt = builder.objectRef<JobRow>('Receipt').implement({
  description: 'The 2xx answer of the webhook to a job in ack mode. After the report it is part of the attempt.',
  fields: (t) => ({
    webhookStatusCode: t.int({
      description: 'Status code of the answer.',
      resolve: ({ answerStatusCode }) => existing(answerStatusCode),
    }),
    durationMs: t.exposeInt('answerMs', { nullable: true, description: 'Duration of the delivery in milliseconds.' }),
    responseBody: t.string({
      nullable: true,
      description: 'First 4 KiB of the body of the answer; null if it had none or it cannot be decrypted.',
      resolve: async ({ id }, _args, { loaders, texts }) => {
        const body = await loaders.receiptBody.load(id);
        return body === null ? null : texts.take(body);
      },
    }),
  }),
});

/** Longest preview of a payload, in characters. */
const MAX_PREVIEW = 2000;

builder.prismaObject('Job', {
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
    state: t.field({
      type: JobStateName,
      description: 'State of the job: its status, with `PENDING` divided into four.',
      resolve: async (job, _args, { loaders }) => {
        const facts = { ...job, status: job.status as Status, waitReason: job.waitReason as 'backoff' | 'hold' | null };
        return stateOf(facts, (await loaders.server()).now);
      },
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
        'The payload, parsed. Parsing changes very large numbers and drops duplicate keys; `payloadText` is exact. Null if it cannot be decrypted.',
      resolve: async (job, _args, { loaders, texts }) => {
        const { text } = existing(await loaders.payload.load(job.id));
        return text === null ? null : texts.parse(text);
      },
    }),
    payloadText: t.string({
      nullable: true,
      description:
        'The JSON text of the payload, byte for byte as published and delivered. Null if it cannot be decrypted.',
      resolve: async (job, _args, { loaders, texts }) => {
        const { text } = existing(await loaders.payload.load(job.id));
        return text === null ? null : texts.take(text);
      },
    }),
    payloadBytes: t.int({
      description:
        'Size of the JSON text of the payload in bytes; up to 2 bytes more if the payload is stored encrypted and larger than 64 KiB.',
      resolve: async (job, _args, { loaders }) => existing(await loaders.payloadHead.load(`${job.id}:0`)).bytes,
    }),
    payloadPreview: t.string({
      nullable: true,
      description:
        'First characters of the JSON text of the payload; null if the payload is stored encrypted and larger than 64 KiB, or cannot be decrypted.',
      args: {
        max: t.arg.int({
          required: true,
          defaultValue: 200,
          description: 'Maximum number of characters; 1 to 2000, and other numbers count as the nearer of these.',
        }),
      },
      resolve: async (job, { max }, { loaders, texts }) => {
        const characters = Math.min(Math.max(max, 1), MAX_PREVIEW);
        const { preview } = existing(await loaders.payloadHead.load(`${job.id}:${characters}`));
        return preview === null ? null : texts.take(firstOf(preview, characters));
      },
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
    receipt: t.field({
      type: Receipt,
      nullable: true,
      description: 'The webhook’s answer that confirmed receipt; null unless the job is awaiting an ack.',
      resolve: (job) => (job.status === 'awaiting_ack' && job.answerStatusCode !== null ? job : null),
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
    endedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the job was completed or died; null unless it has ended.',
      resolve: (job) => job.completedAt ?? (job.status === 'dead' ? job.deadAt : null),
    }),
    cancelledBy: t.string({
      nullable: true,
      description:
        'Actor that cancelled the job directly or with a bulk action; null if the job was not cancelled, or if the actor is no longer known.',
      resolve: (job, _args, { loaders }) =>
        job.deadReason === 'cancelled' && job.deadAt !== null
          ? loaders.cancelledBy.load(cancelKey(job, job.deadAt))
          : null,
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
      resolve: async (job, _args, { loaders }) => {
        const waiting = job.status === 'pending' ? await loaders.waiting.load(job.id) : null;
        return waiting === null ? null : { ...waiting, jobId: job.id };
      },
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
        // Only a dead job is replayed, and it stays dead.
        const ids = job.status === 'dead' ? await loaders.replays.load(job.id) : [];
        const jobs = await loaders.job.loadMany(ids);
        return jobs.filter((found) => found !== null && !(found instanceof Error)) as JobRowList;
      },
    }),
  }),
});

type JobRowList = (typeof Job.$inferType)[];

/** The value exists: a foreign key refers to its row, or the job's status implies it. */
function existing<T>(value: T | null): T {
  if (value === null) throw new Error('a row that a foreign key refers to was not found');
  return value;
}
