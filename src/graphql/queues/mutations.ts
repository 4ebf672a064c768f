import { contract } from '../../contract/index.ts';
import { builder } from '../builder.ts';
import { BulkAction } from '../bulk/types.ts';
import { AckTimeoutAction, BackoffType, QueueMode } from '../enums.ts';
import { ConflictError, ForbiddenError, InvalidRequestError, NotFoundError, ValidationError } from '../errors.ts';
import { checked, idOf, refusing, withoutNulls } from '../input.ts';
import type { QueueRow } from '../loaders.ts';
import { PRICE } from '../prices.ts';
import { Queue } from '../refs.ts';
import { QueuePayload, queueAfter } from './after-change.ts';

const CreateQueueInput = builder.inputType('CreateQueueInput', {
  description:
    'A new queue. Fields left out get the template’s value, or the default, or the plan’s ceiling where that is lower.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 64 of a-z, 0-9, - and _.' }),
    webhookUrl: t.string({ required: true, description: 'Where jobs are delivered to; http or https.' }),
    template: t.string({ description: 'Prefills other values.' }),
    maxAttempts: t.int({ description: '1 to 25; 3 by default.' }),
    maxDefers: t.int({ description: '0 to 1000; 50 by default.' }),
    concurrency: t.int({ description: '1 to 500; 5 by default.' }),
    dlqEnabled: t.boolean({ description: 'True by default.' }),
    mode: t.field({ type: QueueMode, description: '`STANDARD` by default.' }),
    rateLimitMax: t.int({ description: 'At least 1; null, the default, means no limit.' }),
    rateLimitWindow: t.float({ description: 'Seconds, 0.001 to 3600; 60 by default.' }),
    ackTimeout: t.float({ description: 'Seconds, 0.001 to 86400; 300 by default.' }),
    ackTimeoutAction: t.field({ type: AckTimeoutAction, description: '`RETRY` by default.' }),
    backoffType: t.field({ type: BackoffType, description: '`EXPONENTIAL` by default.' }),
    backoffDelay: t.float({ description: 'Seconds, 0 to 3600; 2 by default.' }),
  }),
});

const UpdateQueueInput = builder.inputType('UpdateQueueInput', {
  description: 'What to change; fields left out stay as they are. Bounds as at creation.',
  fields: (t) => ({
    webhookUrl: t.string({ description: 'Where jobs are delivered to.' }),
    maxAttempts: t.int({ description: 'For jobs to come.' }),
    maxDefers: t.int({ description: 'Holds that a job may have.' }),
    concurrency: t.int({ description: 'Jobs in flight at once.' }),
    dlqEnabled: t.boolean({ description: 'Whether dead jobs leave a dead letter.' }),
    mode: t.field({ type: QueueMode, description: 'What a 2xx means.' }),
    rateLimitMax: t.int({ description: 'Deliveries per window; null takes the limit away.' }),
    rateLimitWindow: t.float({ description: 'Seconds.' }),
    ackTimeout: t.float({ description: 'Seconds.' }),
    ackTimeoutAction: t.field({ type: AckTimeoutAction, description: 'What becomes of unreported jobs.' }),
    backoffType: t.field({ type: BackoffType, description: 'For jobs to come.' }),
    backoffDelay: t.float({ description: 'Seconds; for jobs to come.' }),
  }),
});

const CreateQueuePayload = builder
  .objectRef<{ queue: QueueRow; signingSecret: string }>('CreateQueuePayload')
  .implement({
    description: 'The new queue and its secret.',
    fields: (t) => ({
      queue: t.field({ type: Queue, description: 'The queue.', resolve: ({ queue }) => queue }),
      signingSecret: t.exposeString('signingSecret', { description: 'Shown once.' }),
    }),
  });

const DeleteQueuePayload = builder.objectRef<{ id: string }>('DeleteQueuePayload').implement({
  description: 'The queue is gone.',
  fields: (t) => ({ id: t.exposeID('id', { description: 'Its id.' }) }),
});

const RotateSigningSecretPayload = builder
  .objectRef<{ queue: QueueRow; signingSecret: string; takesOverAt: Date }>('RotateSigningSecretPayload')
  .implement({
    description: 'The secret to come.',
    fields: (t) => ({
      queue: t.field({ type: Queue, description: 'The queue.', resolve: ({ queue }) => queue }),
      signingSecret: t.exposeString('signingSecret', { description: 'The new secret; shown once.' }),
      takesOverAt: t.expose('takesOverAt', {
        type: 'DateTime',
        description: 'Until then it signs the extra header only (the signature header’s name and `-next`).',
      }),
    }),
  });

const PurgeQueuePayload = builder.objectRef<{ actionId: string }>('PurgeQueuePayload').implement({
  description: 'The bulk action that does it.',
  fields: (t) => ({
    action: t.prismaField({
      type: BulkAction,
      description: 'To follow or to cancel.',
      resolve: (query, { actionId: id }, _args, { prisma, account }) =>
        prisma.bulkAction.findFirstOrThrow({ ...query, where: { id, accountId: account.id } }),
    }),
  }),
});

