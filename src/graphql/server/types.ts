import { isId } from '../../domain/id.ts';
import { isStorableText } from '../../domain/text.ts';
import type { ServerFacts, Slice } from '../../services/dashboard.ts';
import { builder } from '../builder.ts';
import { counted, countRows, pageOf, TOTAL_COUNT, TOTAL_COUNT_EXACT } from '../connections.ts';
import type { BulkActionKindName, BulkActionStatusName } from '../enums.ts';
import { BulkActionKind, BulkActionStatus } from '../enums.ts';
import { pagePrice } from '../prices.ts';
import { Queue } from '../refs.ts';

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

export const BulkAction = builder.prismaObject('BulkAction', {
  description: 'Work on many jobs, done in batches by the workers.',
  select: { id: true, accountId: true },
  authScopes: (action) => ({ owner: action.accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: '24 hexadecimal digits.' }),
    kind: t.field({
      type: BulkActionKind,
      description: 'What it does.',
      select: { kind: true },
      resolve: ({ kind }) => kind as BulkActionKindName,
    }),
    status: t.field({
      type: BulkActionStatus,
      description: 'Where it is.',
      select: { status: true },
      resolve: ({ status }) => status as BulkActionStatusName,
    }),
    queue: t.field({
      type: Queue,
      nullable: true,
      description: 'Its queue; null when it spans queues.',
      select: { queueId: true },
      resolve: ({ queueId }, _args, { loaders }) => (queueId === null ? null : loaders.queue.load(queueId)),
    }),
    selection: t.expose('selection', { type: 'JSON', description: 'The filter that was asked for.' }),
    ratePerSecond: t.exposeInt('ratePerSecond', { nullable: true, description: 'Ceiling; null: as fast as it goes.' }),
    canary: t.exposeBoolean('canary', { description: 'Whether the first one has to complete before the rest begins.' }),
    canaryJobId: t.exposeID('canaryJobId', { nullable: true, description: 'The job that was sent ahead.' }),
    matched: t.exposeInt('matched', {
      description: 'How many there were at the start, counted to 1 000 000; not less than `processed`.',
    }),
    processed: t.exposeInt('processed', { description: 'How many it has looked at.' }),
    succeeded: t.exposeInt('succeeded', { description: 'How many were done.' }),
    skipped: t.exposeInt('skipped', { description: 'How many had moved on, or could not be done.' }),
    error: t.exposeString('error', { nullable: true, description: 'What made it fail.' }),
    requestedBy: t.exposeString('requestedBy', { description: 'Who asked for it.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was asked for.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last went on.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
});

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

const Server = builder.objectRef<ServerFacts>('Server').implement({
  description: 'The service that answers.',
  fields: (t) => ({
    version: t.exposeString('version', { description: 'Of Jobferry.' }),
    environment: t.exposeString('environment', { description: 'Such as `production`.' }),
    now: t.expose('now', { type: 'DateTime', description: 'The clock that decides every due time: the database’s.' }),
    retentionSeconds: t.exposeFloat('retentionSeconds', { description: 'How long jobs are kept after publication.' }),
    lifetimeSeconds: t.exposeFloat('lifetimeSeconds', { description: 'How long a job is delivered.' }),
    webhookTimeoutSeconds: t.exposeFloat('webhookTimeoutSeconds', { description: 'How long a webhook may take.' }),
  }),
});

/** Processes that said nothing for longer are not shown. */
const SILENT_MS = 30_000;

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

function actionWhere({ status }: { status?: Text }, accountId: string) {
  return { accountId, ...(status == null ? {} : { status }) };
}

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

const BulkActionConnection = builder.connectionObject(
  {
    type: BulkAction,
    name: 'BulkActionConnection',
    description: 'A page of bulk actions.',
    fields: (t) => ({
      totalCount: t.int(TOTAL_COUNT),
      totalCountExact: t.boolean(TOTAL_COUNT_EXACT),
    }),
  },
  { name: 'BulkActionEdge', description: 'A bulk action, and its cursor.' },
);

/**
 * The rows of a slice, newest first. Their place is asked for by comparing ids within the account: Prisma's own cursors
 * look for the row first, and so tell whether an id of somebody else's exists.
 */
function newestFirst({ after, before, inverted, limit }: Slice) {
  return {
    where: {
      id: { ...(after === undefined ? {} : { lt: after.id }), ...(before === undefined ? {} : { gt: before.id }) },
    },
    orderBy: { id: inverted ? ('asc' as const) : ('desc' as const) },
    take: limit,
  };
}

const inPlace = <Row extends { id: string }>(rows: Row[]) => rows.map((node) => ({ position: { id: node.id }, node }));

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
  bulkActions: t.connection(
    {
      type: BulkAction,
      complexity: pagePrice,
      description: 'Bulk actions, newest first.',
      args: { status: t.arg({ type: BulkActionStatus, description: 'Only those that are there.' }) },
      resolve: async (_root, args, { prisma, account }) => {
        const own = actionWhere(args, account.id);
        const page = await pageOf(args, async (asked) => {
          const { where, ...slice } = newestFirst(asked);
          return inPlace(await prisma.bulkAction.findMany({ ...slice, where: { AND: [own, where] } }));
        });
        return { ...page, ...counted(() => countRows((take) => prisma.bulkAction.count({ where: own, take }))) };
      },
    },
    BulkActionConnection,
  ),
  bulkAction: t.prismaField({
    type: BulkAction,
    nullable: true,
    description: 'A bulk action of the account.',
    args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
    resolve: (query, _root, { id }, { prisma, account }) =>
      isId(id) ? prisma.bulkAction.findFirst({ ...query, where: { id, accountId: account.id } }) : null,
  }),
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
  server: t.field({
    type: Server,
    description: 'The service that answers.',
    resolve: (_root, _args, { loaders }) => loaders.server(),
  }),
}));
