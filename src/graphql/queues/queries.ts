import type { Prisma } from '../../db/generated/client.ts';
import { JobferryError } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { tagsOfFilter } from '../../domain/queue-tags.ts';
import { asReceiver } from '../../domain/receiver-host.ts';
import { isStorableText } from '../../domain/text.ts';
import { builder } from '../builder.ts';
import { connectionOf, countRows, inPlace, pageOf } from '../connections.ts';
import type { GraphQLContext } from '../context.ts';
import { enumOf } from '../enums.ts';
import type { QueueRow } from '../loaders.ts';
import { PRICE, pagePrice } from '../prices.ts';
import { Queue } from '../refs.ts';
import { Selection } from '../selection.ts';
import { byTrouble, type OtherQueues } from './by-trouble.ts';

const QueueOrder = enumOf(
  'QueueOrder',
  'Order of queues. `CREATED_AT`: oldest first. `TROUBLE`: by severity. First come queues whose receiver rejects or fails or whose breaker is open, then queues that fall behind or have a slow receiver, then held queues and queues with backpressure, then paused queues, and then all others, oldest first. Queues of the same severity are ordered by the number of failed attempts and waiting jobs, and then by the age of the oldest due job, largest first. If more than 500 queues need attention, the least severe come with the others.',
  ['created_at', 'trouble'],
);

const WITHOUT_SECRETS = { signingSecret: true, nextSigningSecret: true } as const satisfies Prisma.QueueOmit;

const QueueConnection = connectionOf(Queue, 'Queue', { page: 'A page of queues.', edge: 'A queue, and its cursor.' });

builder.queryFields((t) => ({
  queue: t.field({
    type: Queue,
    nullable: true,
    description: 'A live queue, by id or by name; null if there is no such queue.',
    args: {
      id: t.arg.id({ description: 'Id of the queue.' }),
      name: t.arg.string({ description: 'Name of the queue.' }),
    },
    resolve: async (_root, { id, name }, { loaders }, info) => {
      if (id == null && name == null) throw new JobferryError('invalid_request', 'give an id or a name');
      if ((id != null && !isId(id)) || (name != null && !isStorableText(name))) return null;
      loaders.selectOfQueues(Selection.of(info));
      const queue = id == null ? await loaders.queueOfName(name ?? '') : await loaders.queue.load(id);
      if (queue === null || queue.deletedAt !== null || (name != null && queue.name !== name)) return null;
      return queue;
    },
  }),
  addressWarning: t.string({
    nullable: true,
    description: '`Queue.addressWarning` of a queue that would deliver to this URL.',
    args: { webhookUrl: t.arg.string({ required: true, description: 'URL of a webhook.' }) },
    resolve: (_root, { webhookUrl }, { services }) => services.queues.addressWarning(webhookUrl),
  }),
  queueTags: t.stringList({
    complexity: PRICE.usage,
    description: 'Tags of the live queues, in alphabetical order, at most 100; for suggestions.',
    args: { search: t.arg.string({ defaultValue: '', required: true, description: 'Text that the tags contain.' }) },
    resolve: async (_root, { search }, { services, account }) => {
      const tags = new Set([...(await services.queues.tags(account)).values()].flat());
      return [...tags]
        .filter((tag) => tag.includes(search))
        .sort()
        .slice(0, 100);
    },
  }),
  queues: t.connection(
    {
      type: Queue,
      complexity: (args) =>
        args.orderBy === 'trouble' ? { ...pagePrice(args), field: PRICE.sorted } : pagePrice(args),
      description: 'The live queues, oldest first by default.',
      args: {
        search: t.arg.string({ description: 'Text that the name or the webhook URL contains, ignoring case.' }),
        tags: t.arg.stringList({ description: 'Tags of which a queue must have at least one; at most 10.' }),
        receivers: t.arg.stringList({
          description: 'Only queues that deliver to one of these receivers, as in `Receiver.host`.',
        }),
        orderBy: t.arg({
          type: QueueOrder,
          required: true,
          defaultValue: 'created_at',
          description: 'The order of the queues; oldest first by default.',
        }),
      },
      resolve: async (_root, args, context, info) => {
        const { prisma, account, loaders, services } = context;
        // No name contains text that cannot be stored.
        if (args.search != null && !isStorableText(args.search)) {
          const count = async () => ({ count: 0, exact: true });
          return pageOf<QueueRow>({ args, info, count }, async () => []);
        }
        const where: Prisma.QueueWhereInput = {
          accountId: account.id,
          deletedAt: null,
          ...(args.receivers == null ? {} : { AND: [{ id: { in: await idsAt(context, args.receivers) } }] }),
          ...(args.search == null
            ? {}
            : { OR: [{ name: containing(args.search) }, { webhookUrl: containing(args.search) }] }),
          ...(args.tags == null ? {} : { tags: { hasSome: tagsOfFilter(args.tags) } }),
        };
        const count = () => countRows((take) => prisma.queue.count({ where, take }));
        return pageOf({ args, info, count }, async (slice) => {
          const { limit, after, before, inverted } = slice;
          if (args.orderBy === 'trouble') {
            const find = (id: Prisma.StringFilter, more: { take?: number; descending?: boolean } = {}) =>
              prisma.queue.findMany({
                where: { ...where, id },
                omit: WITHOUT_SECRETS,
                orderBy: { id: more.descending ? 'desc' : 'asc' },
                ...(more.take === undefined ? {} : { take: more.take }),
              });
            const text = args.search == null ? null : `%${literally(args.search)}%`;
            const troubled = await services.insight.troubled(account, text);
            const reading = {
              these: (ids: readonly string[]) => find({ in: [...ids] }),
              others: (ids: readonly string[], { limit: take, inverted: descending, ...range }: OtherQueues) =>
                find({ ...range, notIn: [...ids] }, { take, descending }),
            };
            return byTrouble(context, troubled, reading, slice);
          }
          const rows = await prisma.queue.findMany({
            where: { ...where, id: { gt: after?.id ?? '', ...(before === undefined ? {} : { lt: before.id }) } },
            omit: WITHOUT_SECRETS,
            orderBy: { id: inverted ? 'desc' : 'asc' },
            take: limit,
          });
          for (const row of rows) loaders.queue.prime(row.id, row);
          return inPlace(rows);
        });
      },
    },
    QueueConnection,
  ),
}));

/** @returns the ids of the queues that deliver to the receivers */
async function idsAt({ services, account }: GraphQLContext, receivers: readonly string[]): Promise<string[]> {
  const hosts = new Set(receivers.map(asReceiver));
  const found = (await services.receivers.list(account)).filter(({ host }) => hosts.has(host));
  return found.flatMap(({ queues }) => queues.map(({ id }) => id));
}

function containing(text: string) {
  return { contains: literally(text), mode: 'insensitive' } as const;
}

/** Prisma passes the text to LIKE as it is, where `%`, `_` and a backslash have a meaning. */
function literally(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
