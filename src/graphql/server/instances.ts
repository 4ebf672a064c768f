import type { Prisma } from '../../db/generated/client.ts';
import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';

export const Instance = builder.prismaObject('Instance', {
  description: 'A running process of Jobferry.',
  select: { id: true },
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the process, 24 hexadecimal digits.' }),
    role: t.exposeString('role', { description: 'Role of the process: all, api or worker.' }),
    version: t.exposeString('version', { description: 'Version of Jobferry.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'Time at which the process started.' }),
    lastSeenAt: t.expose('lastSeenAt', { type: 'DateTime', description: 'Time of the last heartbeat.' }),
    inFlight: t.exposeInt('inFlight', { description: 'Number of deliveries in progress.' }),
    capacity: t.exposeInt('capacity', { description: 'Maximum number of deliveries in progress.' }),
  }),
});

/** Processes without a heartbeat for longer are not returned. */
const SILENT_MS = 30_000;
export const MAX_INSTANCES = 100;

/**
 * Reads the running processes for the operator's account. Empty for others: the list shows the load of all accounts.
 */
export async function runningInstances<Query extends Pick<Prisma.InstanceFindManyArgs, 'select'>>(
  query: Query,
  { prisma, account, loaders }: GraphQLContext,
) {
  const select = { id: true };
  // As everywhere (db/operator-account.ts): the oldest one before any is marked.
  const operators =
    (await prisma.account.findFirst({ where: { isOperator: true }, select })) ??
    (await prisma.account.findFirst({ orderBy: { id: 'asc' }, select }));
  // Taken here, because the builder refuses a resolver that leaves its query unused (in tests).
  const wanted = { ...query };
  if (operators?.id !== account.id) return [];
  const { now } = await loaders.server();
  return prisma.instance.findMany({
    ...wanted,
    where: { lastSeenAt: { gt: new Date(now.getTime() - SILENT_MS) } },
    orderBy: { id: 'asc' },
    take: MAX_INSTANCES,
  });
}

builder.queryFields((t) => ({
  instances: t.prismaField({
    type: [Instance],
    description: `Running processes of Jobferry, at most ${MAX_INSTANCES}. Only the operator’s account receives them: they show the load of all accounts. For other accounts the list is empty.`,
    resolve: (query, _root, _args, context) => runningInstances(query, context),
  }),
}));
