import { contract } from '../../contract/index.ts';
import { ofSettings } from '../../domain/queue-settings.ts';
import type { CreateQueueInput as CreateQueue } from '../../services/queues/manage.ts';
import { builder } from '../builder.ts';
import { actionOf, BulkAction, type BulkActionResult, matchedOf } from '../bulk/types.ts';
import { ConflictError, ForbiddenError, InvalidRequestError, NotFoundError, ValidationError } from '../errors.ts';
import { checked, idOf, refusing, withoutNulls } from '../input.ts';
import type { QueueRow } from '../loaders.ts';
import { PRICE } from '../prices.ts';
import { Queue } from '../refs.ts';
import { QueuePayload, queueAfter } from './after-change.ts';
import { changeOf, newOf, type SettingInputs } from './settings.ts';

const TAGS =
  'Words by which queues are grouped: at most 10, each 1 to 32 of a-z, 0-9, -, _ and the full stop. An empty list removes all.';

const CreateQueueInput = builder.inputType('CreateQueueInput', {
  description:
    'A new queue. A field that is left out gets the value of the template, or the default. If that value is above the plan’s ceiling, it is lowered to the ceiling.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Name of the queue: 1 to 64 of a-z, 0-9, - and _.' }),
    webhookUrl: t.string({ required: true, description: 'URL to which jobs are delivered; http or https.' }),
    template: t.string({ description: 'Name of a template, whose values replace the defaults of the other fields.' }),
    ...(ofSettings((setting, name) => t.field(newOf(setting, name))) as SettingInputs),
    tags: t.stringList({ description: TAGS }),
    copyOf: t.id({
      description:
        'Id of a queue whose settings replace the defaults of the other fields. Its tags, Standard Webhooks headers, payload encryption, breaker and production mark are copied, too; its signing secret is not. Not together with `template`.',
    }),
    signingSecret: t.string({
      description:
        'The signing secret, if the receiver has one already: 24 to 128 printable ASCII characters without spaces. Made at random by default.',
    }),
  }),
});

const UpdateQueueInput = builder.inputType('UpdateQueueInput', {
  description:
    'The settings to change. Fields that are left out keep their values. The bounds are those of `CreateQueueInput`.',
  fields: (t) => ({
    webhookUrl: t.string({ description: 'URL to which jobs are delivered; http or https.' }),
    ...(ofSettings((setting, name) => t.field(changeOf(setting, name))) as SettingInputs),
    tags: t.stringList({ description: TAGS }),
  }),
});

const CreateQueuePayload = builder
  .objectRef<{ queue: QueueRow; signingSecret: string }>('CreateQueuePayload')
  .implement({
    description: 'The new queue and its signing secret.',
    fields: (t) => ({
      queue: t.field({ type: Queue, description: 'The queue.', resolve: ({ queue }) => queue }),
      signingSecret: t.exposeString('signingSecret', {
        description: 'The signing secret of the queue. No later response contains it.',
      }),
    }),
  });

const DeleteQueuePayload = builder.objectRef<{ id: string }>('DeleteQueuePayload').implement({
  description: 'The queue that was deleted.',
  fields: (t) => ({ id: t.exposeID('id', { description: 'Id of the queue.' }) }),
});

const RotateSigningSecretPayload = builder
  .objectRef<{ queue: QueueRow; signingSecret: string; takesOverAt: Date }>('RotateSigningSecretPayload')
  .implement({
    description: 'The next signing secret of a queue.',
    fields: (t) => ({
      queue: t.field({ type: Queue, description: 'The queue.', resolve: ({ queue }) => queue }),
      signingSecret: t.exposeString('signingSecret', {
        description: 'The next signing secret. No later response contains it.',
      }),
      takesOverAt: t.expose('takesOverAt', {
        type: 'DateTime',
        description:
          'Time at which the next secret replaces the present one. Until then, the next secret signs only an extra header, which has the name of the signature header with `-next` appended.',
      }),
    }),
  });

