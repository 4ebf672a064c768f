import { initContract } from '@ts-rest/core';
import { z } from 'zod';
import { LIMITS } from '../domain/queue.ts';
import {
  errorMessage,
  historyEntry,
  id,
  idParam,
  payloadOut,
  publishedJob,
  type RouteMetadata,
  timestamp,
} from './common.ts';
import { includeReplayed, listQuery } from './list-query.ts';

const c = initContract();

/** Spec "DLQ entry". */
const deadLetter = z.object({
  id,
  originalJobId: id,
  queue: z.string(),
  payload: payloadOut,
  history: z.array(historyEntry),
  deadAt: timestamp,
  replayedAt: timestamp.nullable(),
  replayedJobId: id.nullable(),
});

const deadLetterPage = z.object({
  jobs: z.array(deadLetter),
  total: z.number(),
  page: z.number(),
  limit: z.number(),
});

/** Either ids or everything; both, or neither, is more likely a mistake than a wish. */
const replayBody = z
  .object({
    jobIds: z.array(z.string()).min(1).max(LIMITS.bulkReplay).optional(),
    all: z.literal(true).optional(),
  })
  .refine((body) => (body.jobIds === undefined) !== (body.all === undefined), {
    message: 'give either jobIds or all: true',
  });

/** Its shape is ours (D19). */
const replayResult = z.object({
  replayed: z.number(),
  skipped: z.number(),
  jobs: z.array(z.object({ id, replayedJobId: id })),
  errors: z.array(z.object({ id: z.string(), error: z.string() })),
  remaining: z.number(),
});

const pathParams = z.object({ id: idParam('queue') });

export const deadLetters = c.router({
  list: {
    method: 'GET',
    path: '/queues/:id/dlq',
    pathParams,
    query: listQuery.extend({ includeReplayed: includeReplayed.optional() }),
    responses: { 200: deadLetterPage, 404: errorMessage, 410: errorMessage },
    summary: 'List the dead letters of a queue, most recently dead first',
  },
  replay: {
    method: 'POST',
    path: '/queues/:id/dlq/:jobId/replay',
    pathParams: pathParams.extend({ jobId: idParam('dead letter') }),
    body: c.noBody(),
    metadata: { body: 'ignored', errors: 'message' } satisfies RouteMetadata,
    responses: {
      201: publishedJob,
      402: errorMessage,
      404: errorMessage,
      409: errorMessage,
      410: errorMessage,
    },
    summary: 'Replay one dead letter as a new job',
  },
  replayMany: {
    method: 'POST',
    path: '/queues/:id/dlq/replay',
    pathParams,
    body: replayBody,
    metadata: { body: 'required', errors: 'message' } satisfies RouteMetadata,
    responses: { 200: replayResult, 402: errorMessage, 404: errorMessage, 410: errorMessage },
    summary: 'Replay up to 1000 dead letters',
  },
});
