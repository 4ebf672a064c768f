import { builder } from '../builder.ts';
import { enumOf } from '../enums.ts';
import { Queue } from '../refs.ts';

const BULK_ACTION_KINDS = ['replay_dead_letters', 'cancel_jobs', 'purge_queue'] as const;
type BulkActionKindName = (typeof BULK_ACTION_KINDS)[number];
const BulkActionKind = enumOf('BulkActionKind', 'What a bulk action does.', BULK_ACTION_KINDS);

const BULK_ACTION_STATUSES = ['running', 'completed', 'cancelled', 'failed'] as const;
type BulkActionStatusName = (typeof BULK_ACTION_STATUSES)[number];
export const BulkActionStatus = enumOf('BulkActionStatus', 'Where a bulk action is.', BULK_ACTION_STATUSES);

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

export interface BulkActionResult {
  /** Of a dry run; an action knows its own. */
  matched: number | null;
  actionId: string | null;
}

export const BulkActionPayload = builder.objectRef<BulkActionResult>('BulkActionPayload').implement({
  description: 'A bulk action that has begun, or what it would do.',
  fields: (t) => ({
    matched: t.int({
      description: 'How many match.',
      resolve: async ({ matched, actionId }, _args, { prisma, account }) => {
        if (matched !== null || actionId === null) return matched ?? 0;
        const where = { id: actionId, accountId: account.id };
        return (await prisma.bulkAction.findFirstOrThrow({ where, select: { matched: true } })).matched;
      },
    }),
    action: t.prismaField({
      type: BulkAction,
      nullable: true,
      description: 'To follow or to cancel; null for a dry run.',
      resolve: (query, { actionId: id }, _args, { prisma, account }) =>
        id === null ? null : prisma.bulkAction.findFirst({ ...query, where: { id, accountId: account.id } }),
    }),
  }),
});
