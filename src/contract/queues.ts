import { initContract } from '@ts-rest/core';
import { z } from 'zod';
import { ACK_TIMEOUT_ACTIONS, BACKOFF_TYPES, LIMITS, QUEUE_DEFAULTS, QUEUE_MODES } from '../domain/queue.ts';
import { parseWebhookUrl } from '../domain/webhook-url.ts';
import {
  errorFields,
  errorMessage,
  exactOptional,
  id,
  idParam,
  integerWithin,
  numberWithin,
  type RouteMetadata,
  timestamp,
} from './common.ts';
import { answer, named, onWire } from './documentation.ts';
import { lean } from './lean.ts';

const c = initContract();

const QUEUE_NAME = `must be 1 to ${LIMITS.queueNameLength} of a-z, 0-9, - and _`;

/** The pattern refuses the empty name; a minimum length would say the same a second time. */
function queueName(description: string) {
  const name = z.string().max(LIMITS.queueNameLength).regex(LIMITS.queueNamePattern, QUEUE_NAME);
  return onWire(name, { minLength: 1, description });
}

/** Stored in the parsed form, so that what is called is what was judged (docs/invariants.md). */
const webhookUrl = onWire(
  lean(
    z.string().transform((text, context) => {
      const url = parseWebhookUrl(text);
      if (url.ok) return url.href;
      context.addIssue({ code: z.ZodIssueCode.custom, message: url.message });
      return z.NEVER;
    }),
  ),
  {
    format: 'uri',
    maxLength: LIMITS.webhookUrlLength,
    description:
      'Where jobs are delivered: an absolute `http` or `https` URL without user name and password. Whether its address ' +
      'may be reached is judged at every delivery.',
  },
);

/** Spec "Queue": what create and update share. */
const settings = z.object({
  maxAttempts: integerWithin(LIMITS.maxAttempts).describe(
    'Attempts that may fail before a job is dead. Holds do not count. Jobs keep the value they were published with.',
  ),
  maxDefers: integerWithin(LIMITS.maxDefers).describe('Holds a job may go through before it is dead.'),
  concurrency: integerWithin(LIMITS.concurrency).describe(
    `Jobs \`processing\` or \`awaiting_ack\` at the same time. At most ${LIMITS.accountConcurrency} over all queues of an account.`,
  ),
  dlqEnabled: z.boolean().describe('Whether a dead job leaves a dead letter.'),
  mode: z
    .enum(QUEUE_MODES)
    .describe(
      '`standard`: a 2xx answer of the webhook completes a job. `ack`: it confirms receipt, and the outcome is reported ' +
        'by ack, nack or defer.',
    ),
  rateLimitMax: integerWithin(LIMITS.rateLimitMax)
    .nullable()
    .describe('Deliveries in one fixed window of `rateLimitWindow`, retries too. Null: no limit.'),
  rateLimitWindow: numberWithin(LIMITS.rateLimitWindow).describe('Seconds.'),
  ackTimeout: numberWithin(LIMITS.ackTimeout).describe('Seconds that a job may be `awaiting_ack`. For ack mode.'),
  ackTimeoutAction: z
    .enum(ACK_TIMEOUT_ACTIONS)
    .describe('What happens after `ackTimeout`: `retry` counts as a failed attempt, `dead` ends the job.'),
  backoffType: z
    .enum(BACKOFF_TYPES)
    .describe(
      'How long a retry waits. `fixed`: `backoffDelay`. `exponential`: that doubled with every failure, up to an hour. ' +
        'Up to 10 % is added. Jobs keep the value they were published with.',
    ),
  backoffDelay: numberWithin(LIMITS.backoffDelay).describe('Seconds before the first retry.'),
});

/** Documented and not applied: a template may set others, and that is decided by the services. */
function documentDefaults<Shape extends z.ZodRawShape>(shape: Shape, defaults: Readonly<Record<string, unknown>>) {
  const fields = Object.entries(shape).map(([name, field]) => [name, onWire(field, { default: defaults[name] })]);
  return Object.fromEntries(fields) as Shape;
}