const PurgeQueuePayload = builder.objectRef<BulkActionResult>('PurgeQueuePayload').implement({
  description: 'The bulk action that purges the queue, or the count of a dry run.',
  fields: (t) => ({
    matched: t.int({ description: 'Number of pending jobs that matched.', resolve: matchedOf }),
    action: t.prismaField({
      type: BulkAction,
      nullable: true,
      description: 'The bulk action, which can be watched, paused and cancelled; null for a dry run.',
      resolve: actionOf,
    }),
  }),
});

builder.mutationFields((t) => ({
  createQueue: t.field({
    type: CreateQueuePayload,
    description: 'Creates a queue.',
    errors: { types: [ValidationError, ForbiddenError] },
    args: { input: t.arg({ type: CreateQueueInput, required: true, description: 'Settings of the queue.' }) },
    resolve: (_root, { input }, context) =>
      refusing(async () => {
        const { signingSecret, tags, copyOf, ...settings } = withoutNulls(input, ['rateLimitMax']);
        const beside = withoutNulls({ signingSecret, tags, copyOf });
        const body = { ...checked(contract.queues.create.body, settings), ...beside } as CreateQueue;
        const created = await context.services.queues.create(context.account, body);
        return { ...(await queueAfter(context, created.id)), signingSecret: created.signingSecret };
      }),
  }),
  updateQueue: t.field({
    type: QueuePayload,
    description: 'Changes settings of a queue.',
    errors: { types: [ValidationError, ForbiddenError, NotFoundError] },
    args: {
      id: t.arg.id({ required: true, description: 'Id of the queue.' }),
      input: t.arg({ type: UpdateQueueInput, required: true, description: 'The settings to change.' }),
    },
    resolve: (_root, { id, input }, context) =>
      refusing(async () => {
        const { tags, ...settings } = withoutNulls(input, ['rateLimitMax']);
        const body = checked(contract.queues.update.body, settings);
        await context.services.queues.update(context.account, idOf(id, 'queue'), { ...body, tags: tags ?? undefined });
        return queueAfter(context, id);
      }),
  }),
  deleteQueue: t.field({
    type: DeleteQueuePayload,
    description: 'Deletes a queue. Its pending jobs die, its dead letters are removed, and its name is free at once.',
    errors: { types: [NotFoundError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the queue.' }) },
    resolve: (_root, { id }, { services, account }) =>
      refusing(async () => {
        await services.queues.delete(account, idOf(id, 'queue'));
        return { id };
      }),
  }),
  pauseQueue: t.field({
    type: QueuePayload,
    description:
      'Pauses a queue: no job is claimed until it resumes. Jobs can still be published, and none is dropped.',
    errors: { types: [NotFoundError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the queue.' }) },
    resolve: (_root, { id }, context) =>
      refusing(async () => {
        await context.services.queues.pause(context.account, idOf(id, 'queue'));
        return queueAfter(context, id);
      }),
  }),
  resumeQueue: t.field({
    type: QueuePayload,
    description: 'Ends the pause of a queue.',
    errors: { types: [NotFoundError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the queue.' }) },
    resolve: (_root, { id }, context) =>
      refusing(async () => {
        await context.services.queues.resume(context.account, idOf(id, 'queue'));
        return queueAfter(context, id);
      }),
  }),
  endHold: t.field({
    type: QueuePayload,
    description:
      'Ends the hold of a queue. Up to 1000 of its jobs that wait for the end of a hold become due, including the job whose defer caused the hold. An open breaker stays open: one job probes the receiver now, and the other jobs wait for its answer. To deliver all jobs, remove the breaker.',
    errors: { types: [NotFoundError] },
    args: { queueId: t.arg.id({ required: true, description: 'Id of the queue.' }) },
    resolve: (_root, { queueId: id }, context) =>
      refusing(async () => {
        await context.services.queues.endHold(context.account, idOf(id, 'queue'));
        return queueAfter(context, id);
      }),
  }),
  purgeQueue: t.field({
    type: PurgeQueuePayload,
    complexity: PRICE.bulk,
    description: 'Starts a bulk action that cancels every pending job of a queue that was published before now.',
    errors: { types: [NotFoundError, InvalidRequestError] },
    args: {
      id: t.arg.id({ required: true, description: 'Id of the queue.' }),
      dryRun: t.arg.boolean({ required: true, defaultValue: false, description: 'True: only count the pending jobs.' }),
    },
    resolve: (_root, { id, dryRun }, { services, account }) =>
      refusing(async (): Promise<BulkActionResult> => {
        const queueId = idOf(id, 'queue');
        if (dryRun) return { matched: await services.bulk.countPurge(account, queueId), actionId: null };
        return { matched: null, actionId: await services.bulk.startPurge(account, queueId) };
      }),
  }),
  setPayloadEncryption: t.field({
    type: QueuePayload,
    description:
      'Sets whether payloads of jobs published from now on, and the answers of their webhook, are stored encrypted. Existing jobs do not change.',
    errors: { types: [NotFoundError, InvalidRequestError] },
    args: {
      queueId: t.arg.id({ required: true, description: 'Id of the queue.' }),
      enabled: t.arg.boolean({
        required: true,
        description: 'Whether to encrypt. True is refused if the service has no `ENCRYPTION_KEY`.',
      }),
    },
    resolve: (_root, { queueId: id, enabled }, context) =>
      refusing(async () => {
        await context.services.queues.setPayloadEncryption(context.account, idOf(id, 'queue'), enabled);
        return queueAfter(context, id);
      }),
  }),
  setStandardWebhooks: t.field({
    type: QueuePayload,
    description:
      'Sets whether deliveries also have the headers of Standard Webhooks: `webhook-id` (the id of the job), `webhook-timestamp` and `webhook-signature`. All workers follow within 2 s. The signature header of the contract does not change.',
    errors: { types: [NotFoundError, InvalidRequestError] },
    args: {
      queueId: t.arg.id({ required: true, description: 'Id of the queue.' }),
      enabled: t.arg.boolean({
        required: true,
        description:
          'Whether to add the headers. True is refused if a signing secret of the queue is not base64. The secrets that Jobferry makes are.',
      }),
    },
    resolve: (_root, { queueId: id, enabled }, context) =>
      refusing(async () => {
        await context.services.queues.setStandardWebhooks(context.account, idOf(id, 'queue'), enabled);
        return queueAfter(context, id);
      }),
  }),
  markProduction: t.field({
    type: QueuePayload,
    description:
      'Sets whether the queue is marked as production. A tunnel takes the deliveries of such a queue only if it is forced.',
    errors: { types: [NotFoundError] },
    args: {
      queueId: t.arg.id({ required: true, description: 'Id of the queue.' }),
      production: t.arg.boolean({ required: true, description: 'Whether it is for production.' }),
    },
    resolve: (_root, { queueId: id, production }, context) =>
      refusing(async () => {
        await context.services.queues.markProduction(context.account, idOf(id, 'queue'), production);
        return queueAfter(context, id);
      }),
  }),
  rotateSigningSecret: t.field({
    type: RotateSigningSecretPayload,
    description:
      'Creates a new signing secret. During the overlap, the present secret signs the usual header, and the new secret signs an extra header.',
    errors: { types: [ValidationError, NotFoundError, ConflictError] },
    args: {
      queueId: t.arg.id({ required: true, description: 'Id of the queue.' }),
      overlapSeconds: t.arg.float({
        required: true,
        defaultValue: 86_400,
        description:
          'Length of the overlap in seconds, 0 to 604800. 0 replaces the secret at once, and ends another rotation that is in progress.',
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
    description:
      'Ends a rotation: the next signing secret takes over now. Changes nothing if no rotation is in progress.',
    errors: { types: [NotFoundError] },
    args: { queueId: t.arg.id({ required: true, description: 'Id of the queue.' }) },
    resolve: (_root, { queueId: id }, context) =>
      refusing(async () => {
        await context.services.queues.finishSecretRotation(context.account, idOf(id, 'queue'));
        return queueAfter(context, id);
      }),
  }),
}));
