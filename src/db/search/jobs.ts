import { JobferryError } from '../../domain/errors.ts';
import { firstIdAt } from '../../domain/id.ts';
import type { JobOrder } from '../../domain/job-filter.ts';
import type { Position, Slice } from '../../domain/page.ts';
import type { Database } from '../connection/database.ts';
import { hasConditions, STATE_COLUMNS, stateOfRow } from './job-conditions.ts';
import { countByIndex, isCountable, type JobTimelineRow } from './job-timeline.ts';
import type { Values } from './payload-conditions.ts';
import { after, type JobSelection, maxOf, minOf, openSearch, type Search, scan } from './scan.ts';
import { candidateSources, newestStatement } from './statements.ts';

export type { JobTimelineRow } from './job-timeline.ts';
export type { JobSelection } from './scan.ts';

/** Returns a slice of the ordered list of all matching jobs; `at` is missing when the list is ordered by id. */
export async function searchJobs(
  db: Database,
  selection: JobSelection,
  order: JobOrder,
  slice: Slice,
): Promise<Position[]> {
  if (slice.limit <= 0) return [];
  const search = await openSearch(db, selection);
  return order.field === 'created_at'
    ? findById(search, order.descending, slice)
    : findByColumn(search, { ...order, field: order.field }, slice);
}

async function findById(search: Search, descending: boolean, slice: Slice): Promise<Position[]> {
  const { limit, inverted } = slice;
  const [lower, upper] = descending ? [slice.before, slice.after] : [slice.after, slice.before];
  const range = {
    from: lower === undefined ? search.range.from : maxOf(search.range.from, after(lower.id)),
    below: upper === undefined ? search.range.below : minOf(search.range.below, upper.id),
  };
  const isDown = descending !== inverted;
  const found: Position[] = [];
  await scan<{ id: string }>(
    { ...search, range },
    {
      descending: isDown,
      walkFirst: true,
      enough: limit,
      projection: {
        columns: ['id'],
        sql: (rows, values) =>
          `select true as matched, r.id from (${rows}) r order by r.id ${isDown ? 'desc' : 'asc'} limit ${values.add(limit)}`,
      },
      take: (rows) => {
        const ids = rows.map(({ id }) => id).sort();
        for (const id of isDown ? ids.reverse() : ids) if (found.length < limit) found.push({ id });
        return found.length;
      },
    },
  );
  return found;
}

type ColumnOrder = JobOrder & { field: Exclude<JobOrder['field'], 'created_at'> };

/** No index has this order over all states, so every matching job is read, and the first ones are kept. */
async function findByColumn(search: Search, order: ColumnOrder, slice: Slice): Promise<Position[]> {
  const { limit, inverted } = slice;
  const isDown = order.descending !== inverted;
  const direction = isDown ? 'desc' : 'asc';
  // Null is last in the list, so it comes first in the inverted order.
  const orderBy = `r.at ${direction} nulls ${inverted ? 'first' : 'last'}, r.id ${direction}`;
  const keyset = (values: Values) =>
    [
      slice.after === undefined ? 'true' : isAfter(slice.after, order, values),
      slice.before === undefined ? 'true' : isBefore(slice.before, order, values),
    ].join(' and ');
  let found: { id: string; at: number | null }[] = [];
  await scan<{ id: string; at: Date | number | null }>(search, {
    descending: true,
    walkFirst: false,
    enough: Number.POSITIVE_INFINITY,
    projection: {
      columns: ['id', order.field],
      sql: (rows, values) =>
        `select true as matched, r.id, r.at from (select j.id, j.${order.field} as at from (${rows}) j) r
          where ${keyset(values)} order by ${orderBy} limit ${values.add(limit)}`,
    },
    take: (rows) => {
      found = [...found, ...rows.map(({ id, at }) => ({ id, at: at instanceof Date ? at.getTime() : at }))];
      found.sort((one, other) => compare(one, other, order.descending) * (inverted ? -1 : 1));
      found = found.slice(0, limit);
      return 0;
    },
  });
  return found;
}

function compare(one: Position, other: Position, descending: boolean): number {
  const [a, b] = [one.at ?? null, other.at ?? null];
  if ((a === null) !== (b === null)) return a === null ? 1 : -1;
  const ascending = a !== null && b !== null && a !== b ? a - b : one.id < other.id ? -1 : 1;
  return descending ? -ascending : ascending;
}

function isAfter(position: Position, { field, descending }: ColumnOrder, values: Values): string {
  const beyond = descending ? '<' : '>';
  const id = `r.id ${beyond} ${values.add(position.id)}`;
  if (valueAt(position) === null) return `(r.at is null and ${id})`;
  const at = comparable(position, field, values);
  return `(r.at is null or r.at ${beyond} ${at} or r.at = ${at} and ${id})`;
}

function isBefore(position: Position, { field, descending }: ColumnOrder, values: Values): string {
  const beyond = descending ? '>' : '<';
  const id = `r.id ${beyond} ${values.add(position.id)}`;
  if (valueAt(position) === null) return `(r.at is not null or ${id})`;
  const at = comparable(position, field, values);
  return `(r.at ${beyond} ${at} or r.at = ${at} and ${id})`;
}

