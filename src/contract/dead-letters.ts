import { initContract } from '@ts-rest/core';
import { z } from 'zod';
import { LIMITS } from '../domain/queue.ts';
import {
  count,
  errorMessage,
  historyEntry,
  id,
  idParam,
  payloadOut,
  publishedJob,
  type RouteMetadata,
  timestamp,
} from './common.ts';
import { answer, named, onWire } from './documentation.ts';
import { lean } from './lean.ts';
import { includeReplayed, listQuery } from './list-query.ts';

const c = initContract();

/** Spec "DLQ entry". */
const deadLetter = named(
  'DeadLetter',
  'What is left of a job that died on a queue with `dlqEnabled`.',
  z.object({
    id: id.describe('Use it to replay. Not the id of the job.'),
    originalJobId: id.describe('The job that died.'),
    queue: z.string().describe('Name of the queue.'),
    payload: payloadOut,
    history: z.array(historyEntry).describe('Of the job that died, oldest first.'),
    deadAt: timestamp.describe('When the job died.'),
    replayedAt: timestamp.nullable().describe('When it was replayed; null when it was not.'),
    replayedJobId: id.nullable().describe('The job that the replay created; null when there was none.'),
  }),
);

const deadLetterPage = named(
  'DeadLetterPage',
  'A page of dead letters, most recently dead first.',
  z.object({
    jobs: z.array(deadLetter).describe('The dead letters on this page.'),
    total: count.describe('Dead letters on all pages.'),
    page: z.number().int().min(1).describe('Number of this page.'),
    limit: z.number().int().min(1).describe('Entries on a full page.'),
  }),
);

/** Either ids or everything; both, or neither, is more likely a mistake than a wish. */
const replayBody = named(
  'BulkReplay',
  'Either `jobIds` or `all`.',
  onWire(
    lean(
      z
        .object({
          jobIds: z
            .array(z.string())
            .min(1)
            .max(LIMITS.bulkReplay)
            .describe('`id` of each dead letter. One that is given twice counts once.')
            .optional(),
          all: z.literal(true).describe(`The ${LIMITS.bulkReplay} oldest that are not replayed yet.`).optional(),
        })
        .refine((body) => (body.jobIds === undefined) !== (body.all === undefined), {
          message: 'give either jobIds or all: true',
        }),
    ),
    { oneOf: [{ required: ['jobIds'] }, { required: ['all'] }] },
  ),
);

/** Its shape is ours (D19). */
const replayResult = named(
  'BulkReplayResult',
  'What a bulk replay did.',
  z.object({
    replayed: count.describe('Dead letters that were replayed.'),
    skipped: count.describe('Ids that were not; `errors` says why.'),
    jobs: z
      .array(z.object({ id: id.describe('The dead letter.'), replayedJobId: id.describe('The job created from it.') }))
      .describe('Those that were replayed.'),
    errors: z
      .array(
        z.object({
          id: z.string().describe('As it was asked for.'),
          error: z.string().describe('Why it was skipped, for people.'),
        }),
      )
      .describe('Those that were skipped.'),
    remaining: count.describe('Dead letters of the queue that are still not replayed.'),
  }),
);

const pathParams = z.object({ id: idParam('queue') });

const refusals = {
  402: answer(errorMessage, "The free plan's attempts of this month are used up: a replay is a new job."),
  404: answer(errorMessage, 'There is no such queue.'),
  410: answer(errorMessage, 'The queue was deleted, and its dead letters with it.'),
} as const;

export const deadLetters = c.router({
  list: {
    method: 'GET',
    path: '/queues/:id/dlq',
    pathParams,
    query: listQuery('deadAt').extend({ includeReplayed: includeReplayed.optional() }),
    responses: { 200: answer(deadLetterPage, 'The page.'), 404: refusals[404], 410: refusals[410] },
    summary: 'List the dead letters of a queue',
    description: 'Most recently dead first.',
  },
  replay: {
    method: 'POST',
    path: '/queues/:id/dlq/:jobId/replay',
    pathParams: pathParams.extend({ jobId: idParam('dead letter') }),
    body: c.noBody(),
    metadata: { body: 'ignored', errors: 'message' } satisfies RouteMetadata,
    responses: {
      // Not spread: the types of a contract lose the members of a spread.
      201: answer(publishedJob, 'The new job.'),
      402: refusals[402],
      410: refusals[410],
      404: answer(errorMessage, 'There is no such queue, or no such dead letter on it.'),
      409: answer(errorMessage, 'It was replayed before.'),
    },
    summary: 'Replay one dead letter',
    description: "As a new job with the same payload, no idempotency key, and the queue's present settings.",
  },
  replayMany: {
    method: 'POST',
    path: '/queues/:id/dlq/replay',
    pathParams,
    body: replayBody,
    metadata: { body: 'required', errors: 'message' } satisfies RouteMetadata,
    responses: {
      402: refusals[402],
      404: refusals[404],
      410: refusals[410],
      200: answer(replayResult, 'What was replayed, and what was not.'),
      400: answer(errorMessage, 'The body is not valid.'),
    },
    summary: 'Replay up to 1000 dead letters',
    description: 'Ids that are unknown or were replayed before are skipped, with their reason.',
  },
});
