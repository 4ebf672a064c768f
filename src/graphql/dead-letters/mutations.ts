import { notFound } from '../../domain/errors.ts';
import { builder } from '../builder.ts';
import { BulkActionPayload, type BulkActionResult } from '../bulk/types.ts';
import type { GraphQLContext } from '../context.ts';
import {
  ConflictError,
  GoneError,
  InvalidRequestError,
  LimitReachedError,
  NotFoundError,
  ValidationError,
} from '../errors.ts';
import { idOf, refusing } from '../input.ts';
import { JobPayload, jobAfter } from '../jobs/after-change.ts';
import { JobFilterInput, jobFilterOf } from '../jobs/filter.ts';
import { PRICE } from '../prices.ts';
import { DeadLetterFilterInput, toDeadLetterFilter } from './filter.ts';

async function replayOne(context: GraphQLContext, id: string) {
  const { services, account, loaders } = context;
  const letter = await loaders.deadLetter.load(idOf(id, 'dead letter'));
  if (letter === null) throw notFound('dead letter');
  const job = await services.deadLetters.replay(account, letter.queueId, id);
  loaders.deadLetter.clear(id);
  return jobAfter(context, job.id);
}

builder.mutationFields((t) => ({
  replayDeadLetter: t.field({
    type: JobPayload,
    description: 'Replays a dead letter: creates a new job with its payload and the queue’s present settings.',
    errors: { types: [NotFoundError, ConflictError, GoneError, LimitReachedError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the dead letter.' }) },
    resolve: (_root, { id }, context) => refusing(() => replayOne(context, id)),
  }),
  replayDeadLetters: t.field({
    type: BulkActionPayload,
    complexity: PRICE.bulk,
    description:
      'Starts a bulk action that replays the matching dead letters that were not replayed, of one queue or of all live queues, oldest first.',
    errors: { types: [ValidationError, NotFoundError, GoneError, LimitReachedError, InvalidRequestError] },
    args: {
      queueId: t.arg.id({ description: 'Id of the queue; all live queues by default.' }),
      jobs: t.arg({
        type: JobFilterInput,
        description: 'The dead jobs whose dead letters are replayed, in the order of the jobs; instead of `filter`.',
      }),
      filter: t.arg({
        type: DeadLetterFilterInput,
        description: 'The dead letters to replay. `fingerprints` selects error groups.',
      }),
      all: t.arg.boolean({ required: true, defaultValue: false, description: 'Must be true if the filter is empty.' }),
      dryRun: t.arg.boolean({
        required: true,
        defaultValue: false,
        description: 'True: only count the matching dead letters.',
      }),
      ratePerSecond: t.arg.int({
        description: 'Maximum number of replays per second, at most 100 000; no limit by default.',
      }),
      canary: t.arg.boolean({
        required: true,
        defaultValue: false,
        description:
          'True: replay one dead letter first, and the others only after the job of the first has completed.',
      }),
    },
    resolve: (_root, { queueId, filter, jobs, dryRun, all, canary, ratePerSecond }, context) =>
      refusing(async (): Promise<BulkActionResult> => {
        const { services, account } = context;
        const input = {
          queueId: queueId == null ? null : idOf(queueId, 'queue'),
          filter: toDeadLetterFilter(filter),
          jobs: jobs == null ? null : await jobFilterOf(context, jobs),
          all,
          canary,
          ratePerSecond: ratePerSecond ?? null,
        };
        if (dryRun) return { matched: await services.bulk.countReplay(account, input), actionId: null };
        return { matched: null, actionId: await services.bulk.startReplay(account, input) };
      }),
  }),
}));
