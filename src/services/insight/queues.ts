import { recentDatabaseTime } from '../../db/connection/clock.ts';
import { type IgnoredNames, ignoredNames } from '../../db/insight/instances.ts';
import { lastAttempts } from '../../db/insight/last-attempts.ts';
import {
  type DepthRow,
  type QueueNow,
  type QueueNowRequest,
  type QueuePart,
  queueNow,
} from '../../db/insight/queue-now.ts';
import { jobsAhead, liveQueueIds, MAX_AHEAD, type WaitingFacts, waitingJobs } from '../../db/insight/queues.ts';
import { totalStats } from '../../db/insight/statistics.ts';
import { troubledQueues } from '../../db/insight/troubled.ts';
import type { QueueRow } from '../../db/rows.ts';
import { SearchBudget } from '../../db/search/budget.ts';
import type { Account } from '../../domain/account.ts';
import { JobferryError } from '../../domain/errors.ts';
import type { QueueHealth } from '../../domain/health.ts';
import { bucketOf } from '../../domain/histogram.ts';
import { firstIdAt, isId } from '../../domain/id.ts';
import type { JobStateName } from '../../domain/job-filter.ts';
import {
  MAX_TIMELINE_POINTS,
  STATS_BUCKET_SECONDS,
  type TimelineGrid,
  type TimelineInput,
  type TimelinePoint,
  timelineGrid,
  timelineOf,
} from '../../domain/statistics.ts';
import { type Waiting, waitingMessageWithoutTexts, whyWaiting } from '../../domain/waiting.ts';
import { type WarningStarts, warningRange, warningStarts } from '../../domain/warning-starts.ts';
import type { Context } from '../context.ts';
import { healthsOf } from './healths.ts';

export type { IgnoredNames } from '../../db/insight/instances.ts';
export type { QueueRow } from '../../db/rows.ts';

/** Numbers of jobs by state. */
export type QueueDepth = Readonly<Record<JobStateName, number>> & {
  /** `scheduledFor` of the oldest due job; null when none is due. */
  readonly oldestDueAt: Date | null;
  /** `scheduledFor` of the next job that waits for a later time: scheduled, in back-off or held; null if none does. */
  readonly nextDueAt: Date | null;
  /** First ack deadline of the jobs that await a report; null when none does. */
  readonly firstAckDeadline: Date | null;
};

/** Why a job waits, with a second sentence for clients that may not see what receivers wrote. */
export type ShownWaiting = Waiting & { messageWithoutTexts: string };

export interface QueueUse {
  /** Jobs that are processing or awaiting_ack (D11). */
  inFlight: number;
  /** Deliveries of the present rate window; null without a rate limit. */
  rate: { used: number; max: number; resetsAt: Date } | null;
}

/** A chart of a queue. */
export interface QueueTimelineInput extends TimelineInput {
  /** Whether the jobs published in each bucket are counted. */
  published?: boolean | undefined;
}

/** The parts that are asked of queues. */
interface StateRequest {
  parts: readonly ('row' | 'depth' | 'use' | 'health' | 'publishedLastMinute')[];
  /** Names of further live queues, of which the row must be asked for. */
  names?: readonly string[] | undefined;
  /** Charts within the last hour (`isOfLastHour`), at most one of them with published jobs. */
  recent?: readonly QueueTimelineInput[] | undefined;
}

/** The parts that were asked of a queue; the rest is null or empty. */
export interface QueueState {
  row: QueueRow | null;
  depth: QueueDepth | null;
  use: QueueUse | null;
  /** Ids of the jobs of the last hold that have not been removed; with `use`. */
  holdJobs: { askedBy: string | null; probe: string | null } | null;
  health: QueueHealth | null;
  /** Number of jobs that were published in the last 60 s. */
  publishedLastMinute: number | null;
  /** The charts of the request, in its order. */
  recent: TimelinePoint[][];
}

const MINUTE_MS = 60_000;

export type QueueInsight = ReturnType<typeof createQueueInsight>;

