import { initContract } from '@ts-rest/core';
import { z } from 'zod';
import { LIMITS } from '../domain/queue.ts';
import {
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
import { idempotencyKeyFilter, listQuery } from './list-query.ts';
import { type JsonObject, VerbatimJson } from './verbatim-json.ts';

const c = initContract();

/** An object for whoever publishes; the shell has put its source text in place by now (D26). */
const payloadIn = z.unknown().transform((value, context): string => {
  if (value instanceof VerbatimJson) return value.text;
  const message = value === undefined ? 'Required' : 'must be a JSON object';
  context.addIssue({ code: z.ZodIssueCode.custom, message });
  return z.NEVER;
}) as z.ZodType<string, z.ZodTypeDef, JsonObject>;

const publishBody = z.object({
  payload: payloadIn,
  idempotencyKey: storableText({ min: 1, max: LIMITS.idempotencyKeyLength }).optional(),
  delay: numberWithin(LIMITS.publishDelay).optional(),
});

const reason = storableText({ min: 0, max: LIMITS.reasonLength }).optional();
const nackBody = z.object({ retryable: z.boolean().default(true), reason });
const deferBody = z.object({
  retryAfter: z.number().finite().min(0),
  scope: z.enum(['queue', 'job']).default('queue'),
  reason,
});

/** Spec "Job". */
const job = z.object({
  id,
  queue: z.string(),
  status: jobStatus,
  attempts: z.number(),
  maxAttempts: z.number(),
  deferCount: z.number(),
  idempotencyKey: z.string().nullable(),
  payload: payloadOut,
  scheduledFor: timestamp,
  lastError: z.string().nullable(),
  history: z.array(historyEntry),
  createdAt: timestamp,
  completedAt: timestamp.nullable(),
});

const jobPage = z.object({
  jobs: z.array(job),
  total: z.number(),
  page: z.number(),
  limit: z.number(),
  appliedFrom: timestamp,
});

const pathParams = z.object({ id: idParam('job') });

export const jobs = c.router({
  publish: {
    method: 'POST',
    path: '/queues/:queueName/jobs',
    pathParams: z.object({
      queueName: z
        .string()
        .max(LIMITS.queueNameLength, 'queue not found')
        .regex(LIMITS.queueNamePattern, 'queue not found'),
    }),
    body: publishBody,
    metadata: { body: 'payload', errors: 'fields' } satisfies RouteMetadata,
    responses: {
      200: publishedJob,
      201: publishedJob,
      400: errorFields,
      402: errorMessage,
      404: errorMessage,
    },
    summary: 'Publish a job; 200 when the idempotency key matches an earlier one',
  },
  list: {
    method: 'GET',
    path: '/queues/:id/jobs',
    pathParams: z.object({ id: idParam('queue') }),
    query: listQuery.extend({
      status: jobStatus.optional(),
      idempotencyKey: idempotencyKeyFilter.optional(),
    }),
    responses: { 200: jobPage, 404: errorMessage },
    summary: 'List the jobs of a queue, newest first',
  },
  get: {
    method: 'GET',
    path: '/jobs/:id',
    pathParams,
    responses: { 200: job, 404: errorMessage },
    summary: 'Get a job',
  },
  ack: {
    method: 'POST',
    path: '/jobs/:id/ack',
    pathParams,
    body: c.noBody(),
    metadata: { body: 'ignored', errors: 'message' } satisfies RouteMetadata,
    responses: { 200: job, 404: errorMessage },
    summary: 'Report success of a job that is awaiting it',
  },
  nack: {
    method: 'POST',
    path: '/jobs/:id/nack',
    pathParams,
    body: nackBody,
    metadata: { body: 'optional', errors: 'message' } satisfies RouteMetadata,
    responses: { 200: job, 404: errorMessage },
    summary: 'Report failure of a job that is awaiting it',
  },
  defer: {
    method: 'POST',
    path: '/jobs/:id/defer',
    pathParams,
    body: deferBody,
    metadata: { body: 'required', errors: 'message' } satisfies RouteMetadata,
    responses: { 200: job, 404: errorMessage },
    summary: 'Report backpressure: hold the job, or its whole queue',
  },
});
