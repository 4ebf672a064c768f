import { ATTEMPT_ORDER_FIELDS, type AttemptFilter, type AttemptOrder } from '../../domain/attempt-filter.ts';
import { builder } from '../builder.ts';
import { connectionOf, pageOf, placed } from '../connections.ts';
import { AttemptStatus, enumOf, OrderDirection } from '../enums.ts';
import { bounds, given, IntRangeInput, type Nullable, range, TimeRangeInput } from '../filter-input.ts';
import { PRICE, pagePrice } from '../prices.ts';
import { Attempt } from './attempt.ts';

const AttemptFilterInput = builder.inputType('AttemptFilter', {
  description: 'A filter of attempts. All given members must hold; an empty filter matches all attempts.',
  fields: (t) => ({
    queueIds: t.idList({ description: 'Attempts of jobs of these queues.' }),
    at: t.field({ type: TimeRangeInput, description: 'Attempts that ended in this range.' }),
    statuses: t.field({ type: [AttemptStatus], description: 'Attempts with one of these outcomes.' }),
    durationMs: t.field({ type: IntRangeInput, description: 'Attempts with a duration in this range.' }),
    webhookStatusCodes: t.intList({ description: 'Attempts with an answer of one of these status codes.' }),
    webhookStatusClasses: t.intList({
      description:
        'Attempts with an answer of one of these classes: 2 for 2xx and so on, 0 for no answer. With `webhookStatusCodes` as well, an attempt matches if either does.',
    }),
    errorContains: t.string({ description: 'Attempts whose error contains this text, ignoring case.' }),
    responseContains: t.string({
      description:
        'Attempts whose `responseBody` contains this text, ignoring case. Answers that are stored encrypted do not match.',
    }),
  }),
});

const AttemptOrderField = enumOf(
  'AttemptOrderField',
  'Field by which attempts are ordered. With `DURATION`, attempts without a duration are not in the list.',
  ATTEMPT_ORDER_FIELDS,
);

const AttemptOrderInput = builder.inputType('AttemptOrder', {
  description: 'The order of attempts. Attempts with equal values are ordered by the id of their job.',
  fields: (t) => ({
    field: t.field({ type: AttemptOrderField, required: true, description: 'The field to order by.' }),
    direction: t.field({ type: OrderDirection, required: true, description: 'The direction of the order.' }),
  }),
});

const AttemptConnection = connectionOf(Attempt, 'Attempt', {
  page: 'A page of attempts.',
  edge: 'An attempt, and its cursor.',
});

function toFilter(input: typeof AttemptFilterInput.$inferInput | null | undefined): AttemptFilter {
  if (input == null) return {};
  const { at, durationMs, ...rest } = input;
  return given<AttemptFilter>({ ...(rest as Nullable<AttemptFilter>), at: range(at), durationMs: bounds(durationMs) });
}

builder.queryFields((t) => ({
  attempts: t.connection(
    {
      type: Attempt,
      complexity: (args) => ({ ...pagePrice(args), field: PRICE.attempts }),
      description:
        'Ended attempts of the jobs of all live queues; those that ended last first by default. Give a range of time: without one, an order by duration reads all attempts.',
      args: {
        filter: t.arg({ type: AttemptFilterInput, description: 'The attempts to return; all by default.' }),
        orderBy: t.arg({
          type: AttemptOrderInput,
          description: 'The order of the attempts; the latest first by default.',
        }),
      },
      resolve: (_root, args, { services, account, loaders }, info) => {
        const filter = toFilter(args.filter);
        const order: AttemptOrder =
          args.orderBy == null
            ? { field: 'ended_at', descending: true }
            : { field: args.orderBy.field, descending: args.orderBy.direction === 'desc' };
        const count = () => services.jobs.countAttempts(account, filter, order);
        return pageOf({ args, info, count }, async (slice) => {
          const positions = await services.jobs.searchAttempts(account, filter, order, slice);
          return placed(positions, await loaders.attempt.loadMany(positions.map(({ id, n = 0 }) => `${id}:${n}`)));
        });
      },
    },
    AttemptConnection,
  ),
}));
