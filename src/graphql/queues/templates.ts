import type { QueueTemplate as TemplateShape } from '../../services/queues/manage.ts';
import { builder } from '../builder.ts';
import { AckTimeoutAction, BackoffType, QueueMode } from '../enums.ts';

const QueueTemplate = builder.objectRef<TemplateShape>('QueueTemplate').implement({
  description:
    'The settings that a new queue of the account gets from a template, or from the defaults: those that `createQueue` is not given. Durations are in seconds.',
  fields: (t) => ({
    name: t.exposeString('name', { nullable: true, description: 'Name of the template; null for the defaults.' }),
    maxAttempts: t.exposeInt('maxAttempts', { description: 'Number of attempts after which a job is dead.' }),
    maxDefers: t.exposeInt('maxDefers', { description: 'Maximum number of holds per job.' }),
    concurrency: t.exposeInt('concurrency', { description: 'Maximum number of jobs in flight.' }),
    dlqEnabled: t.exposeBoolean('dlqEnabled', { description: 'Whether a job that dies leaves a dead letter.' }),
    mode: t.field({
      type: QueueMode,
      description: 'Meaning of a 2xx answer of the webhook.',
      resolve: ({ mode }) => mode,
    }),
    rateLimitMax: t.exposeInt('rateLimitMax', {
      nullable: true,
      description: 'Maximum number of deliveries per rate window; null if there is no limit.',
    }),
    rateLimitWindow: t.exposeFloat('rateLimitWindow', { description: 'Length of the rate window in seconds.' }),
    ackTimeout: t.exposeFloat('ackTimeout', {
      description: 'Time in which a worker must report, in seconds; for ack mode.',
    }),
    ackTimeoutAction: t.field({
      type: AckTimeoutAction,
      description: 'Effect on a job when its ack deadline passes without a report.',
      resolve: ({ ackTimeoutAction }) => ackTimeoutAction,
    }),
    backoffType: t.field({
      type: BackoffType,
      description: 'Growth of the back-off from retry to retry.',
      resolve: ({ backoffType }) => backoffType,
    }),
    backoffDelay: t.exposeFloat('backoffDelay', { description: 'Back-off before the first retry, in seconds.' }),
  }),
});

builder.queryFields((t) => ({
  queueTemplates: t.field({
    type: [QueueTemplate],
    description:
      'The defaults and the templates of new queues, with the settings that each gives, lowered to the ceilings of the plan of the account.',
    resolve: (_root, _args, { services, account }) => services.queues.templates(account),
  }),
}));
