import { initContract } from '@ts-rest/core';
import { z } from 'zod';
import { ACK_TIMEOUT_ACTIONS, BACKOFF_TYPES, LIMITS, QUEUE_MODES } from '../domain/queue.ts';
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

const c = initContract();

export const queueName = z.string().max(LIMITS.queueNameLength).regex(LIMITS.queueNamePattern);

/** Stored in the parsed form, so that what is called is what was judged (reliability.md section 5). */
const webhookUrl = z.string().transform((text, context) => {
  const url = parseWebhookUrl(text);
  if (url.ok) return url.href;
  context.addIssue({ code: z.ZodIssueCode.custom, message: url.message });
  return z.NEVER;
});

/** Spec "Queue". No defaults here: a template may set them, and that is decided by the services. */
const settings = {
  maxAttempts: integerWithin(LIMITS.maxAttempts).optional(),
  maxDefers: integerWithin(LIMITS.maxDefers).optional(),
  concurrency: integerWithin(LIMITS.concurrency).optional(),
  dlqEnabled: z.boolean().optional(),
  mode: z.enum(QUEUE_MODES).optional(),
  rateLimitMax: integerWithin(LIMITS.rateLimitMax).nullable().optional(),
  rateLimitWindow: numberWithin(LIMITS.rateLimitWindow).optional(),
  ackTimeout: numberWithin(LIMITS.ackTimeout).optional(),
  ackTimeoutAction: z.enum(ACK_TIMEOUT_ACTIONS).optional(),
  backoffType: z.enum(BACKOFF_TYPES).optional(),
  backoffDelay: numberWithin(LIMITS.backoffDelay).optional(),
};

const createBody = exactOptional(
  z.object({
    name: queueName,
    webhookUrl,
    ...settings,
    /** The names are configuration (D28), so the services judge this one. */
    template: z.string().optional(),
  }),
);

const updateBody = exactOptional(
  z.object({
    webhookUrl: webhookUrl.optional(),
    ...settings,
    /** Only the present name is accepted; the services know it (D24). */
    name: queueName.optional(),
    template: z.undefined({ invalid_type_error: 'is only accepted when a queue is created' }).optional(),
  }),
);

const queue = z.object({
  id,
  name: z.string(),
  webhookUrl: z.string(),
  maxAttempts: z.number(),
  maxDefers: z.number(),
  concurrency: z.number(),
  dlqEnabled: z.boolean(),
  mode: z.enum(QUEUE_MODES),
  rateLimitMax: z.number().nullable(),
  rateLimitWindow: z.number(),
  ackTimeout: z.number(),
  ackTimeoutAction: z.enum(ACK_TIMEOUT_ACTIONS),
  backoffType: z.enum(BACKOFF_TYPES),
  backoffDelay: z.number(),
  createdAt: timestamp,
});

const createdQueue = queue.extend({ signingSecret: z.string() });

const pathParams = z.object({ id: idParam('queue') });
const metadata = { body: 'required', errors: 'fields' } satisfies RouteMetadata;

export const queues = c.router({
  list: {
    method: 'GET',
    path: '/queues',
    responses: { 200: z.array(queue) },
    summary: 'List queues',
  },
  create: {
    method: 'POST',
    path: '/queues',
    body: createBody,
    metadata,
    responses: { 201: createdQueue, 400: errorFields, 403: errorMessage },
    summary: 'Create a queue; the only answer that shows its signing secret',
  },
  get: {
    method: 'GET',
    path: '/queues/:id',
    pathParams,
    responses: { 200: queue, 404: errorMessage },
    summary: 'Get a queue',
  },
  update: {
    method: 'PUT',
    path: '/queues/:id',
    pathParams,
    body: updateBody,
    metadata,
    responses: { 200: queue, 400: errorFields, 403: errorMessage, 404: errorMessage },
    summary: 'Change some settings of a queue',
  },
  delete: {
    method: 'DELETE',
    path: '/queues/:id',
    pathParams,
    responses: { 204: c.noBody(), 404: errorMessage },
    summary: 'Delete a queue',
  },
});
