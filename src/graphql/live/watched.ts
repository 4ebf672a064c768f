import { JobferryError } from '../../domain/errors.ts';
import type { Changes, Watch } from '../../live/live.ts';
import type { GraphQLContext } from '../context.ts';
import type { JobRow, QueueRow } from '../loaders.ts';
import type { Selection } from '../selection.ts';
import { accountEventsOf } from './account-events.ts';
import type { JobsUpdatedShape, LiveEventShape } from './events.ts';
import { queuesNow } from './queues-now.ts';
import type { WatchInput } from './watch-input.ts';

/** Maximum number of ids of each kind that a subscription watches. */
const MAX_IDS = 100;

/** A subscription to `live`, and what it selects of the events. */
interface LiveStream {
  context: GraphQLContext;
  selected: Selection;
}

/** @param first the present state of what is watched */
export async function* followAll(
  stream: LiveStream,
  signal: AbortSignal,
  watch: Watch,
  { first, minIntervalMs }: { first: LiveEventShape[]; minIntervalMs: number },
) {
  // A change between the first state and this moment is sent when the subscriber re-reads everything, a second later.
  const changes = stream.context.live.watch(watch, minIntervalMs, signal);
  try {
    yield first;
    for (;;) {
      const next = await changes.next();
      if (next.done === true) return;
      const events = await eventsOf(stream, await withoutOtherJobs(stream.context, next.value, watch));
      if (events.length > 0) yield events;
    }
  } finally {
    await changes.return();
  }
}

/** All queues are watched without their jobs. Those of queues that are watched by id are sent nevertheless. */
async function withoutOtherJobs(context: GraphQLContext, changes: Changes, watch: Watch): Promise<Changes> {
  if (watch.allQueues !== true) return changes;
  const isWatched = (id: string) => watch.jobIds.includes(id);
  const ofQueues = watch.queueIds.length === 0 ? [] : [...changes.jobIds].filter((id) => !isWatched(id));
  context.renew();
  const rows = await context.loaders.job.loadMany(ofQueues);
  const kept = rows.filter(
    (row): row is JobRow => row !== null && !(row instanceof Error) && watch.queueIds.includes(row.queueId),
  );
  return { ...changes, jobIds: new Set([...[...changes.jobIds].filter(isWatched), ...idsOf(kept)]), moreJobs: 0 };
}

async function eventsOf({ context, selected }: LiveStream, changes: Changes): Promise<LiveEventShape[]> {
  context.renew();
  const [jobs, queues, ofAccount] = await Promise.all([
    jobsOf(context, changes, selected.below('jobs')),
    changes.allQueues === true
      ? queuesNow(context, null)
      : queuesOf(context, [...changes.queueIds], selected.below('queues')),
    accountEventsOf(context, changes),
  ]);
  return [...toEvents({ actionIds: [...changes.actionIds], jobs, queues: queues.filter(isLive) }), ...ofAccount];
}

interface Present {
  actionIds: string[];
  jobs: JobsUpdatedShape | null;
  queues: QueueRow[];
}

function toEvents({ actionIds, jobs, queues }: Present): LiveEventShape[] {
  return [
    ...actionIds.map((actionId) => ({ actionId })),
    ...(jobs === null ? [] : [jobs]),
    ...(queues.length === 0 ? [] : [{ queues }]),
  ];
}

export async function jobsOf(
  { loaders }: GraphQLContext,
  { jobIds, moreJobs }: Pick<Changes, 'jobIds' | 'moreJobs'>,
  selected?: Selection,
): Promise<JobsUpdatedShape | null> {
  if (jobIds.size === 0 && moreJobs === 0) return null;
  if (selected !== undefined) loaders.selectOfJobs(selected);
  const rows = await loaders.job.loadMany([...jobIds]);
  const jobs = rows.filter((row): row is JobRow => row !== null && !(row instanceof Error));
  return jobs.length === 0 && moreJobs === 0 ? null : { jobs, more: moreJobs };
}

/** Reads queues with what is selected of them. Their other fields, and those of their jobs, find the rows read. */
async function queuesOf({ loaders }: GraphQLContext, ids: readonly string[], selected: Selection): Promise<QueueRow[]> {
  if (ids.length === 0) return [];
  loaders.selectOfQueues(selected);
  const rows = await Promise.all(ids.map((id) => loaders.queue.load(id)));
  const queues = rows.filter((row): row is QueueRow => row !== null);
  return queues.sort((one, other) => (one.id < other.id ? -1 : 1));
}

const isLive = ({ deletedAt }: QueueRow) => deletedAt === null;

export function watchOf({ account }: GraphQLContext, watch: Partial<Watch>): Watch {
  return { accountId: account.id, queueIds: [], jobIds: [], actionIds: [], ...watch };
}

/**
 * Keeps only ids of the account, and returns the present state of these objects. Ids of other accounts are ignored, the
 * same as unknown ones.
 */
export async function ownWatch(
  stream: LiveStream,
  input: typeof WatchInput.$inferInput,
): Promise<{ own: Watch; first: LiveEventShape[] }> {
  const { context, selected } = stream;
  const { prisma, account } = context;
  const requested = { queues: input.queueIds ?? [], jobs: input.jobIds ?? [], actions: input.actionIds ?? [] };
  for (const ids of Object.values(requested)) {
    if (ids.length > MAX_IDS)
      throw new JobferryError('invalid_request', `watch at most ${MAX_IDS} objects of each kind`);
  }
  const allQueues = input.allQueues === true;
  const [queues, jobs, actions] = await Promise.all([
    queuesOf(context, [...new Set(requested.queues)], selected.below('queues')),
    jobsOf(context, { jobIds: new Set(requested.jobs), moreJobs: 0 }, selected.below('jobs')),
    requested.actions.length === 0
      ? []
      : prisma.bulkAction.findMany({
          where: { id: { in: requested.actions }, accountId: account.id },
          select: { id: true },
        }),
  ]);
  const own = watchOf(context, {
    queueIds: idsOf(queues),
    jobIds: idsOf(jobs?.jobs ?? []),
    actionIds: idsOf(actions),
    allQueues,
    lists: [
      ...(input.errorGroups === true ? (['deadLetters'] as const) : []),
      ...(input.auditLog === true ? (['auditLog'] as const) : []),
      ...(input.instances === true ? (['instances'] as const) : []),
    ],
  });
  const shown = allQueues ? await queuesNow(context, null) : queues.filter(isLive);
  // The newest rows of these lists are read by the fields of the events.
  const lists = [
    ...(input.auditLog === true ? [{ auditLog: true as const }] : []),
    ...(input.instances === true ? [{ instances: true as const }] : []),
  ];
  return { own, first: [...toEvents({ actionIds: [...own.actionIds], jobs, queues: shown }), ...lists] };
}

function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map(({ id }) => id);
}
