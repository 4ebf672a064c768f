import { recentDatabaseTime } from '../../db/connection/clock.ts';
import { queueDepths, queueUses, waitingJobs } from '../../db/insight/queues.ts';
import { queueStats } from '../../db/insight/statistics.ts';
import { JobferryError } from '../../domain/errors.ts';
import { healthOf } from '../../domain/health.ts';
import { isId } from '../../domain/id.ts';
import {
  MAX_TIMELINE_POINTS,
  STATS_BUCKET_SECONDS,
  sumOf,
  type TimelineGrid,
  timelineGrid,
  timelineOf,
} from '../../domain/statistics.ts';
import { whyWaiting } from '../../domain/waiting.ts';
import type { Context } from '../context.ts';
import type { QueueInsight, TimelineInput } from '../dashboard.ts';

/** How queues do. Ids that are not of a live queue of the account are left out of every answer. */
export function createQueueInsight(context: Pick<Context, 'db' | 'periods' | 'server'>): QueueInsight {
  const { db, periods, server } = context;
  const { retentionMs } = periods;
  return {
    async depths(account, queueIds) {
      const rows = await queueDepths(db.reading(account.id), account.id, queueIds.filter(isId), periods);
      return new Map(rows.map(({ id, oldest, ...counts }) => [id, { ...counts, oldestDueAt: oldest }]));
    },

    uses: (account, queueIds) => queueUses(db.reading(account.id), account.id, queueIds.filter(isId)),

    async timelines(account, queueIds, input) {
      const grid = gridOf(input, (await recentDatabaseTime(db)) - retentionMs);
      const range = {
        from: new Date(grid.startMs),
        to: new Date(grid.startMs + grid.count * grid.bucketMs),
      };
      const stats = await queueStats(db.reading(account.id), account.id, queueIds.filter(isId), range, retentionMs);
      return new Map([...stats].map(([id, rows]) => [id, timelineOf(grid, rows)]));
    },

    async healths(account, queueIds) {
      const stats = await queueStats(db.reading(account.id), account.id, queueIds.filter(isId), null, retentionMs);
      return new Map([...stats].map(([id, rows]) => [id, healthOf(sumOf(rows), server.webhookTimeoutMs)]));
    },

    async waitings(account, jobIds) {
      const jobs = await waitingJobs(db.reading(account.id), account.id, jobIds.filter(isId));
      return new Map(jobs.map(({ id, job, queue, now }) => [id, whyWaiting(job, queue, now)]));
    },
  };
}

/** @throws JobferryError `invalid_request` */
function gridOf(input: TimelineInput, earliestMs: number): TimelineGrid {
  const grid = timelineGrid(input, earliestMs);
  if (grid !== null) return grid;
  throw new JobferryError(
    'invalid_request',
    `bucketSeconds must be a multiple of ${STATS_BUCKET_SECONDS}, and the range at most ${MAX_TIMELINE_POINTS} buckets`,
  );
}
