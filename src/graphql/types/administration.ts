import { isId } from '../../domain/id.ts';
import { isStorableText } from '../../domain/text.ts';
import type { ServerFacts } from '../../services/dashboard.ts';
import { builder } from '../builder.ts';
import { pageCost, TOTAL_COUNT } from '../connections.ts';
import type { BulkActionKindName, BulkActionStatusName } from '../enums.ts';
import { BulkActionKind, BulkActionStatus } from '../enums.ts';
import { Queue } from './refs.ts';

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

builder.queryFields((t) => ({
  auditLog: t.prismaConnection(
    {
      type: AuditEntry,
      cursor: 'id',
      complexity: pageCost,
      description: 'Every change, newest first.',
      totalCount: (_root, args, { prisma, account }) =>
        prisma.auditEntry.count({ where: auditWhere(args, account.id) }),
      args: {
        action: t.arg.string({ description: 'Only such changes, for example `queue.update`.' }),
        targetId: t.arg.id({ description: 'Only changes of this thing.' }),
      },
      resolve: (query, _root, args, { prisma, account }) =>
        prisma.auditEntry.findMany({ ...query, where: auditWhere(args, account.id), orderBy: { id: 'desc' } }),
    },
    {
      name: 'AuditEntryConnection',
      description: 'A page of the audit log.',
      fields: (c) => ({ totalCount: c.int(TOTAL_COUNT) }),
    },
    { name: 'AuditEntryEdge', description: 'A change, and its cursor.' },
  ),
  bulkActions: t.prismaConnection(
    {
      type: BulkAction,
      cursor: 'id',
      complexity: pageCost,
      description: 'Bulk actions, newest first.',
      totalCount: (_root, args, { prisma, account }) =>
        prisma.bulkAction.count({ where: actionWhere(args, account.id) }),
      args: { status: t.arg({ type: BulkActionStatus, description: 'Only those that are there.' }) },
      resolve: (query, _root, args, { prisma, account }) =>
        prisma.bulkAction.findMany({ ...query, where: actionWhere(args, account.id), orderBy: { id: 'desc' } }),
    },
    {
      name: 'BulkActionConnection',
      description: 'A page of bulk actions.',
      fields: (c) => ({ totalCount: c.int(TOTAL_COUNT) }),
    },
    { name: 'BulkActionEdge', description: 'A bulk action, and its cursor.' },
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
    description: 'The processes of the service that are running.',
    resolve: async (query, _root, _args, { prisma, loaders }) => {
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