/**
 * The state and statistics of queues. Each method reads many queues with one statement. Results leave out ids that
 * belong to no live queue of the account.
 * @throws JobferryError `unavailable`, and what the method names
 */
export function createQueueInsight(context: Pick<Context, 'db' | 'periods' | 'server'>) {
  const { db, periods, server } = context;
  const { retentionMs } = periods;
  const gridNow = async (input: TimelineInput) => {
    const earliestMs = (await recentDatabaseTime(db)) - retentionMs;
    return { grid: gridOf(input, earliestMs), earliestMs };
  };
  const read = (account: Account, queueIds: readonly string[], request: QueueNowRequest) =>
    queueNow(db.reading(account.id), account.id, queueIds.filter(isId), request, periods);

  /** The attempts of queues in a range, and the published jobs by span if they are asked for. */
  const overTime = async (
    account: Account,
    queueIds: readonly string[],
    { published, ...input }: QueueTimelineInput,
  ) => {
    const { grid, earliestMs } = await gridNow(input);
    const range = { from: new Date(grid.startMs), to: new Date(grid.startMs + grid.count * grid.bucketMs) };
    const parts = new Set<QueuePart>(published ? ['attempts', 'published'] : ['attempts']);
    const spans = published ? spansOf(grid, earliestMs) : undefined;
    return { grid, queues: await read(account, queueIds, { parts, range, spans }) };
  };

  return {
    /**
     * Returns what is asked of queues, with one statement. A deleted queue has nothing but its row.
     * @throws JobferryError `invalid_request` (buckets)
     */
    async states(
      account: Account,
      queueIds: readonly string[],
      { parts, names, recent = [] }: StateRequest,
    ): Promise<Map<string, QueueState>> {
      const charts = await Promise.all(recent.map(async (input) => ({ input, ...(await gridNow(input)) })));
      const counted = charts.find(({ input }) => input.published === true);
      const wanted = new Set<QueuePart>(parts.map(partOf));
      if (charts.length > 0) wanted.add('attempts');
      if (counted !== undefined) wanted.add('published');
      const ofChart = counted === undefined ? NO_SPANS : spansOf(counted.grid, counted.earliestMs);
      const ofMinute = parts.includes('publishedLastMinute') ? lastMinute(await recentDatabaseTime(db)) : NO_SPANS;
      const spans = {
        firstIds: [...ofMinute.firstIds, ...ofChart.firstIds],
        lastIds: [...ofMinute.lastIds, ...ofChart.lastIds],
      };
      const queues = await read(account, queueIds, { parts: wanted, names, spans });
      const ofHour = parts.includes('health') ? mapped(queues, ({ attempts }) => attempts) : new Map();
      const healths = await healthsOf(context, account, ofHour);
      return new Map(
        [...queues].map(([id, { row, depth, use, holdJobs, attempts, published }]) => [
          id,
          {
            row: row ?? null,
            depth: depth === undefined ? null : toDepth(depth),
            use: use ?? null,
            holdJobs: holdJobs ?? null,
            health: healths.get(id) ?? null,
            publishedLastMinute: ofMinute === NO_SPANS ? null : (published?.[0] ?? null),
            recent: charts.map((chart) =>
              timelineOf(
                chart.grid,
                attempts ?? [],
                chart === counted ? published?.slice(ofMinute.firstIds.length) : undefined,
              ),
            ),
          },
        ]),
      );
    },

    /**
     * Returns the attempts of queues over time. Calls within a second share the result (`shared-statistics`); every
     * other method returns the present state.
     * @throws JobferryError `invalid_request` (buckets)
     */
    async timelines(
      account: Account,
      queueIds: readonly string[],
      input: QueueTimelineInput,
    ): Promise<Map<string, TimelinePoint[]>> {
      const { grid, queues } = await overTime(account, queueIds, input);
      return mapped(queues, ({ attempts = [], published }) => timelineOf(grid, attempts, published));
    },

    /**
     * Returns the attempts of all live queues of the account together over time.
     * Calls within a second share the result.
     * @throws JobferryError `invalid_request` (buckets, or more statistics than a search may read)
     */
    async totalTimeline(account: Account, { published, ...input }: QueueTimelineInput): Promise<TimelinePoint[]> {
      const { grid, earliestMs } = await gridNow(input);
      // Not the budget of a request, because several share the result.
      const reading = db.reading(account.id, { budget: new SearchBudget() });
      const queueIds = await liveQueueIds(reading, account.id);
      const stats = await totalStats(reading, account.id, queueIds, grid, retentionMs);
      if (!published) return timelineOf(grid, stats);
      const spans = spansOf(grid, earliestMs);
      const queues = await read(account, queueIds, { parts: new Set<QueuePart>(['published']), spans });
      const all = [...queues.values()];
      const counts = Array.from({ length: grid.count }, (_, n) =>
        all.reduce((sum, queue) => sum + (queue.published?.[n] ?? 0), 0),
      );
      return timelineOf(grid, stats, counts);
    },

    /**
     * Returns those live queues that may need a hand, of all whose name is like the pattern, or of all if it is null.
     * No more than `MAX_TROUBLED`; then those with the most trouble.
     */
    async troubled(account: Account, name: string | null): Promise<string[]> {
      const slowFrom = bucketOf(server.webhookTimeoutMs / 2);
      return troubledQueues(db.reading(account.id), account.id, name, slowFrom, retentionMs);
    },

    /** Returns since when queues have their present warnings. */
    async warningStarts(account: Account, queueIds: readonly string[]): Promise<Map<string, WarningStarts>> {
      const now = await recentDatabaseTime(db);
      const parts = new Set<QueuePart>(['attempts']);
      const queues = await read(account, queueIds, { parts, range: warningRange(now) });
      return mapped(queues, ({ attempts = [] }) => warningStarts(attempts, now, server.webhookTimeoutMs));
    },

    /** Returns names that publishes to queues have and the API ignores (D37), by the name of the queue. */
    async ignoredNames(account: Account, names: readonly string[]): Promise<Map<string, IgnoredNames>> {
      return ignoredNames(db.reading(account.id), account.id, names);
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
      return new Map(jobs.map((facts) => [facts.id, shownWaiting(facts)]));
    },
  };
}

