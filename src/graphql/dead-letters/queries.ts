import { builder } from '../builder.ts';
import { PRICE, searchPrice } from '../prices.ts';
import { DeadLetter } from '../refs.ts';
import { DeadLetterFilterInput, toDeadLetterFilter } from './filter.ts';
import { DeadLetterConnection, deadLetterPage, ErrorGroup } from './types.ts';

/** Groups of all queues together. */
const MAX_GROUPS = 100;

builder.queryFields((t) => ({
  deadLetters: t.connection(
    {
      type: DeadLetter,
      complexity: searchPrice,
      description: 'Dead letters of all live queues, most recently dead first.',
      args: { filter: t.arg({ type: DeadLetterFilterInput, description: 'Which ones.' }) },
      resolve: (_root, args, context) => deadLetterPage(context, toDeadLetterFilter(args.filter), args),
    },
    DeadLetterConnection,
  ),
  errorGroups: t.field({
    type: [ErrorGroup],
    complexity: { field: PRICE.errorGroups, multiplier: MAX_GROUPS },
    description: 'Dead letters by what they died of, over all live queues; the largest group first, 100 in all.',
    args: {
      filter: t.arg({ type: DeadLetterFilterInput, description: 'Which dead letters.' }),
      first: t.arg.int({ defaultValue: 10, required: true, description: 'So many per queue; at most 100.' }),
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
