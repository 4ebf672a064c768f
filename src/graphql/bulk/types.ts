import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';
import { enumOf } from '../enums.ts';
import { Queue } from '../refs.ts';
import { Selection } from '../selection.ts';

const BULK_ACTION_KINDS = ['replay_dead_letters', 'cancel_jobs', 'purge_queue', 'run_jobs_now'] as const;
type BulkActionKindName = (typeof BULK_ACTION_KINDS)[number];
const BulkActionKind = enumOf('BulkActionKind', 'Kind of work of a bulk action.', BULK_ACTION_KINDS);

const BULK_ACTION_STATUSES = ['running', 'paused', 'completed', 'cancelled', 'failed'] as const;
type BulkActionStatusName = (typeof BULK_ACTION_STATUSES)[number];
export const BulkActionStatus = enumOf(
  'BulkActionStatus',
  'Status of a bulk action. `RUNNING` and `PAUSED` ones have not ended.',
  BULK_ACTION_STATUSES,
);

const TIMES = { createdAt: true, updatedAt: true, pausedSeconds: true } as const;

/** How long an action has run up to its last progress, without its pauses. */
function secondsOf({
  createdAt,
  updatedAt,
  pausedSeconds,
}: {
  createdAt: Date;
  updatedAt: Date;
  pausedSeconds: number;
}) {
  return (updatedAt.getTime() - createdAt.getTime()) / 1000 - pausedSeconds;
}

export const BulkAction = builder.prismaObject('BulkAction', {
  description: 'Work on many items (jobs or dead letters), which the workers do in batches.',
  authScopes: (action) => ({ owner: action.accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the bulk action, 24 hexadecimal digits.' }),
    kind: t.field({
      type: BulkActionKind,
      description: 'Kind of work.',
      resolve: ({ kind }) => kind as BulkActionKindName,
    }),
    status: t.field({
      type: BulkActionStatus,
      description: 'Status of the bulk action.',
      resolve: ({ status }) => status as BulkActionStatusName,
    }),
    queue: t.field({
      type: Queue,
      nullable: true,
      description:
        'The queue to which the bulk action is limited; null if it has no such limit, or the queue has been removed.',
      resolve: ({ queueId }, _args, { loaders }, info) => {
        if (queueId === null) return null;
        loaders.selectOfQueues(Selection.of(info));
        return loaders.queue.load(queueId);
      },
    }),
    selection: t.expose('selection', { type: 'JSON', description: 'The filter that selects the items.' }),
    ratePerSecond: t.exposeInt('ratePerSecond', {
      nullable: true,
      description: 'Maximum number of items per second; null if there is no limit.',
    }),
    canary: t.exposeBoolean('canary', {
      description: 'Whether one dead letter is replayed first, and the others only after its job has completed.',
    }),
    canaryJobId: t.exposeID('canaryJobId', {
      nullable: true,
      description: 'Id of the job that the canary replay created; null if there was none.',
    }),
    matched: t.exposeInt('matched', {
      description: 'Number of items that matched at the start, counted up to 1 000 000; never less than `processed`.',
    }),
    processed: t.exposeInt('processed', { description: 'Number of items that the bulk action has processed.' }),
    succeeded: t.exposeInt('succeeded', { description: 'Number of items that were replayed, cancelled or made due.' }),
    skipped: t.exposeInt('skipped', {
      description: 'Number of processed items that had changed meanwhile, or could not be changed.',
    }),
    processedPerSecond: t.float({
      nullable: true,
      description:
        'Average number of items processed per second since the request, without pauses; null before the first batch and for an action that took no time.',
      select: { processed: true, ...TIMES },
      resolve: (action) => {
        const seconds = secondsOf(action);
        return action.processed === 0 || seconds <= 0 ? null : action.processed / seconds;
      },
    }),
    secondsLeft: t.float({
      nullable: true,
      description:
        'Estimated time to the end at the rate `processedPerSecond`, in seconds; null unless the bulk action is running and has processed items.',
      select: { status: true, matched: true, processed: true, ...TIMES },
      resolve: (action) => {
        const { status, matched, processed } = action;
        if (status !== 'running' || processed === 0) return null;
        return (Math.max(matched - processed, 0) * secondsOf(action)) / processed;
      },
    }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Start of the present pause; null unless the bulk action is paused.',
    }),
    pausedBy: t.exposeString('pausedBy', {
      nullable: true,
      description: 'Actor that paused the bulk action; null unless it is paused.',
    }),
    error: t.string({
      nullable: true,
      description: 'Reason why the bulk action failed; null unless it has failed.',
      resolve: ({ status, error }) => (status === 'failed' ? error : null),
    }),
    repeatedStep: t.string({
      nullable: true,
      description:
        'Reason why the last step of the bulk action did not work and is repeated, such as a database that is busy; null unless it is running and repeats a step.',
      resolve: ({ status, error }) => (status === 'running' ? error : null),
    }),
    requestedBy: t.exposeString('requestedBy', {
      description:
        'Actor that requested the bulk action, such as an API key by its name and its first and last characters.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the bulk action was requested.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'Time at which the bulk action last made progress, was paused or resumed, or ended.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the bulk action ended; null while it is running or paused.',
    }),
  }),
});

export interface BulkActionResult {
  /** Count of a dry run; null for a bulk action, whose row has it. */
  matched: number | null;
  actionId: string | null;
}

/** The number of a dry run, or the number that the new action has stored. */
export async function matchedOf(
  { matched, actionId }: BulkActionResult,
  _args: object,
  { prisma, account }: GraphQLContext,
): Promise<number> {
  if (matched !== null || actionId === null) return matched ?? 0;
  const where = { id: actionId, accountId: account.id };
  return (await prisma.bulkAction.findFirstOrThrow({ where, select: { matched: true } })).matched;
}

/** The row of the new action; null for a dry run. */
export function actionOf(query: object, { actionId }: BulkActionResult, _args: object, context: GraphQLContext) {
  const { prisma, account } = context;
  // The query is used in either case: Pothos reports one that is not.
  const options = { ...query, where: { id: actionId ?? '', accountId: account.id } };
  return actionId === null ? null : prisma.bulkAction.findFirst(options);
}

export const BulkActionPayload = builder.objectRef<BulkActionResult>('BulkActionPayload').implement({
  description: 'A bulk action, or the count of a dry run.',
  fields: (t) => ({
    matched: t.int({
      description: 'Number of jobs or dead letters that matched.',
      resolve: matchedOf,
    }),
    action: t.prismaField({
      type: BulkAction,
      nullable: true,
      description: 'The bulk action, which can be watched, paused and cancelled; null for a dry run.',
      resolve: actionOf,
    }),
  }),
});
