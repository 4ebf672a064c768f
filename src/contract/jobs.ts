import { initContract } from '@ts-rest/core';
import { z } from 'zod';
import { LIMITS } from '../domain/queue.ts';
import {
  count,
  errorFields,
  errorMessage,
  historyEntry,
  id,
  idParam,
  jobStatus,
  numberWithin,
  payloadOut,
  publishedJob,
  type RouteMetadata,
  storableText,
  timestamp,
} from './common.ts';
import { answer, named, onWire } from './documentation.ts';
import { lean } from './lean.ts';
import { idempotencyKeyFilter, listQuery } from './list-query.ts';
import { type JsonObject, VerbatimJson } from './verbatim-json.ts';

const c = initContract();

/** An object for whoever publishes; the shell has put its source text in place by now (D26). */
const payloadIn = onWire(
  lean(
    z.unknown().transform((value, context): string => {
      if (value instanceof VerbatimJson) return value.text;
      const message = value === undefined ? 'Required' : 'must be a JSON object';
      context.addIssue({ code: z.ZodIssueCode.custom, message });
      return z.NEVER;
    }),
  ) as z.ZodType<string, z.ZodTypeDef, JsonObject>,
  {
    type: 'object',
    additionalProperties: true,
    description: `Any object, at most ${LIMITS.payloadDepth} levels deep. Delivered byte for byte, and not looked into.`,
  },
);

const publishBody = named(
  'Publish',
  'A job to deliver.',
  z.object({
    payload: payloadIn,
    idempotencyKey: storableText({ min: 1, max: LIMITS.idempotencyKeyLength })
      .describe('A second publish with this key on this queue, within 72 hours, creates nothing.')
      .optional(),
    delay: numberWithin(LIMITS.publishDelay).describe('Seconds until the first delivery.').optional(),
  }),
);

const reason = storableText({ min: 0, max: LIMITS.reasonLength })
  .describe("Kept in the job's history and as its `lastError`.")
  .optional();

const attempt = z
  .number()
  .int()
  .min(1)
  .describe(
    "The delivery's `attempt`: the report is refused when another one is under way. Without it the report counts for " +
      'whichever is.',
  )
  .optional();

const ackBody = named('Ack', 'A report of success.', z.object({ attempt }));

const nackBody = named(
  'Nack',
  'A report of failure.',
  z.object({
    retryable: z
      .boolean()
      .describe('`true`: a failed attempt, tried again after the backoff. `false`: dead at once.')
      .default(true),
    reason,
    attempt,
  }),
);

const deferBody = named(
  'Defer',
  'A report of backpressure.',
  z.object({
    retryAfter: z.number().finite().min(0).describe('Seconds until redelivery.'),
    scope: z
      .enum(['queue', 'job'])
      .describe(
        '`queue`: nothing of the queue is delivered until then; one job goes first as a probe, and when that succeeds ' +
          'the others follow. `job`: only this job is held.',
      )
      .default('queue'),
    reason,
    attempt,
  }),
);

/** Spec "Job". */
const job = named(
  'Job',
  'A job with its history.',
  z.object({
    id: id.describe('Use it in the paths of `/v1/jobs`.'),
    queue: z.string().describe('Name of the queue.'),
    status: jobStatus,
    attempts: count.describe('Deliveries that started and were not held.'),
    maxAttempts: z.number().int().min(1).describe("The queue's value when the job was published."),
    deferCount: count.describe('Holds so far. Never counted as attempts.'),
    idempotencyKey: z.string().nullable().describe('As published; null without one.'),
    payload: payloadOut,
    scheduledFor: timestamp.describe('When the job may be delivered next, or was to be.'),
    lastError: z.string().nullable().describe('What went wrong last, or why the job is dead; null when nothing did.'),
    history: z.array(historyEntry).describe('One entry for each attempt that has ended, oldest first.'),
    createdAt: timestamp.describe('When it was published.'),
    completedAt: timestamp.nullable().describe('When it was completed; null until then, and when it is dead.'),
  }),
);

