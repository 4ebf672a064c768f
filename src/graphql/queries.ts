import type { Prisma } from '../db/generated/client.ts';
import { JobferryError } from '../domain/errors.ts';
import { isId } from '../domain/id.ts';
import { isStorableText } from '../domain/text.ts';
import { builder } from './builder.ts';
import { counted, countRows, MAX_COUNT, pageOf, TOTAL_COUNT, TOTAL_COUNT_EXACT } from './connections.ts';
import { DeadLetterConnection, deadLetterPage, ErrorGroup } from './dead-letters/types.ts';
import {
  DeadLetterFilterInput,
  JobFilterInput,
  JobOrderInput,
  toDeadLetterFilter,
  toJobFilter,
  toOrder,
} from './filters.ts';
import { JobConnection, jobPage } from './jobs/page.ts';
import { PRICE, pagePrice, searchPrice } from './prices.ts';
import { Count, JobTimelinePoint, PayloadSuggestion, toTimeline } from './queues/statistics.ts';
import { DeadLetter, Job, Queue } from './refs.ts';
import { visibleJob } from './visible.ts';

const WITHOUT_SECRETS = { signingSecret: true, nextSigningSecret: true } as const satisfies Prisma.QueueOmit;

const QueueConnection = builder.connectionObject(
  {
    type: Queue,
    name: 'QueueConnection',
    description: 'A page of queues.',
    fields: (t) => ({
      totalCount: t.int(TOTAL_COUNT),
      totalCountExact: t.boolean(TOTAL_COUNT_EXACT),
    }),
  },
  { name: 'QueueEdge', description: 'A queue, and its cursor.' },
);

/** Groups of all queues together. */
const MAX_GROUPS = 100;

/** What cannot be stored is in no name. */
function searchable(text: string): string {
  return isStorableText(text) ? text : NO_NAME;
}
/** Names have no capitals and no spaces. */
const NO_NAME = 'No Name';

builder.queryFields((t) => ({
  queue: t.field({
    type: Queue,
    nullable: true,
    description: 'A live queue, by id or by name.',
    args: {
      id: t.arg.id({ description: 'Its id.' }),
      name: t.arg.string({ description: 'Its name.' }),
    },
    resolve: (_root, { id, name }, { prisma, account }) => {
      if (id == null && name == null) throw new JobferryError('invalid_request', 'give an id or a name');
      if ((id != null && !isId(id)) || (name != null && !isStorableText(name))) return null;
      const where = { ...(id == null ? {} : { id }), ...(name == null ? {} : { name }) };
      return prisma.queue.findFirst({
        where: { ...where, accountId: account.id, deletedAt: null },
        omit: WITHOUT_SECRETS,
      });
    },
  }),
  queues: t.connection(
    {
      type: Queue,
      complexity: pagePrice,
      description: 'The live queues, oldest first.',
      args: { search: t.arg.string({ description: 'Text within the name.' }) },
      resolve: async (_root, args, { prisma, account, loaders }) => {
        const where: Prisma.QueueWhereInput = {
          accountId: account.id,
          deletedAt: null,
          ...(args.search == null ? {} : { name: { contains: searchable(args.search), mode: 'insensitive' } }),
        };
        const page = await pageOf(args, async ({ limit, after, before, inverted }) => {
          const rows = await prisma.queue.findMany({
            where: { ...where, id: { gt: after?.id ?? '', ...(before === undefined ? {} : { lt: before.id }) } },
            omit: WITHOUT_SECRETS,
            orderBy: { id: inverted ? 'desc' : 'asc' },
            take: limit,
          });
          for (const row of rows) loaders.queue.prime(row.id, row);
          return rows.map((node) => ({ position: { id: node.id }, node }));
        });
        return { ...page, ...counted(() => countRows((take) => prisma.queue.count({ where, take }))) };
      },
    },
    QueueConnection,
  ),
  job: t.field({
    type: Job,
    nullable: true,
    description: 'A job that is not past retention; also one whose queue has been deleted.',
    args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
    resolve: (_root, { id }, context) => visibleJob(context, id),
  }),
  jobs: t.connection(
    {
      type: Job,
      complexity: searchPrice,
      description: 'Jobs of all live queues, newest first unless asked otherwise.',
      args: {
        filter: t.arg({ type: JobFilterInput, description: 'Which ones.' }),
        orderBy: t.arg({ type: JobOrderInput, description: 'In which order.' }),
      },
      resolve: (_root, args, context) => jobPage(context, toJobFilter(args.filter), toOrder(args.orderBy), args),
    },
    JobConnection,
  ),
  count: t.field({
    type: Count,
    complexity: ({ filter }) => (filter == null ? PRICE.total : PRICE.search),
    description: 'How many jobs match, exact up to a maximum.',
    args: {
      filter: t.arg({ type: JobFilterInput, description: 'Which ones.' }),
      max: t.arg.int({ defaultValue: MAX_COUNT, required: true, description: 'Where counting stops; 1 to 10 000.' }),
    },
    resolve: (_root, { filter, max }, { dashboard, account }) => dashboard.countJobs(account, toJobFilter(filter), max),
  }),
  jobTimeline: t.field({
    type: [JobTimelinePoint],
    complexity: { field: PRICE.jobTimeline, multiplier: 1 },
    description: 'Published jobs over time by their present status; the last day by default.',
    args: {
      filter: t.arg({ type: JobFilterInput, description: 'Which ones.' }),
      from: t.arg({ type: 'DateTime', description: 'A day before `to` when left out.' }),
      to: t.arg({ type: 'DateTime', description: 'Now when left out.' }),
      bucketSeconds: t.arg.int({ defaultValue: 300, required: true, description: 'A multiple of 300.' }),
    },
    resolve: async (_root, { filter, ...times }, { dashboard, account, loaders }) =>
      dashboard.jobTimeline(account, toJobFilter(filter), toTimeline(times, (await loaders.server()).now)),
  }),
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
    resolve: async (_root, { filter, first }, { dashboard, account }) => {
      const groups = await dashboard.errorGroups(
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
  payloadPaths: t.field({
    type: [PayloadSuggestion],
    complexity: { field: PRICE.payloadSuggestions, multiplier: 1 },
    description: 'Paths that occur in recent payloads, most frequent first: for suggestions in a filter.',
    args: {
      queueId: t.arg.id({ description: 'Of this queue; of all queues when left out.' }),
      prefix: t.arg.string({ defaultValue: '', required: true, description: 'How the path begins.' }),
      first: t.arg.int({ defaultValue: 20, required: true, description: 'So many; at most 100.' }),
    },
    resolve: (_root, { queueId, prefix, first }, { dashboard, account }) =>
      dashboard.payloadPaths(account, queueId ?? null, prefix, Math.min(Math.max(first, 0), 100)),
  }),
  payloadValues: t.field({
    type: [PayloadSuggestion],
    complexity: { field: PRICE.payloadSuggestions, multiplier: 1 },
    description: 'Values that occur at a path of recent payloads, most frequent first.',
    args: {
      queueId: t.arg.id({ description: 'Of this queue; of all queues when left out.' }),
      path: t.arg.string({ required: true, description: 'Where to look.' }),
      prefix: t.arg.string({ defaultValue: '', required: true, description: 'How the value begins.' }),
      first: t.arg.int({ defaultValue: 20, required: true, description: 'So many; at most 100.' }),
    },
    resolve: (_root, { queueId, path, prefix, first }, { dashboard, account }) =>
      dashboard.payloadValues(account, queueId ?? null, path, prefix, Math.min(Math.max(first, 0), 100)),
  }),
}));
