import { builder } from '../builder.ts';

const Instance = builder.prismaObject('Instance', {
  description: 'A running process of the service.',
  select: { id: true },
  fields: (t) => ({
    id: t.exposeID('id', { description: '24 hexadecimal digits.' }),
    role: t.exposeString('role', { description: 'all, api or worker.' }),
    version: t.exposeString('version', { description: 'Of Jobferry.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it started.' }),
    lastSeenAt: t.expose('lastSeenAt', { type: 'DateTime', description: 'When it last gave a sign of life.' }),
    inFlight: t.exposeInt('inFlight', { description: 'Deliveries under way.' }),
    capacity: t.exposeInt('capacity', { description: 'Deliveries it may have under way.' }),
  }),
});

/** Processes that said nothing for longer are not shown. */
const SILENT_MS = 30_000;

builder.queryFields((t) => ({
  instances: t.prismaField({
    type: [Instance],
    description:
      'The processes of the service that are running. For its operator, whose account is the first one: others see none, since this shows what everybody has under way.',
    resolve: async (query, _root, _args, { prisma, account, loaders }) => {
      const first = await prisma.account.findFirst({ orderBy: { id: 'asc' }, select: { id: true } });
      if (first?.id !== account.id) return [];
      const { now } = await loaders.server();
      return prisma.instance.findMany({
        ...query,
        where: { lastSeenAt: { gt: new Date(now.getTime() - SILENT_MS) } },
        orderBy: { id: 'asc' },
        take: 100,
      });
    },
  }),
}));