/** Returns why a job waits. */
export function shownWaiting({ job, queue, now }: WaitingFacts): ShownWaiting {
  return { ...whyWaiting(job, queue, now), messageWithoutTexts: waitingMessageWithoutTexts(job, queue, now) };
}

function toDepth({ oldest, next, first_deadline, ...row }: DepthRow): QueueDepth {
  const { due, scheduled, retrying, held, processing, awaiting_ack, completed, dead } = row;
  const times = { oldestDueAt: oldest, nextDueAt: next, firstAckDeadline: first_deadline };
  return { due, scheduled, retrying, held, processing, awaiting_ack, completed, dead, ...times };
}

function mapped<Value>(queues: Map<string, QueueNow>, of: (queue: QueueNow) => Value): Map<string, Value> {
  return new Map([...queues].map(([id, queue]) => [id, of(queue)]));
}

function partOf(part: StateRequest['parts'][number]): QueuePart {
  if (part === 'health') return 'attempts';
  return part === 'publishedLastMinute' ? 'published' : part;
}

interface Spans {
  firstIds: string[];
  lastIds: string[];
}

const NO_SPANS: Spans = { firstIds: [], lastIds: [] };

/** A job may be published by a clock that is ahead. */
function lastMinute(now: number): Spans {
  return { firstIds: [firstIdAt(now - MINUTE_MS)], lastIds: [firstIdAt(now + MINUTE_MS)] };
}

/** The spans of a chart as ranges of ids. Jobs past retention are not counted. */
function spansOf({ startMs, bucketMs, count }: TimelineGrid, earliestMs: number) {
  const starts = Array.from({ length: count + 1 }, (_, n) => firstIdAt(Math.max(startMs + n * bucketMs, earliestMs)));
  return { firstIds: starts.slice(0, -1), lastIds: starts.slice(1) };
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
