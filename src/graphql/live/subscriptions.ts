import { setTimeout as sleep } from 'node:timers/promises';
import { JobferryError, notFound } from '../../domain/errors.ts';
import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';
import { visibleJob } from '../jobs/visible.ts';
import { Selection } from '../selection.ts';
import { BulkActionProgress, JobsUpdated, LiveEvent, QueueStats } from './events.ts';
import { MAX_EACH, queuesNow } from './queues-now.ts';
import { mostObjects, WatchInput } from './watch-input.ts';
import { followAll, jobsOf, ownWatch, watchOf } from './watched.ts';

const LIMITS = { intervalMs: { min: 100, max: 60_000 }, everySeconds: { min: 1, max: 3600 } };

builder.subscriptionFields((t) => ({
  jobUpdated: t.field({
    type: JobsUpdated,
    description: 'Changes of a job, or of the jobs of a queue. A single job is also sent at the start.',
    args: {
      queueId: t.arg.id({ description: 'Id of the queue whose jobs are watched; give either this or `jobId`.' }),
      jobId: t.arg.id({ description: 'Id of the job; give either this or `queueId`.' }),
    },
    complexity: ({ jobId }) => ({ field: 1, multiplier: jobId == null ? 1 : 1 / MAX_EACH }),
    subscribe: async (_root, { queueId, jobId }, context) =>
      context.streams.follow(context, (signal) => followJobs(context, signal, queueId ?? null, jobId ?? null)),
    resolve: fresh,
  }),
  queueStats: t.field({
    type: QueueStats,
    description: 'A queue, or up to 100 queues of the account, sent at the start and then repeatedly.',
    args: {
      queueId: t.arg.id({ description: 'Id of the queue; all queues by default.' }),
      everySeconds: t.arg.int({
        required: true,
        defaultValue: 5,
        description: 'Minimum time between two events in seconds, 1 to 3600.',
      }),
    },
    complexity: ({ queueId }) => ({ field: 1, multiplier: queueId == null ? 1 : 1 / MAX_EACH }),
    subscribe: async (_root, { queueId, everySeconds }, context) => {
      assertWithin('everySeconds', everySeconds, LIMITS.everySeconds);
      if (queueId != null) await withPlace(context, () => ownQueue(context, queueId));
      return context.streams.follow(context, (signal) =>
        statsAtInterval(context, signal, queueId ?? null, everySeconds * 1000),
      );
    },
    resolve: fresh,
  }),
  bulkActionProgress: t.field({
    type: BulkActionProgress,
    description:
      'A bulk action, sent at the start and whenever it makes progress. The subscription ends when the bulk action ends.',
    args: { id: t.arg.id({ required: true, description: 'Id of the bulk action.' }) },
    subscribe: async (_root, { id }, context) => {
      const status = await withPlace(context, () => statusOfAction(context, id));
      if (status === null) throw notFound('bulk action');
      return context.streams.follow(context, (signal) => followAction(context, signal, id));
    },
    resolve: fresh,
  }),
  live: t.field({
    type: [LiveEvent],
    description:
      'Changes of all watched objects over one connection. A page needs no more, and a browser opens at most six connections per host over HTTP/1.1. The present state is sent at the start.',
    args: {
      watch: t.arg({ type: WatchInput, required: true, description: 'The objects to watch.' }),
      minIntervalMs: t.arg.int({
        required: true,
        defaultValue: 1000,
        description:
          'Minimum time between two events in milliseconds, 100 to 60000. Changes within this time are sent together.',
      }),
    },
    // An interval has one event with jobs, one with queues, one for each bulk action, and one for each list.
    complexity: ({ watch }) => ({ field: 1, multiplier: mostObjects(watch) / MAX_EACH }),
    subscribe: async (_root, { watch, minIntervalMs }, context, info) => {
      assertWithin('minIntervalMs', minIntervalMs, LIMITS.intervalMs);
      const stream = { context, selected: Selection.of(info) };
      const { own, first } = await withPlace(context, () => ownWatch(stream, watch));
      return context.streams.follow(context, (signal) => followAll(stream, signal, own, { first, minIntervalMs }));
    },
    // The parts of the objects of an event were read together with them.
    resolve: (events) => events,
  }),
}));