builder.mutationFields((t) => ({
  createQueue: t.field({
    type: CreateQueuePayload,
    description: 'Creates a queue.',
    errors: { types: [ValidationError, ForbiddenError] },
    args: { input: t.arg({ type: CreateQueueInput, required: true, description: 'Its settings.' }) },
    resolve: (_root, { input }, context) =>
      refusing(async () => {
        const body = checked(contract.queues.create.body, withoutNulls(input, ['rateLimitMax']));
        const { id, signingSecret } = await context.services.queues.create(context.account, body);
        return { ...(await queueAfter(context, id)), signingSecret };
      }),
  }),
  updateQueue: t.field({
    type: QueuePayload,
    description: 'Changes settings of a queue.',
    errors: { types: [ValidationError, ForbiddenError, NotFoundError] },
    args: {
      id: t.arg.id({ required: true, description: 'Of the queue.' }),
      input: t.arg({ type: UpdateQueueInput, required: true, description: 'What to change.' }),
    },
    resolve: (_root, { id, input }, context) =>
      refusing(async () => {
        const body = checked(contract.queues.update.body, withoutNulls(input, ['rateLimitMax']));
        await context.services.queues.update(context.account, idOf(id, 'queue'), body);
        return queueAfter(context, id);
      }),
  }),
  deleteQueue: t.field({
    type: DeleteQueuePayload,
    description: 'Deletes a queue: waiting jobs die, its dead letters go, its name is free at once.',
    errors: { types: [NotFoundError] },
    args: { id: t.arg.id({ required: true, description: 'Of the queue.' }) },
    resolve: (_root, { id }, { services, account }) =>
      refusing(async () => {
        await services.queues.delete(account, idOf(id, 'queue'));
        return { id };
      }),
  }),
  pauseQueue: t.field({
    type: QueuePayload,
    description: 'Stops the deliveries of a queue. Publishing goes on, and nothing is dropped.',
    errors: { types: [NotFoundError] },
    args: { id: t.arg.id({ required: true, description: 'Of the queue.' }) },
    resolve: (_root, { id }, context) =>
      refusing(async () => {
        await context.services.queues.pause(context.account, idOf(id, 'queue'));
        return queueAfter(context, id);
      }),
  }),
  resumeQueue: t.field({
    type: QueuePayload,
    description: 'Lets the deliveries of a paused queue go on.',
    errors: { types: [NotFoundError] },
    args: { id: t.arg.id({ required: true, description: 'Of the queue.' }) },
    resolve: (_root, { id }, context) =>
      refusing(async () => {
        await context.services.queues.resume(context.account, idOf(id, 'queue'));
        return queueAfter(context, id);
      }),
  }),
  endHold: t.field({
    type: QueuePayload,
    description:
      'Lets a held queue go on, with up to 1000 of its jobs that wait for the end of a hold, the one that asked for it included.',
    errors: { types: [NotFoundError] },
    args: { queueId: t.arg.id({ required: true, description: 'Of the queue.' }) },
    resolve: (_root, { queueId: id }, context) =>
      refusing(async () => {
        await context.services.queues.endHold(context.account, idOf(id, 'queue'));
        return queueAfter(context, id);
      }),
  }),
  purgeQueue: t.field({
    type: PurgeQueuePayload,
    complexity: PRICE.bulk,
    description: 'Cancels every pending job of a queue that was published before now.',
    errors: { types: [NotFoundError, InvalidRequestError] },
    args: { id: t.arg.id({ required: true, description: 'Of the queue.' }) },
    resolve: (_root, { id }, { services, account }) =>
      refusing(async () => ({ actionId: await services.bulk.startPurge(account, idOf(id, 'queue')) })),
  }),
  setPayloadEncryption: t.field({
    type: QueuePayload,
    description:
      'Whether payloads of jobs to come, and what their webhook answers, are stored encrypted. Jobs that are there stay as they are.',
    errors: { types: [NotFoundError, InvalidRequestError] },
    args: {
      queueId: t.arg.id({ required: true, description: 'Of the queue.' }),
      enabled: t.arg.boolean({ required: true, description: 'True needs a service with an `ENCRYPTION_KEY`.' }),
    },
    resolve: (_root, { queueId: id, enabled }, context) =>
      refusing(async () => {
        await context.services.queues.setPayloadEncryption(context.account, idOf(id, 'queue'), enabled);
        return queueAfter(context, id);
      }),
  }),
  rotateSigningSecret: t.field({
    type: RotateSigningSecretPayload,
    description:
      'A new signing secret. During the overlap both sign: the present one the usual header, the new one an extra header.',
    errors: { types: [ValidationError, NotFoundError, ConflictError] },
    args: {
      queueId: t.arg.id({ required: true, description: 'Of the queue.' }),
      overlapSeconds: t.arg.float({
        required: true,
        defaultValue: 86_400,
        description: '0 to 604800; 0 switches at once, and ends another rotation that is under way.',
      }),
    },
    resolve: (_root, { queueId: id, overlapSeconds }, context) =>
      refusing(async () => {
        const { signingSecret, takesOverAt } = await context.services.queues.rotateSigningSecret(
          context.account,
          idOf(id, 'queue'),
          overlapSeconds,
        );
        return { ...(await queueAfter(context, id)), signingSecret, takesOverAt };
      }),
  }),
  finishSecretRotation: t.field({
    type: QueuePayload,
    description: 'The next signing secret takes over now. Without a rotation under way nothing changes.',
    errors: { types: [NotFoundError] },
    args: { queueId: t.arg.id({ required: true, description: 'Of the queue.' }) },
    resolve: (_root, { queueId: id }, context) =>
      refusing(async () => {
        await context.services.queues.finishSecretRotation(context.account, idOf(id, 'queue'));
        return queueAfter(context, id);
      }),
  }),
}));
