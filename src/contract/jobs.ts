import { initContract } from '@ts-rest/core';
import { z } from 'zod';
import { LIMITS } from '../domain/queue.ts';
import {
  count,
  errorFields,
  errorMessage,
  GIVEN,
  historyEntry,
  id,
  idParam,
  jobStatus,
  oneOf,
  payloadOut,
  publishedJob,
  type RouteMetadata,
  secondsWithin,
  storableText,
  timestamp,
} from './common.ts';
import { answer, named, onWire } from './documentation.ts';
import { lean } from './lean.ts';
import { idempotencyKeyFilter, listQuery } from './list-query.ts';
import { type JsonObject, VerbatimJson } from './verbatim-json.ts';

const c = initContract();

/** Clients publish an object. The HTTP shell has replaced it by its source text before this check (D26). */
const payloadIn = onWire(
  lean(
    z.unknown().transform((value, context): string => {
      if (value instanceof VerbatimJson) return value.text;
      const message = value === undefined ? GIVEN.required_error : 'must be a JSON object';
      context.addIssue({ code: z.ZodIssueCode.custom, message });
      return z.NEVER;
    }),
  ) as z.ZodType<string, z.ZodTypeDef, JsonObject>,
  {
    type: 'object',
    additionalProperties: true,
    description: `Any JSON object, at most ${LIMITS.payloadDepth} levels deep. It is delivered byte for byte and not inspected.`,
  },
);

const publishBody = named(
  'Publish',
  'A job to deliver.',
  z.object({
    payload: payloadIn,
    idempotencyKey: storableText({ min: 1, max: LIMITS.idempotencyKeyLength })
      .describe(
        'Idempotency key. A second publish with this key to the same queue within the retention, by default 72 hours, ' +
          'creates no job and returns the earlier one.',
      )
      .optional(),
    delay: secondsWithin(LIMITS.publishDelay).describe('Time until the first delivery, in seconds.').optional(),
  }),
);

const reason = storableText({ min: 0, max: LIMITS.reasonLength })
  .describe("Reason of the report, stored in the job's history and as its `lastError`.")
  .optional();

const attempt = z
  .number()
  .int()
  .min(1)
  .describe(
    'The `attempt` of the delivery. The report is refused if another attempt is in progress. Without it, the report ' +
      'applies to the present attempt.',
  )
  .optional();

const ackBody = named('Ack', 'A report of success.', z.object({ attempt }));

const nackBody = named(
  'Nack',
  'A report of failure.',
  z.object({
    retryable: z
      .boolean()
      .describe('`true`: a failed attempt; the job is retried after the back-off. `false`: the job is dead at once.')
      .default(true),
    reason,
    attempt,
  }),
);

const deferBody = named(
  'Defer',
  'A report of backpressure.',
  z.object({
    retryAfter: z.number(GIVEN).finite().min(0).describe('Length of the hold, in seconds.'),
    scope: oneOf(['queue', 'job'])
      .describe(
        '`queue`: no job of the queue is delivered during the hold. Then one job is released as a probe, and if it ' +
          'succeeds, the queue resumes. `job`: only this job is held.',
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
    id: id.describe('Id of the job, for the paths of `/v1/jobs`.'),
    queue: z.string().describe('Name of the queue.'),
    status: jobStatus,
    attempts: count.describe('Number of deliveries that started and did not end in a hold.'),
    maxAttempts: z
      .number()
      .int()
      .min(1)
      .describe('Number of attempts after which the job is dead; copied from the queue at publish.'),
    deferCount: count.describe('Number of holds so far. Holds never count as attempts.'),
    idempotencyKey: z.string().nullable().describe('The idempotency key given at publish; null if none was given.'),
    payload: payloadOut,
    scheduledFor: timestamp.describe(
      'Time at which the next delivery may start; after the last delivery, the time at which that one could start.',
    ),
    lastError: z
      .string()
      .nullable()
      .describe('The last error, or the reason why the job is dead; null if there was no error.'),
    history: z.array(historyEntry).describe('One entry for each ended attempt, oldest first.'),
    createdAt: timestamp.describe('Time at which the job was published.'),
    completedAt: timestamp
      .nullable()
      .describe('Time at which the job was completed; null before that, and if the job is dead.'),
  }),
);

const jobPage = named(
  'JobPage',
  'A page of jobs, newest first.',
  z.object({
    jobs: z.array(job).describe('The jobs on this page.'),
    total: count.describe(
      'Number of jobs on all pages. With `status`, it is exact up to some ten million. With `idempotencyKey`, it is a ' +
        'lower bound if counting would take more than a few seconds.',
    ),
    page: z.number().int().min(1).describe('Number of this page, starting at 1.'),
    limit: z.number().int().min(1).describe('Maximum number of jobs on a page.'),
    appliedFrom: timestamp.describe('The lower bound of `createdAt` that was applied.'),
  }),
);

const pathParams = z.object({ id: idParam('job') });
const unknownJob = answer(errorMessage, 'There is no such job, or it is past its retention (by default 72 hours).');

/** Answers of ack, nack and defer. */
const reported = {
  200: answer(job, 'The job after the report.'),
  400: answer(
    errorMessage,
    'The body is not valid, the job is not `awaiting_ack`, its queue is not in ack mode, or another attempt is in ' +
      'progress.',
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
      200: answer(
        publishedJob,
        'The earlier job with this idempotency key, in any status. No job was created. If its payload is another one, the ' +
          'header `x-jobferry-payload` is `differs`.',
      ),
      201: answer(publishedJob, 'The new job. It is stored, and will be delivered or become `dead`.'),
      400: answer(errorFields, 'The body is not valid.'),
      402: answer(errorMessage, "The plan's attempts of this month are used up."),
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
    description: 'Returns the newest first.',
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
    metadata: { body: 'lenient', errors: 'message' } satisfies RouteMetadata,
    responses: reported,
    summary: 'Report success',
    description: 'The job must be `awaiting_ack`, and its queue in ack mode. The job becomes `completed`.',
  },
  nack: {
    method: 'POST',
    path: '/jobs/:id/nack',
    pathParams,
    body: nackBody,
    metadata: { body: 'optional', errors: 'message' } satisfies RouteMetadata,
    responses: reported,
    summary: 'Report failure',
    description: 'The job must be `awaiting_ack`, and its queue in ack mode. Without a body, the job is retried.',
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
      'The job must be `awaiting_ack`, and its queue in ack mode. The job is held. It is dead instead if its holds are ' +
      'used up, or if the hold would end after its delivery lifetime (by default 24 hours). A defer uses no attempt.',
  },
});
