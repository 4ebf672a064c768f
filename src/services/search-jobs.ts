import { recentDatabaseTime } from '../db/clock.ts';
import {
  countJobs,
  findJobs,
  type JobSelection,
  type JobTimelineRow,
  newestJobs,
  timelineOfJobs,
} from '../db/job-search.ts';
import { samplePayloads } from '../db/payload-sample.ts';
import { assertJobFilter } from '../domain/check-job-filter.ts';
import { JobferryError } from '../domain/errors.ts';
import { isId } from '../domain/id.ts';
import type { JobFilter } from '../domain/job-filter.ts';
import { parsePath, pathsOf, valuesAt } from '../domain/payload-path.ts';
import { MAX_TIMELINE_POINTS, STATS_BUCKET_SECONDS, type TimelineGrid, timelineGrid } from '../domain/statistics.ts';
import { isStorableText } from '../domain/text.ts';
import { type Context, planOf } from './context.ts';
import type { JobSearch, JobTimelinePoint, PayloadValue } from './dashboard.ts';
import type { Account } from './index.ts';

/** Where counting stops at the latest. */
const MAX_COUNT = 10_000;
const MAX_PAGE = 1000;
/** What is longer is no help in a suggestion. */
const MAX_SUGGESTION_LENGTH = 256;

/** Jobs of the account's live queues, within the plan's window and retention. */
export function createJobSearch(context: Pick<Context, 'db' | 'periods' | 'plans'>): JobSearch {
  const { db, periods } = context;
  const windowOf = (account: Account) => Math.min(planOf(context, account).window * 1000, periods.retentionMs);
  const select = (account: Account, filter: JobFilter): JobSelection => {
    assertJobFilter(filter);
    return { accountId: account.id, filter, windowMs: windowOf(account), periods };
  };
  const sample = async (account: Account, queueId: string | null): Promise<unknown[]> => {
    if (queueId !== null && !isId(queueId)) return [];
    const texts = await samplePayloads(db, { accountId: account.id, queueId, windowMs: windowOf(account) });
    return texts.map((text): unknown => JSON.parse(text));
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

    async payloadPaths(account, queueId, prefix, limit) {
      assertPrefix(prefix);
      const paths = (await sample(account, queueId)).flatMap((payload) => pathsOf(payload));
      return mostFrequent(paths, prefix, limit);
    },

    async payloadValues(account, queueId, path, prefix, limit) {
      assertPrefix(prefix);
      const names = parsePath(path);
      const values = (await sample(account, queueId)).flatMap((payload) => valuesAt(payload, names).map(String));
      return mostFrequent(values, prefix, limit);
    },
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

function mostFrequent(found: readonly string[], prefix: string, limit: number): PayloadValue[] {
  const start = prefix.toLowerCase();
  const counts = new Map<string, number>();
  for (const value of found) {
    if (value.length > MAX_SUGGESTION_LENGTH || !value.toLowerCase().startsWith(start)) continue;
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1))
    .slice(0, Math.max(0, limit));
}

function assertPrefix(prefix: string): void {
  if (prefix.length > MAX_SUGGESTION_LENGTH || !isStorableText(prefix)) {
    throw invalid(`prefix: at most ${MAX_SUGGESTION_LENGTH} characters, and neither NUL nor lone surrogates`);
  }
}

function invalid(message: string): JobferryError {
  return new JobferryError('invalid_request', message);
}