function comparable(position: Position, field: ColumnOrder['field'], values: Values): string {
  const value = values.add(valueAt(position));
  return field === 'attempts' ? `${value}::float8` : `to_timestamp(${value}::float8 / 1000)::timestamptz(3)`;
}

function valueAt({ at }: Position): number | null {
  if (at === undefined) throw new JobferryError('invalid_request', 'this is not a cursor of a list in this order');
  return at;
}

/** Counts matching jobs, up to `max` + 1. */
export async function countJobs(db: Database, selection: JobSelection, max: number): Promise<number> {
  const search = await openSearch(db, selection);
  let count = 0;
  await scan<{ n: number }>(search, {
    descending: true,
    walkFirst: false,
    enough: max + 1,
    projection: {
      columns: ['id'],
      sql: (rows, values) =>
        `select true as matched, count(*) as n from (select from (${rows}) r limit ${values.add(max + 1)}) counted`,
    },
    take: (rows) => {
      count = Math.min(max + 1, count + (rows[0]?.n ?? 0));
      return count;
    },
  });
  return count;
}

/** @returns the number of jobs created in [fromMs, toMs), by bucket and present state */
export async function timelineOfJobs(
  db: Database,
  selection: JobSelection,
  { fromMs, toMs, bucketMs }: { fromMs: number; toMs: number; bucketMs: number },
): Promise<JobTimelineRow[]> {
  const search = await openSearch(db, selection);
  const range = {
    from: maxOf(search.range.from, firstIdAt(fromMs)),
    below: minOf(search.range.below, firstIdAt(toMs)),
  };
  const found: JobTimelineRow[] = [];
  let rest = range;
  const spans = { fromMs, toMs, bucketMs };
  if (!hasConditions(search.filter) && isCountable(search, spans)) {
    found.push(...(await countByIndex({ ...search, range }, spans)));
    // Older jobs are found only if they are kept, which no index says.
    rest = { ...range, below: minOf(range.below, search.earliest) };
    if (rest.from >= rest.below) return found;
  }
  await scan<JobTimelineRow>(
    { ...search, range: rest },
    {
      descending: true,
      walkFirst: false,
      enough: Number.POSITIVE_INFINITY,
      projection: {
        columns: ['id', 'created_at', ...STATE_COLUMNS],
        sql: (rows, values) => {
          const bucket = `${values.add(bucketMs)}::float8`;
          return `
            select true as matched, floor(extract(epoch from r.created_at) * 1000 / ${bucket}) * ${bucket} as at,
                   ${stateOfRow(search.now, values)} as state, count(*) as n from (${rows}) r group by 2, 3`;
        },
      },
      take: (rows) => {
        for (const { at, state, n } of rows) found.push({ at, state, n });
        return 0;
      },
    },
  );
  return found;
}

/** @returns the newest matching jobs by queue, without queues that have none */
export async function newestJobs(
  db: Database,
  selection: JobSelection,
  limit: number,
): Promise<Map<string, Position[]>> {
  const search = await openSearch(db, selection);
  const found = new Map<string, Position[]>();
  if (search.queueIds.length === 0 || limit <= 0) return found;
  const keep = (queueId: string, id: string) => {
    const jobs = found.get(queueId) ?? [];
    if (jobs.length < limit) found.set(queueId, [...jobs, { id }]);
  };
  const unfinished =
    candidateSources(search.filter)[0] !== 'payload' ? search.queueIds : await newestOfFew(search, limit, keep);
  if (unfinished.length === 0) return found;
  for (const queueId of unfinished) found.delete(queueId);
  await scan<{ id: string; queue_id: string }>(
    { ...search, queueIds: unfinished },
    {
      descending: true,
      walkFirst: false,
      enough: limit * unfinished.length,
      projection: {
        columns: ['id', 'queue_id'],
        sql: (rows, values) => `
          select true as matched, ranked.id, ranked.queue_id from (
            select r.id, r.queue_id, row_number() over (partition by r.queue_id order by r.id desc) as rank from (${rows}) r) ranked
           where ranked.rank <= ${values.add(limit)}`,
      },
      take: (rows) => {
        for (const row of rows.sort((one, other) => (one.id < other.id ? 1 : -1))) keep(row.queue_id, row.id);
        return unfinished.reduce((total, id) => total + (found.get(id)?.length ?? 0), 0);
      },
    },
  );
  return found;
}

/** Number of the newest jobs of each queue that the first statement reads. */
const NEWEST = 500;

/** Finds matches among the newest jobs of each queue. @returns the queues that may have more matches */
async function newestOfFew(
  search: Search,
  limit: number,
  keep: (queueId: string, id: string) => void,
): Promise<string[]> {
  const { text, values } = newestStatement(search, search.range, { size: Math.max(NEWEST, limit), limit });
  const rows = await search.query<{ queue_id: string; walked: number; id: string | null }>(text, values);
  const perQueue = new Map<string, number>();
  const mayHaveMore = new Set<string>();
  for (const { queue_id, walked, id } of rows) {
    if (id !== null) {
      keep(queue_id, id);
      perQueue.set(queue_id, (perQueue.get(queue_id) ?? 0) + 1);
    }
    if (walked >= Math.max(NEWEST, limit)) mayHaveMore.add(queue_id);
  }
  return [...mayHaveMore].filter((id) => (perQueue.get(id) ?? 0) < limit);
}
