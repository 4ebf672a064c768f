import { recentDatabaseTime } from '../../db/connection/clock.ts';
import { lastAttempts } from '../../db/insight/last-attempts.ts';
import { jobsAhead, liveQueueIds, MAX_AHEAD, queueDepths, queueUses, waitingJobs } from '../../db/insight/queues.ts';
import { queueStats } from '../../db/insight/statistics.ts';
import type { Account } from '../../domain/account.ts';
import { JobferryError } from '../../domain/errors.ts';
import { healthOf, type QueueHealth, type WarningStarts, warningRange, warningStarts } from '../../domain/health.ts';
import { isId } from '../../domain/id.ts';
import type { JobStateName } from '../../domain/job-filter.ts';
import {
  MAX_TIMELINE_POINTS,
  STATS_BUCKET_SECONDS,
  sumOf,
  type TimelineGrid,
  type TimelineInput,
  type TimelinePoint,
  timelineGrid,
  timelineOf,
} from '../../domain/statistics.ts';
import { type Waiting, waitingMessageWithoutTexts, whyWaiting } from '../../domain/waiting.ts';
import type { Context } from '../context.ts';

/** Numbers of jobs by state. */
export type QueueDepth = Readonly<Record<JobStateName, number>> & {
  /** `scheduledFor` of the oldest due job; null when none is due. */
  readonly oldestDueAt: Date | null;
};

/** Why a job waits, with a second sentence for clients that may not see what receivers wrote. */
export type ShownWaiting = Waiting & { messageWithoutTexts: string };

export interface QueueUse {
  /** Jobs that are processing or awaiting_ack (D11). */
  inFlight: number;
  /** Deliveries of the present rate window; null without a rate limit. */
  rate: { used: number; max: number; resetsAt: Date } | null;
}

export type QueueInsight = ReturnType<typeof createQueueInsight>;

/**
 * The state and statistics of queues. Each method reads many queues with one statement. Results leave out ids that
 * belong to no live queue of the account.
 * @throws JobferryError `unavailable`, and what the method names
 */
export function createQueueInsight(context: Pick<Context, 'db' | 'periods' | 'server'>) {
  const { db, periods, server } = context;
  const { retentionMs } = periods;
  return {
    /** Counts the jobs of queues by state. */
    async depths(account: Account, queueIds: readonly string[]): Promise<Map<string, QueueDepth>> {
      const rows = await queueDepths(db.reading(account.id), account.id, queueIds.filter(isId), periods);
      return new Map(rows.map(({ id, oldest, ...counts }) => [id, { ...counts, oldestDueAt: oldest }]));
    },

    /** Returns the used slots and the used rate limit of queues. */
    async uses(account: Account, queueIds: readonly string[]): Promise<Map<string, QueueUse>> {
      return queueUses(db.reading(account.id), account.id, queueIds.filter(isId));
    },

    /**
     * Returns the attempts of queues over time. Calls within a second share the result (`shared-statistics`); every
     * other method returns the present state.
     * @throws JobferryError `invalid_request` (buckets)
     */
    async timelines(
      account: Account,
      queueIds: readonly string[],
      input: TimelineInput,
    ): Promise<Map<string, TimelinePoint[]>> {
      const grid = gridOf(input, (await recentDatabaseTime(db)) - retentionMs);
      const range = {
        from: new Date(grid.startMs),
        to: new Date(grid.startMs + grid.count * grid.bucketMs),
      };
      const stats = await queueStats(db.reading(account.id), account.id, queueIds.filter(isId), range, retentionMs);
      return new Map([...stats].map(([id, rows]) => [id, timelineOf(grid, rows)]));
    },

    /**
     * Returns the attempts of all live queues of the account together over time. Calls within a second share the result.
     * @throws JobferryError `invalid_request` (buckets)
     */
    async totalTimeline(account: Account, input: TimelineInput): Promise<TimelinePoint[]> {
      const grid = gridOf(input, (await recentDatabaseTime(db)) - retentionMs);
      const range = { from: new Date(grid.startMs), to: new Date(grid.startMs + grid.count * grid.bucketMs) };
      const reading = db.reading(account.id);
      const stats = await queueStats(reading, account.id, await liveQueueIds(reading, account.id), range, retentionMs);
      return timelineOf(grid, [...stats.values()].flat());
    },

    /** Returns how the receivers of queues answered in the last hour. */
    async healths(account: Account, queueIds: readonly string[]): Promise<Map<string, QueueHealth>> {
      const stats = await queueStats(db.reading(account.id), account.id, queueIds.filter(isId), null, retentionMs);
      return new Map([...stats].map(([id, rows]) => [id, healthOf(sumOf(rows), server.webhookTimeoutMs)]));
    },

    /** Returns since when queues have their present warnings. */
    async warningStarts(account: Account, queueIds: readonly string[]): Promise<Map<string, WarningStarts>> {
      const now = await recentDatabaseTime(db);
      const reading = db.reading(account.id);
      const stats = await queueStats(reading, account.id, queueIds.filter(isId), warningRange(now), retentionMs);
      return new Map([...stats].map(([id, rows]) => [id, warningStarts(rows, now, server.webhookTimeoutMs)]));
    },

    /** Returns when the last attempt of queues ended; queues without one are left out. */
    async lastDeliveries(account: Account, queueIds: readonly string[]): Promise<Map<string, Date>> {
      return lastAttempts(db.reading(account.id), account.id, queueIds.filter(isId), retentionMs);
    },

    /** Returns when the last attempt of any queue ended; null if there is none. */
    async lastDelivery(account: Account): Promise<Date | null> {
      const times = await lastAttempts(db.reading(account.id), account.id, null, retentionMs);
      return [...times.values()].reduce<Date | null>((last, at) => (last === null || at > last ? at : last), null);
    },

    /** Returns how many jobs of its queue are scheduled before each pending job; null above 1000. */
    async aheads(account: Account, jobIds: readonly string[]): Promise<Map<string, number | null>> {
      const counts = await jobsAhead(db.reading(account.id), account.id, jobIds.filter(isId));
      return new Map([...counts].map(([id, ahead]) => [id, ahead > MAX_AHEAD ? null : ahead]));
    },

    /** Returns why pending jobs are not being delivered now; other jobs are left out. */
    async waitings(account: Account, jobIds: readonly string[]): Promise<Map<string, ShownWaiting>> {
      const jobs = await waitingJobs(db.reading(account.id), account.id, jobIds.filter(isId));
      return new Map(
        jobs.map(({ id, job, queue, now }) => {
          const messageWithoutTexts = waitingMessageWithoutTexts(job, queue, now);
          return [id, { ...whyWaiting(job, queue, now), messageWithoutTexts }];
        }),
      );
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