/** Discards what was read for the previous event. */
function fresh<Event>(event: Event, _args: unknown, context: GraphQLContext): Event {
  context.renew();
  return event;
}

/** A queue at full speed changes hundreds of jobs a second, and each event reads some of them. */
const JOB_INTERVAL_MS = 250;
const QUEUE_INTERVAL_MS = 1000;

async function* followJobs(context: GraphQLContext, signal: AbortSignal, queueId: string | null, jobId: string | null) {
  if ((queueId === null) === (jobId === null)) {
    throw new JobferryError('invalid_request', 'give either queueId or jobId');
  }
  const job = await withPlace(context, async () => {
    if (queueId !== null) await ownQueue(context, queueId);
    return jobId === null ? null : visibleJob(context, jobId);
  });
  if (jobId !== null && job === null) throw notFound('job');

  const watch = watchOf(context, {
    queueIds: queueId === null ? [] : [queueId],
    jobIds: jobId === null ? [] : [jobId],
  });
  const intervalMs = queueId === null ? JOB_INTERVAL_MS : QUEUE_INTERVAL_MS;
  // The watch misses no change from here on. The first event is the job as it was read above.
  const rounds = context.live.watch(watch, intervalMs, signal);
  try {
    if (job !== null) yield { jobs: [job], more: 0 };
    for await (const changes of rounds) {
      context.renew();
      const event = await jobsOf(context, changes);
      if (event !== null) yield event;
    }
  } finally {
    await rounds.return();
  }
}

async function* statsAtInterval(context: GraphQLContext, signal: AbortSignal, queueId: string | null, everyMs: number) {
  const leave = context.live.admit(context.account.id);
  try {
    for (;;) {
      const queues = await queuesNow(context, queueId === null ? null : [queueId]);
      if (queueId !== null && queues.length === 0) return;
      yield { queues };
      // The sleep was aborted: the client has disconnected, or the service stops.
      if (!(await sleep(everyMs, true, { signal, ref: false }).catch(() => false))) return;
    }
  } finally {
    leave();
  }
}

async function* followAction(context: GraphQLContext, signal: AbortSignal, id: string) {
  const changes = context.live.watch(watchOf(context, { actionIds: [id] }), 250, signal);
  try {
    for (;;) {
      const status = await statusOfAction(context, id);
      yield { actionId: id };
      if (status !== 'running' && status !== 'paused') return;
      if ((await changes.next()).done === true) return;
    }
  } finally {
    await changes.return();
  }
}

/**
 * Reads what a subscription needs first, within a place of the account, which is given back. Those above the bound are
 * refused without a statement: a thousand at once would keep the connections for reading from all others.
 */
async function withPlace<T>({ live, account }: GraphQLContext, read: () => Promise<T>): Promise<T> {
  const leave = live.admit(account.id);
  try {
    return await read();
  } finally {
    leave();
  }
}

async function ownQueue({ loaders }: GraphQLContext, id: string): Promise<void> {
  const queue = await loaders.queue.load(id);
  if (queue === null || queue.deletedAt !== null) throw notFound('queue');
}

async function statusOfAction({ prisma, account }: GraphQLContext, id: string): Promise<string | null> {
  const action = await prisma.bulkAction.findFirst({ where: { id, accountId: account.id }, select: { status: true } });
  return action?.status ?? null;
}

function assertWithin(name: string, value: number, { min, max }: { min: number; max: number }): void {
  if (value < min || value > max) throw new JobferryError('invalid_request', `${name} must be from ${min} to ${max}`);
}
