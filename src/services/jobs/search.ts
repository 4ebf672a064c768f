import { recentDatabaseTime } from '../../db/connection/clock.ts';
import type { SearchBudget } from '../../db/search/budget.ts';
import { groupJobs, type JobGroup } from '../../db/search/job-groups.ts';
import {
  countJobs,
  type JobSelection,
  type JobTimelineRow,
  newestJobs,
  searchJobs,
  timelineOfJobs,
} from '../../db/search/jobs.ts';
import type { SearchScopes } from '../../db/search/scan.ts';
import type { Account } from '../../domain/account.ts';
import { assertJobFilter } from '../../domain/check-job-filter.ts';
import { JobferryError } from '../../domain/errors.ts';
import type { JobDimension, JobFilter, JobOrder } from '../../domain/job-filter.ts';
import { type BoundedCount, MAX_COUNT, type Position, type Slice } from '../../domain/page.ts';
import { ANY, parsePath } from '../../domain/payload-path.ts';
import {
  MAX_TIMELINE_POINTS,
  STATS_BUCKET_SECONDS,
  type TimelineGrid,
  type TimelineInput,
  timelineGrid,
} from '../../domain/statistics.ts';
import type { Context } from '../context.ts';
import { windowOf } from '../pages.ts';
import { createPayloadSuggestions } from './payload-suggestions.ts';

export interface JobTimelinePoint {
  /** Start of the bucket. */
  at: Date;
  /** Jobs created in the bucket, by their present state. */
  due: number;
  scheduled: number;
  retrying: number;
  held: number;
  /** All jobs of these four states. */
  pending: number;
  processing: number;
  awaitingAck: number;
  completed: number;
  dead: number;
}

/** Facts that the searches of one request share. */
export interface SearchRequest {
  budget: SearchBudget;
  scopes?: SearchScopes | undefined;
}

const MAX_PAGE = 1000;

/**
 * Jobs of the account's live queues, within the plan's window and retention.
 * @param request what the searches of one request share; when left out, each search has its own
 */
export function createJobSearch(context: Pick<Context, 'db' | 'periods' | 'plans'>, request?: SearchRequest) {
  const { db, periods } = context;
  const select = (account: Account, filter: JobFilter): JobSelection => {
    assertJobFilter(filter);
    return { accountId: account.id, filter, windowMs: windowOf(context, account), periods, ...request };
  };
  return {
    /**
     * Returns the ids of a slice of the matching jobs, in order, each with its position for a cursor; at most 1000.
     * @throws JobferryError `invalid_request` (filter), `unavailable`
     */
    async search(account: Account, filter: JobFilter, order: JobOrder, slice: Slice): Promise<Position[]> {
      return searchJobs(db, select(account, filter), order, { ...slice, limit: Math.min(slice.limit, MAX_PAGE) });
    },

    /**
     * Counts the matching jobs, up to `max` (1 to 10 000).
     * @throws JobferryError `invalid_request` (filter or max), `unavailable`
     */
    async count(account: Account, filter: JobFilter, max: number): Promise<BoundedCount> {
      if (!Number.isInteger(max) || max < 1 || max > MAX_COUNT) {
        throw invalid(`max must be a whole number from 1 to ${MAX_COUNT}`);
      }
      const found = await countJobs(db, select(account, filter), max);
      return { count: Math.min(found, max), exact: found <= max };
    },

    /**
     * Returns the positions of the newest matching jobs of each of many queues, with one statement for all of them.
     * Queues without a match are left out.
     * @throws JobferryError `invalid_request` (filter), `unavailable`
     */
    async newest(
      account: Account,
      queueIds: readonly string[],
      filter: JobFilter,
      limit: number,
    ): Promise<Map<string, Position[]>> {
      const selectedIds =
        filter.queueIds === undefined ? queueIds : queueIds.filter((id) => filter.queueIds?.includes(id));
      const selection = { ...select(account, filter), filter: { ...filter, queueIds: selectedIds } };
      return newestJobs(db, selection, Math.min(limit, MAX_PAGE));
    },

    /**
     * Counts the matching jobs by one or more dimensions, the largest group first.
     * @param path of the dimension `payload`; null without it
     * @throws JobferryError `invalid_request` (filter, path, or more groups or jobs than one request may read),
     * `unavailable`
     */
    async groups(
      account: Account,
      filter: JobFilter,
      dimensions: readonly JobDimension[],
      path: string | null,
    ): Promise<JobGroup[]> {
      if (dimensions.length === 0) throw invalid('groups need at least one dimension');
      if (dimensions.includes('payload') !== (path !== null))
        throw invalid('give a path with the dimension PAYLOAD, and only with it');
      const steps = path === null ? null : parsePath(path);
      if (steps?.includes(ANY) === true) throw invalid('jobs cannot be grouped by a path with *');
      const groups = await groupJobs(db, select(account, filter), dimensions, steps);
      return groups.sort((one, other) => other.count - one.count);
    },

    /**
     * Counts the matching jobs by the time of their creation.
     * @throws JobferryError `invalid_request` (filter or buckets), `unavailable`
     */
    async timeline(account: Account, filter: JobFilter, input: TimelineInput): Promise<JobTimelinePoint[]> {
      const selection = select(account, filter);
      const grid = timelineGrid(input, (await recentDatabaseTime(db)) - selection.windowMs);
      if (grid === null) {
        throw invalid(
          `bucketSeconds must be a multiple of ${STATS_BUCKET_SECONDS}, and the range at most ${MAX_TIMELINE_POINTS} buckets`,
        );
      }
      const { startMs, bucketMs, count } = grid;
      const rows = await timelineOfJobs(db, selection, { fromMs: startMs, toMs: startMs + count * bucketMs, bucketMs });
      return pointsOf(grid, rows);
    },

    ...createPayloadSuggestions(db, (account) => windowOf(context, account), request),
  };
}

/** Returns all points of the grid, including those without a job. */
function pointsOf(grid: TimelineGrid, rows: readonly JobTimelineRow[]): JobTimelinePoint[] {
  const points = Array.from({ length: grid.count }, (_, n) => ({
    at: new Date(grid.startMs + n * grid.bucketMs),
    due: 0,
    scheduled: 0,
    retrying: 0,
    held: 0,
    pending: 0,
    processing: 0,
    awaitingAck: 0,
    completed: 0,
    dead: 0,
  }));
  for (const { at, state, n } of rows) {
    const point = points[Math.round((at - grid.startMs) / grid.bucketMs)];
    if (point === undefined) continue;
    point[state === 'awaiting_ack' ? 'awaitingAck' : state] += n;
    if (state === 'due' || state === 'scheduled' || state === 'retrying' || state === 'held') point.pending += n;
  }
  return points;
}

function invalid(message: string): JobferryError {
  return new JobferryError('invalid_request', message);
}
