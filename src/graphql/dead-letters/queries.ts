import { builder } from '../builder.ts';
import { enumOf } from '../enums.ts';
import { PRICE, searchPrice } from '../prices.ts';
import { DeadLetter } from '../refs.ts';
import { DeadLetterFilterInput, toDeadLetterFilter } from './filter.ts';
import { DeadLetterConnection, deadLetterPage, ErrorGroup, hasAttempts } from './types.ts';

/** Maximum number of groups in total. */
const MAX_GROUPS = 100;

const ErrorGroupBy = enumOf(
  'ErrorGroupBy',
  'Common property of an error group. `ERROR`: reason, status code and error without ids and numbers. `ANSWER`: also the first line of the webhook’s last answer without ids and numbers.',
  ['error', 'answer'],
);

builder.queryFields((t) => ({
  deadLetters: t.connection(
    {
      type: DeadLetter,
      complexity: searchPrice,
      description: 'Dead letters of all live queues; the most recently dead first.',
      args: {
        filter: t.arg({ type: DeadLetterFilterInput, description: 'The dead letters to return; all by default.' }),
      },
      resolve: (_root, args, context, info) => deadLetterPage({ context, args, info }, toDeadLetterFilter(args.filter)),
    },
    DeadLetterConnection,
  ),
  errorGroups: t.field({
    type: [ErrorGroup],
    complexity: { field: PRICE.errorGroups, multiplier: MAX_GROUPS },
    description:
      'Error groups of the dead letters of all live queues; the largest group first, at most 100 groups in total.',
    args: {
      filter: t.arg({ type: DeadLetterFilterInput, description: 'The dead letters to group; all by default.' }),
      first: t.arg.int({
        defaultValue: 10,
        required: true,
        description: 'Maximum number of groups per queue, or in total with `acrossQueues`; at most 100.',
      }),
      by: t.arg({
        type: ErrorGroupBy,
        defaultValue: 'error',
        required: true,
        description: 'What the dead letters of a group have in common.',
      }),
      acrossQueues: t.arg.boolean({
        defaultValue: false,
        required: true,
        description: 'True: dead letters of several queues form one group. False: each queue has groups of its own.',
      }),
      newSince: t.arg({
        type: 'DateTime',
        description: 'Only groups of which no dead letter died before this time; all by default.',
      }),
    },
    resolve: async (_root, { filter, first, by, acrossQueues, newSince }, { services, account, loaders }, info) => {
      const letters = toDeadLetterFilter(filter);
      const options = {
        limit: Math.min(Math.max(first, 0), MAX_GROUPS),
        byAnswer: by === 'answer',
        newSince: newSince ?? undefined,
        withAttempts: hasAttempts(info),
      };
      const groups = acrossQueues
        ? await services.deadLetters.errorGroupsAcrossQueues(account, letters, options)
        : [...(await services.deadLetters.errorGroups(account, letters, options)).values()]
            .flat()
            .sort((one, other) => other.count - one.count)
            .slice(0, MAX_GROUPS);
      if (options.withAttempts) await loaders.keepAttemptsOf(groups);
      return groups;
    },
  }),
}));