const jobPage = named(
  'JobPage',
  'A page of jobs, newest first.',
  z.object({
    jobs: z.array(job).describe('The jobs on this page.'),
    total: count.describe(
      'Jobs on all pages. With `status` exact up to some ten million; with `idempotencyKey` as far as a few seconds go.',
    ),
    page: z.number().int().min(1).describe('Number of this page.'),
    limit: z.number().int().min(1).describe('Entries on a full page.'),
    appliedFrom: timestamp.describe('The lower bound of `createdAt` that was used.'),
  }),
);

const pathParams = z.object({ id: idParam('job') });
const unknownJob = answer(errorMessage, 'There is no such job, or it is past its retention of 72 hours.');

/** What ack, nack and defer answer. */
const reported = {
  200: answer(job, 'The job after the report.'),
  400: answer(
    errorMessage,
    'The body is not valid, the job is not `awaiting_ack`, its queue is not in ack mode, or another attempt is under way.',
  ),
  404: unknownJob,
} as const;

export const jobs = c.router({
  publish: {
    method: 'POST',
    path: '/queues/:queueName/jobs',
    pathParams: z.object({
      queueName: z
        .string()
        .max(LIMITS.queueNameLength, 'queue not found')
        .regex(LIMITS.queueNamePattern, 'queue not found')
        .describe('`name` of the queue.'),
    }),
    body: publishBody,
    metadata: { body: 'payload', errors: 'fields' } satisfies RouteMetadata,
    responses: {
      200: answer(publishedJob, 'The earlier job with this idempotency key, in whatever status. Nothing was created.'),
      201: answer(publishedJob, 'The new job. It is kept: it will be delivered or end as `dead`.'),
      400: answer(errorFields, 'The body is not valid.'),
      402: answer(errorMessage, "The free plan's attempts of this month are used up."),
      404: answer(errorMessage, 'There is no queue of this name.'),
    },
    summary: 'Publish a job',
  },
  list: {
    method: 'GET',
    path: '/queues/:id/jobs',
    pathParams: z.object({ id: idParam('queue') }),
    query: listQuery('createdAt').extend({
      status: jobStatus.describe('Only jobs in this status.').optional(),
      idempotencyKey: idempotencyKeyFilter.optional(),
    }),
    responses: { 200: answer(jobPage, 'The page.'), 404: answer(errorMessage, 'There is no such queue.') },
    summary: 'List the jobs of a queue',
    description: 'Newest first.',
  },
  get: {
    method: 'GET',
    path: '/jobs/:id',
    pathParams,
    responses: { 200: answer(job, 'The job.'), 404: unknownJob },
    summary: 'Get a job',
  },
  ack: {
    method: 'POST',
    path: '/jobs/:id/ack',
    pathParams,
    body: ackBody,
    metadata: { body: 'glanced', errors: 'message' } satisfies RouteMetadata,
    responses: reported,
    summary: 'Report success',
    description: 'The job must be `awaiting_ack`, and its queue in ack mode. It becomes `completed`.',
  },
  nack: {
    method: 'POST',
    path: '/jobs/:id/nack',
    pathParams,
    body: nackBody,
    metadata: { body: 'optional', errors: 'message' } satisfies RouteMetadata,
    responses: reported,
    summary: 'Report failure',
    description: 'The job must be `awaiting_ack`, and its queue in ack mode. Without a body it is retried.',
  },
  defer: {
    method: 'POST',
    path: '/jobs/:id/defer',
    pathParams,
    body: deferBody,
    metadata: { body: 'required', errors: 'message' } satisfies RouteMetadata,
    responses: reported,
    summary: 'Report backpressure',
    description:
      'The job must be `awaiting_ack`, and its queue in ack mode. It is held, or dead when its holds are used up or ' +
      '`retryAfter` leads past its delivery lifetime of 24 hours. Uses no attempt.',
  },
});
