import { recentDatabaseTime } from '../../db/connection/clock.ts';
import type { SearchBudget } from '../../db/search/budget.ts';
import {
  countJobs,
  findJobs,
  type JobSelection,
  type JobTimelineRow,
  newestJobs,
  timelineOfJobs,
} from '../../db/search/jobs.ts';
import { assertJobFilter } from '../../domain/check-job-filter.ts';
import { JobferryError } from '../../domain/errors.ts';
import type { JobFilter } from '../../domain/job-filter.ts';
import { MAX_TIMELINE_POINTS, STATS_BUCKET_SECONDS, type TimelineGrid, timelineGrid } from '../../domain/statistics.ts';
import { type Context, planOf } from '../context.ts';
import type { JobSearch, JobTimelinePoint } from '../dashboard.ts';
import type { Account } from '../index.ts';
import { createPayloadSuggestions } from './payload-suggestions.ts';

/** Where counting stops at the latest. */
const MAX_COUNT = 10_000;
const MAX_PAGE = 1000;

/**
 * Jobs of the account's live queues, within the plan's window and retention.
 * @param request what the searches of one request share; left out, each has a budget of its own
 */
export function createJobSearch(
  context: Pick<Context, 'db' | 'periods' | 'plans'>,
  request?: { budget: SearchBudget },
): JobSearch {
  const { db, periods } = context;
  const windowOf = (account: Account) => Math.min(planOf(context, account).window * 1000, periods.retentionMs);
  const select = (account: Account, filter: JobFilter): JobSelection => {
    assertJobFilter(filter);
    return { accountId: account.id, filter, windowMs: windowOf(account), periods, budget: request?.budget };
  };
  return {
    async searchJobs(account, filter, order, slice) {
      return findJobs(db, select(account, filter), order, { ...slice, limit: Math.min(slice.limit, MAX_PAGE) });
    },

    async countJobs(account, filter, max) {
      if (!Number.isInteger(max) || max < 1 || max > MAX_COUNT) {
        throw invalid(`max must be a whole number from 1 to ${MAX_COUNT}`);
      }
      const found = await countJobs(db, select(account, filter), max);
      return { count: Math.min(found, max), exact: found <= max };
    },

    async newestJobs(account, queueIds, filter, limit) {
      const asked = filter.queueIds === undefined ? queueIds : queueIds.filter((id) => filter.queueIds?.includes(id));
      const selection = { ...select(account, filter), filter: { ...filter, queueIds: asked } };
      return newestJobs(db, selection, Math.min(limit, MAX_PAGE));
    },

    async jobTimeline(account, filter, input) {
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

    ...createPayloadSuggestions(db, windowOf, request),
  };
}

/** Every point of the grid, also those in which no job was created. */
function pointsOf(grid: TimelineGrid, rows: readonly JobTimelineRow[]): JobTimelinePoint[] {
  const points = Array.from({ length: grid.count }, (_, n) => ({
    at: new Date(grid.startMs + n * grid.bucketMs),
    pending: 0,
    processing: 0,
    awaitingAck: 0,
    completed: 0,
    dead: 0,
  }));
  for (const { at, status, n } of rows) {
    const point = points[Math.round((at - grid.startMs) / grid.bucketMs)];
    if (point !== undefined) point[status === 'awaiting_ack' ? 'awaitingAck' : status] += n;
  }
  return points;
}

function invalid(message: string): JobferryError {
  return new JobferryError('invalid_request', message);
}
