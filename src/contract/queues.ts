import { initContract } from '@ts-rest/core';
import { z } from 'zod';
import { LIMITS, QUEUE_DEFAULTS } from '../domain/queue.ts';
import { parseWebhookUrl } from '../domain/webhook-url.ts';
import {
  errorFields,
  errorMessage,
  exactOptional,
  GIVEN,
  id,
  idParam,
  type RouteMetadata,
  timestamp,
} from './common.ts';
import { answer, named, onWire } from './documentation.ts';
import { lean } from './lean.ts';
import { settingSchemas } from './settings.ts';

const c = initContract();

const QUEUE_NAME = `must be 1 to ${LIMITS.queueNameLength} of a-z, 0-9, - and _`;

/** The pattern refuses the empty name; a minimum length as well would report it twice. */
function queueName(description: string) {
  const name = z.string(GIVEN).max(LIMITS.queueNameLength).regex(LIMITS.queueNamePattern, QUEUE_NAME);
  return onWire(name, { minLength: 1, description });
}

/** Stored in the parsed form, so that deliveries go to the URL that was checked (docs/invariants.md). */
const webhookUrl = onWire(
  lean(
    z.string(GIVEN).transform((text, context) => {
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
      'URL to which jobs are delivered: absolute, `http` or `https`, without user name and password. Every delivery ' +
      'checks whether its address is allowed.',
  },
);

/** Documents the defaults without applying them: a template may set others, so the services apply them. */
function documentDefaults<Shape extends z.ZodRawShape>(shape: Shape, defaults: Readonly<Record<string, unknown>>) {
  const fields = Object.entries(shape).map(([name, field]) => [name, onWire(field, { default: defaults[name] })]);
  return Object.fromEntries(fields) as Shape;
}

const createBody = exactOptional(
  named(
    'QueueCreate',
    'A new queue. Defaults and values of the template that are above a ceiling of the plan are lowered to it.',
    z.object({
      name: queueName(
        'Name of the queue, for the path of publish. It cannot be changed, and is free again when the queue is deleted.',
      ),
      webhookUrl,
      ...documentDefaults(settingSchemas.partial().shape, { ...QUEUE_DEFAULTS }),
      /** The names are configuration (D28), so the services check this one. */
      template: z
        .string()
        .describe('Name of a template, whose values replace the defaults of fields that are not given.')
        .optional(),
    }),
  ),
);

const updateBody = exactOptional(
  named(
    'QueueUpdate',
    'The fields to change. Missing fields keep their values.',
    settingSchemas.partial().extend({
      webhookUrl: webhookUrl.optional(),
      /** Only the present name is accepted; the services check it (D24). */
      name: queueName('The present name of the queue. Another name is refused: queues cannot be renamed.').optional(),
      template: onWire(z.undefined({ invalid_type_error: 'is only accepted when a queue is created' }).optional(), {
        nullable: false,
        not: {},
        description: 'Refused: a template is only accepted when a queue is created.',
      }),
    }),
  ),
);

const shownQueue = z.object({
  id: id.describe('Id of the queue, for the paths of `/v1/queues`.'),
  name: z.string().describe('Name of the queue, for the path of publish.'),
  webhookUrl: onWire(z.string(), { format: 'uri', description: 'URL to which jobs are delivered.' }),
  ...settingSchemas.shape,
  createdAt: timestamp.describe('Time at which the queue was created.'),
});

const queue = named('Queue', 'A queue, without its signing secret.', shownQueue);

const createdQueue = named(
  'CreatedQueue',
  'A queue with its signing secret, which no later answer contains.',
  shownQueue.extend({
    signingSecret: z.string().describe('Key of the signatures of deliveries. Store it: no later answer contains it.'),
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
      400: answer(errorFields, 'The body is not valid, or a live queue already has this name.'),
      403: answer(
        errorMessage,
        "The queue would exceed the plan's ceiling of `maxAttempts` or `maxDefers`, its number of queues, or the limit " +
          "of the account's sum of `concurrency`; or the operator has suspended the account, or the API " +
          'key is limited and has no right to this.',
      ),
    },
    summary: 'Create a queue',
    description: 'This is the only operation whose answer contains the `signingSecret`.',
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
        "The change would exceed the plan's ceiling of `maxAttempts` or `maxDefers`, or the limit of the account's sum " +
          'of `concurrency`; or the API key is limited and has no right to this.',
      ),
      404: unknownQueue,
    },
    summary: 'Change a queue',
    description:
      '`webhookUrl`, `mode`, `ackTimeout`, `ackTimeoutAction` and `dlqEnabled` apply from the next delivery. ' +
      '`concurrency` and the rate limit apply when the jobs in flight have finished. `maxAttempts` and the back-off apply ' +
      'to jobs that are published afterwards.',
  },
  delete: {
    method: 'DELETE',
    path: '/queues/:id',
    pathParams,
    responses: { 204: c.noBody(), 404: unknownQueue },
    summary: 'Delete a queue',
    description:
      'The queue accepts no more jobs, and its name is free at once. Undelivered jobs become `dead`, and the dead letters ' +
      'of the queue are removed. Its jobs can still be retrieved by id until they are past retention.',
  },
});
