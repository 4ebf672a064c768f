import { isStorableText } from '../../domain/text.ts';
import { builder } from '../builder.ts';
import { counted, countRows, pageOf, TOTAL_COUNT, TOTAL_COUNT_EXACT } from '../connections.ts';
import { inPlace, newestFirst } from '../newest-first.ts';
import { pagePrice } from '../prices.ts';

const AuditEntry = builder.prismaObject('AuditEntry', {
  description: 'A change: who made it, when, and what was before and after.',
  select: { id: true, accountId: true },
  authScopes: (entry) => ({ owner: entry.accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: '24 hexadecimal digits.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When.' }),
    actor: t.exposeString('actorLabel', {
      description: 'Who: an API key by its first and last characters, or the command line.',
    }),
    apiKeyId: t.exposeID('actorId', { nullable: true, description: 'Id of the API key.' }),
    action: t.exposeString('action', { description: 'What, such as `queue.update`.' }),
    targetType: t.exposeString('targetType', { description: 'Kind of the thing that was changed.' }),
    targetId: t.exposeID('targetId', { description: 'Its id.' }),
    targetName: t.exposeString('targetName', { nullable: true, description: 'Its name, if it has one.' }),
    before: t.expose('before', { type: 'JSON', nullable: true, description: 'What it was.' }),
    after: t.expose('after', { type: 'JSON', nullable: true, description: 'What it became.' }),
  }),
});

const AuditEntryConnection = builder.connectionObject(
  {
    type: AuditEntry,
    name: 'AuditEntryConnection',
    description: 'A page of the audit log.',
    fields: (t) => ({
      totalCount: t.int(TOTAL_COUNT),
      totalCountExact: t.boolean(TOTAL_COUNT_EXACT),
    }),
  },
  { name: 'AuditEntryEdge', description: 'A change, and its cursor.' },
);

type Text = string | null | undefined;

function auditWhere({ action, targetId }: { action?: Text; targetId?: Text }, accountId: string) {
  // What cannot be stored matches nothing, and need not be asked for.
  const isPossible = [action, targetId].every((text) => text == null || isStorableText(text));
  return {
    accountId,
    ...(isPossible ? {} : { id: '' }),
    ...(action == null || !isPossible ? {} : { action }),
    ...(targetId == null || !isPossible ? {} : { targetId }),
  };
}

builder.queryFields((t) => ({
  auditLog: t.connection(
    {
      type: AuditEntry,
      complexity: pagePrice,
      description: 'Every change, newest first.',
      args: {
        action: t.arg.string({ description: 'Only such changes, for example `queue.update`.' }),
        targetId: t.arg.id({ description: 'Only changes of this thing.' }),
      },
      resolve: async (_root, args, { prisma, account }) => {
        const own = auditWhere(args, account.id);
        const page = await pageOf(args, async (asked) => {
          const { where, ...slice } = newestFirst(asked);
          return inPlace(await prisma.auditEntry.findMany({ ...slice, where: { AND: [own, where] } }));
        });
        return { ...page, ...counted(() => countRows((take) => prisma.auditEntry.count({ where: own, take }))) };
      },
    },
    AuditEntryConnection,
  ),
}));
