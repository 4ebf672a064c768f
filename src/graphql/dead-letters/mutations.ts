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
    description: 'Publishes the job of a dead letter again, with the queue’s present settings.',
    errors: { types: [NotFoundError, ConflictError, GoneError, LimitReachedError] },
    args: { id: t.arg.id({ required: true, description: 'Of the dead letter.' }) },
    resolve: (_root, { id }, context) => refusing(() => replayOne(context, id)),
  }),
  replayDeadLetters: t.field({
    type: BulkActionPayload,
    complexity: PRICE.bulk,
    description: 'Replays all dead letters of a queue that match and were not replayed, oldest first; a bulk action.',
    errors: { types: [ValidationError, NotFoundError, GoneError, LimitReachedError, InvalidRequestError] },
    args: {
      queueId: t.arg.id({ required: true, description: 'Of the queue.' }),
      filter: t.arg({ type: DeadLetterFilterInput, description: 'Which ones; `fingerprints` takes error groups.' }),
      all: t.arg.boolean({ required: true, defaultValue: false, description: 'Has to be true for an empty filter.' }),
      dryRun: t.arg.boolean({ required: true, defaultValue: false, description: 'Only count.' }),
      ratePerSecond: t.arg.int({ description: 'At most so many a second.' }),
      canary: t.arg.boolean({
        required: true,
        defaultValue: false,
        description: 'Replay one, and go on only when it has completed.',
      }),
    },
    resolve: (_root, { queueId, filter, dryRun, all, canary, ratePerSecond }, { services, account }) =>
      refusing(async (): Promise<BulkActionResult> => {
        const input = {
          queueId: idOf(queueId, 'queue'),
          filter: toDeadLetterFilter(filter),
          all,
          canary,
          ratePerSecond: ratePerSecond ?? null,
        };
        if (dryRun) return { matched: await services.bulk.countReplay(account, input), actionId: null };
        return { matched: null, actionId: await services.bulk.startReplay(account, input) };
      }),
  }),
}));