const createBody = exactOptional(
  named(
    'QueueCreate',
    'A new queue. A default, or a value of the template, that is above a ceiling of the plan is lowered to it.',
    z.object({
      name: queueName('Used in the path of publish. Cannot be changed; free again when the queue is deleted.'),
      webhookUrl,
      ...documentDefaults(settings.partial().shape, { ...QUEUE_DEFAULTS }),
      /** The names are configuration (D28), so the services judge this one. */
      template: z.string().describe('Other defaults for the fields above; those that are given win.').optional(),
    }),
  ),
);

const updateBody = exactOptional(
  named(
    'QueueUpdate',
    'The fields to change; what is missing stays as it is.',
    settings.partial().extend({
      webhookUrl: webhookUrl.optional(),
      /** Only the present name is accepted; the services know it (D24). */
      name: queueName('Only accepted when it is the present name: queues cannot be renamed.').optional(),
      template: onWire(z.undefined({ invalid_type_error: 'is only accepted when a queue is created' }).optional(), {
        nullable: false,
        not: {},
        description: 'Only accepted when a queue is created.',
      }),
    }),
  ),
);

const shownQueue = z.object({
  id: id.describe('Use it in the paths of `/v1/queues`.'),
  name: z.string().describe('Use it in the path of publish.'),
  webhookUrl: onWire(z.string(), { format: 'uri', description: 'Where jobs are delivered.' }),
  ...settings.shape,
  createdAt: timestamp.describe('When the queue was created.'),
});

const queue = named('Queue', 'A queue, without its signing secret.', shownQueue);

const createdQueue = named(
  'CreatedQueue',
  'A queue with its signing secret, which no later answer shows.',
  shownQueue.extend({
    signingSecret: z.string().describe('Key of the signatures of deliveries. Keep it: it is not shown again.'),
  }),
);

const pathParams = z.object({ id: idParam('queue') });
const metadata = { body: 'required', errors: 'fields' } satisfies RouteMetadata;
const unknownQueue = answer(errorMessage, 'There is no such queue.');

export const queues = c.router({
  list: {
    method: 'GET',
    path: '/queues',
    responses: { 200: answer(z.array(queue), 'All queues of the account.') },
    summary: 'List queues',
  },
  create: {
    method: 'POST',
    path: '/queues',
    body: createBody,
    metadata,
    responses: {
      201: answer(createdQueue, 'The new queue, with its signing secret.'),
      400: answer(errorFields, 'The body is not valid, or a queue has this name already.'),
      403: answer(
        errorMessage,
        "The plan's ceiling of `maxAttempts` or `maxDefers`, its number of queues, or the account's sum of " +
          '`concurrency` would be exceeded.',
      ),
    },
    summary: 'Create a queue',
    description: 'The only answer that shows the `signingSecret`.',
  },
  get: {
    method: 'GET',
    path: '/queues/:id',
    pathParams,
    responses: { 200: answer(queue, 'The queue.'), 404: unknownQueue },
    summary: 'Get a queue',
  },
  update: {
    method: 'PUT',
    path: '/queues/:id',
    pathParams,
    body: updateBody,
    metadata,
    responses: {
      200: answer(queue, 'The queue as it is now.'),
      400: answer(errorFields, 'The body is not valid.'),
      403: answer(
        errorMessage,
        "The plan's ceiling of `maxAttempts` or `maxDefers`, or the account's sum of `concurrency`, would be exceeded.",
      ),
      404: unknownQueue,
    },
    summary: 'Change a queue',
    description:
      '`webhookUrl`, `mode`, `ackTimeout`, `ackTimeoutAction` and `dlqEnabled` apply from the next delivery. ' +
      '`concurrency` and the rate limit apply when the jobs under way have finished. `maxAttempts` and the backoff apply ' +
      'to jobs published from then on.',
  },
  delete: {
    method: 'DELETE',
    path: '/queues/:id',
    pathParams,
    responses: { 204: c.noBody(), 404: unknownQueue },
    summary: 'Delete a queue',
    description:
      'It takes no more jobs and its name is free at once. Jobs that were not delivered become `dead`, its dead letters ' +
      'go, and jobs stay retrievable by their id.',
  },
});
