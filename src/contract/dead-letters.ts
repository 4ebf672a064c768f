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
import { lean, shortArray } from './lean.ts';
import { includeReplayed, listQuery } from './list-query.ts';

const c = initContract();

/** Spec "DLQ entry". */
const deadLetter = named(
  'DeadLetter',
  'The record of a job that died on a queue with `dlqEnabled`. It can be replayed once.',
  z.object({
    id: id.describe('Id of the dead letter, used to replay it. It is not the id of the job.'),
    originalJobId: id.describe('Id of the job that died.'),
    queue: z.string().describe('Name of the queue.'),
    payload: payloadOut,
    history: z.array(historyEntry).describe('History of the job that died, oldest entry first.'),
    deadAt: timestamp.describe('Time at which the job died.'),
    replayedAt: timestamp.nullable().describe('Time of the replay; null if the dead letter was not replayed.'),
    replayedJobId: id.nullable().describe('Id of the job that the replay created; null if there was no replay.'),
  }),
);

const deadLetterPage = named(
  'DeadLetterPage',
  'A page of dead letters; the most recently dead first.',
  z.object({
    jobs: z.array(deadLetter).describe('The dead letters on this page.'),
    total: count.describe('Number of dead letters on all pages.'),
    page: z.number().int().min(1).describe('Number of this page, starting at 1.'),
    limit: z.number().int().min(1).describe('Maximum number of dead letters on a page.'),
  }),
);

/** Either ids or all. A body with both, or with neither, is probably a mistake, so it is refused. */
const replayBody = named(
  'BulkReplay',
  'The dead letters to replay: either `jobIds` or `all`.',
  onWire(
    lean(
      z
        .object({
          jobIds: shortArray(z.string(), { min: 1, max: LIMITS.bulkReplay })
            .describe('Ids of the dead letters. A repeated id counts once.')
            .optional(),
          all: z
            .literal(true)
            .describe(`Replays the ${LIMITS.bulkReplay} oldest dead letters that were not replayed.`)
            .optional(),
        })
        .refine((body) => (body.jobIds === undefined) !== (body.all === undefined), {
          message: 'give either jobIds or all: true',
        }),
    ),
    { oneOf: [{ required: ['jobIds'] }, { required: ['all'] }] },
  ),
);

/** The spec does not define this shape (D19). */
const replayResult = named(
  'BulkReplayResult',
  'The result of a bulk replay.',
  z.object({
    replayed: count.describe('Number of dead letters that were replayed.'),
    skipped: count.describe('Number of ids that were skipped; `errors` has the reasons.'),
    jobs: z
      .array(
        z.object({
          id: id.describe('Id of the dead letter.'),
          replayedJobId: id.describe('Id of the job that the replay created.'),
        }),
      )
      .describe('The dead letters that were replayed.'),
    errors: z
      .array(
        z.object({
          id: z.string().describe('The id as given in the request.'),
          error: z.string().describe('Reason why the id was skipped, for people.'),
        }),
      )
      .describe('The ids that were skipped.'),
    remaining: count.describe('Number of dead letters of the queue that are not yet replayed.'),
  }),
);

const pathParams = z.object({ id: idParam('queue') });

const refusals = {
  402: answer(errorMessage, "The plan's attempts of this month are used up. A replay is a new job, so it is refused."),
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
    description: 'Returns the most recently dead first.',
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
      409: answer(errorMessage, 'The dead letter has already been replayed.'),
    },
    summary: 'Replay one dead letter',
    description:
      "Creates a new job with the payload of the dead letter, no idempotency key, and the queue's present settings.",
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
      200: answer(replayResult, 'The replayed dead letters, and the skipped ids.'),
      400: answer(errorMessage, 'The body is not valid.'),
    },
    summary: 'Replay up to 1000 dead letters',
    description: 'Ids that are unknown or were already replayed are skipped; the result has the reasons.',
  },
});
