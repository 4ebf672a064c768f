import { builder } from '../builder.ts';
import { PRICE, searchPrice } from '../prices.ts';
import { DeadLetter } from '../refs.ts';
import { DeadLetterFilterInput, toDeadLetterFilter } from './filter.ts';
import { DeadLetterConnection, deadLetterPage, ErrorGroup } from './types.ts';

/** Maximum number of groups in total. */
const MAX_GROUPS = 100;

builder.queryFields((t) => ({
  deadLetters: t.connection(
    {
      type: DeadLetter,
      complexity: searchPrice,
      description: 'Dead letters of all live queues; the most recently dead first.',
      args: {
        filter: t.arg({ type: DeadLetterFilterInput, description: 'The dead letters to return; all by default.' }),
      },
      resolve: (_root, args, context) => deadLetterPage(context, toDeadLetterFilter(args.filter), args),
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
        description: 'Maximum number of groups per queue; at most 100.',
      }),
    },
    resolve: async (_root, { filter, first }, { services, account }) => {
      const groups = await services.deadLetters.errorGroups(
        account,
        toDeadLetterFilter(filter),
        Math.min(Math.max(first, 0), 100),
      );
      return [...groups.values()]
        .flat()
        .sort((one, other) => other.count - one.count)
        .slice(0, MAX_GROUPS);
    },
  }),
}));
