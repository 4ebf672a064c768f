import { JobferryError } from '../../domain/errors.ts';
import type { DeadReason, JobStatus } from '../../domain/job.ts';
import type { JobDimension, JobStateName, PayloadCondition } from '../../domain/job-filter.ts';
import { ANY, type PathStep } from '../../domain/payload-path.ts';
import type { Database } from '../connection/database.ts';
import { hasConditions, STATE_COLUMNS, stateOfRow } from './job-conditions.ts';
import { type Values, valueAt } from './payload-conditions.ts';
import { type JobSelection, maxOf, minOf, openSearch, type Search, scan } from './scan.ts';

/** Jobs with equal values of all dimensions. A dimension by which jobs are not grouped is null. */
export interface JobGroup {
  queueId: string | null;
  status: JobStatus | null;
  state: JobStateName | null;
  deadReason: DeadReason | null;
  /**
   * JSON text of the value at the path; null if there is no text, number, boolean or null of at most 256 characters.
   */
  value: string | null;
  count: number;
}

/** Maximum number of different groups that one request may have. */
const MAX_GROUPS = 20_000;
const MAX_VALUE_LENGTH = 256;

/** @returns the number of matching jobs by the dimensions; jobs whose payload cannot be searched have no value */
export async function groupJobs(
  db: Database,
  selection: JobSelection,
  dimensions: readonly JobDimension[],
  path: readonly PathStep[] | null,
): Promise<JobGroup[]> {
  const search = await openSearch(db, selection);
  const groups = new Map<string, JobGroup>();
  const add = (rows: readonly JobGroup[]) => {
    for (const row of rows) {
      const key = JSON.stringify([row.queueId, row.status, row.state, row.deadReason, row.value]);
      const known = groups.get(key);
      if (known !== undefined) known.count += row.count;
      else groups.set(key, { ...row });
    }
    if (groups.size > MAX_GROUPS) throw tooManyGroups();
  };
  let rest = search;
  if (!hasConditions(search.filter) && dimensions.every((one) => COUNTED_BY_INDEX.has(one))) {
    add(await countByIndex(search, dimensions));
    // Older jobs are found only if they are kept, which no index says.
    rest = { ...search, range: { ...search.range, below: minOf(search.range.below, search.earliest) } };
  }
  if (rest.range.from < rest.range.below) await countByScan(rest, dimensions, path, add);
  return [...groups.values()].filter(({ count }) => count > 0);
}

const ALL_PAYLOADS: PayloadCondition = { kind: 'and', of: [] };

async function countByScan(
  search: Search,
  dimensions: readonly JobDimension[],
  path: readonly PathStep[] | null,
  add: (rows: readonly JobGroup[]) => void,
): Promise<void> {
  const { filter, now } = search;
  const ofPayload =
    path === null ? null : { ...search, filter: { ...filter, payload: filter.payload ?? ALL_PAYLOADS } };
  const has = (dimension: JobDimension) => dimensions.includes(dimension);
  await scan<JobGroup>(ofPayload ?? search, {
    descending: true,
    walkFirst: false,
    enough: Number.POSITIVE_INFINITY,
    projection: {
      columns: ['id', 'queue_id', 'dead_reason', ...STATE_COLUMNS],
      ...(path === null ? {} : { value: (document: string, values: Values) => scalarText(path, document, values) }),
      sql: (rows, values) => `
        select true as matched, ${has('queue') ? 'r.queue_id' : 'null::text'} as "queueId",
               ${has('status') ? 'r.status' : 'null::text'} as status,
               ${has('state') ? stateOfRow(now, values) : 'null::text'} as state,
               ${has('dead_reason') ? 'r.dead_reason' : 'null::text'} as "deadReason",
               ${path === null ? 'null::text' : 'r.value'} as value, count(*) as count
          from (${rows}) r group by 2, 3, 4, 5, 6 limit ${MAX_GROUPS + 1}`,
    },
    take: (rows) => {
      add(
        rows.map(({ queueId, status, state, deadReason, value, count }) => ({
          queueId,
          status,
          state,
          deadReason,
          value,
          count,
        })),
      );
      return 0;
    },
  });
}

/** @returns SQL: the JSON text of the value at a path without `*`; equal numbers such as 1 and 1.0 have the same */
function scalarText(path: readonly PathStep[], document: string, values: Values): string {
  const names = path.filter((step): step is string => step !== ANY);
  const found = valueAt(names, document, values);
  const isShort = `length(${found}::text) <= ${MAX_VALUE_LENGTH}`;
  return `case when jsonb_typeof(${found}) in ('string', 'boolean', 'null') and ${isShort} then ${found}::text
               when jsonb_typeof(${found}) = 'number' and ${isShort} then trim_scale((${found} #>> '{}')::numeric)::text end`;
}

const COUNTED_BY_INDEX: ReadonlySet<JobDimension> = new Set<JobDimension>(['queue', 'status', 'state']);

/**
 * Counts jobs by queue and state by indexes alone: all jobs, less those of every other state, are completed. Not with
 * the part of the range in which jobs are past retention.
 */
async function countByIndex(search: Search, dimensions: readonly JobDimension[]): Promise<JobGroup[]> {
  const { range, earliest, queueIds, now } = search;
  const has = (dimension: JobDimension) => dimensions.includes(dimension);
  const rows = await search.query<Record<JobStateName, number> & { id: string }>(
    `select q.id, pending.due, pending.later - waiting.retrying - waiting.held as scheduled, waiting.retrying, waiting.held,
            in_flight.processing, in_flight.awaiting_ack, dead.n as dead,
            every.n - pending.due - pending.later - in_flight.processing - in_flight.awaiting_ack - dead.n as completed
       from unnest($1::text[]) as q(id)
       cross join (select to_timestamp($4::float8 / 1000)::timestamptz(3) as now) m
       cross join lateral (
         select count(*) as n from job j where (j.queue_id, j.id) >= (q.id, $2) and (j.queue_id, j.id) < (q.id, $3)) every
       cross join lateral (
         select count(*) as n from job j
          where j.status = 'dead' and (j.queue_id, j.id) >= (q.id, $2) and (j.queue_id, j.id) < (q.id, $3)) dead
       cross join lateral (
         select count(*) filter (where j.scheduled_for <= m.now) as due, count(*) filter (where j.scheduled_for > m.now) as later
           from job j where j.queue_id = q.id and j.status = 'pending' and j.id >= $2 and j.id < $3) pending
       cross join lateral (
         select count(*) filter (where j.wait_reason = 'backoff') as retrying,
                count(*) filter (where j.wait_reason = 'hold') as held
           from job j
          where j.queue_id = q.id and j.status = 'pending' and j.wait_reason is not null and j.scheduled_for > m.now
            and j.id >= $2 and j.id < $3) waiting
       cross join lateral (
         select count(*) filter (where j.status = 'processing') as processing,
                count(*) filter (where j.status = 'awaiting_ack') as awaiting_ack
           from job j
          where j.queue_id = q.id and j.status in ('processing', 'awaiting_ack') and j.id >= $2 and j.id < $3) in_flight`,
    [queueIds, maxOf(range.from, earliest), range.below, now],
  );
  return rows.flatMap(({ id, ...states }) =>
    Object.entries(states).map(([state, count]) => ({
      queueId: has('queue') ? id : null,
      status: has('status') ? statusOf(state as JobStateName) : null,
      state: has('state') ? (state as JobStateName) : null,
      deadReason: null,
      value: null,
      count,
    })),
  );
}

function statusOf(state: JobStateName): JobStatus {
  return state === 'due' || state === 'scheduled' || state === 'retrying' || state === 'held' ? 'pending' : state;
}

function tooManyGroups(): JobferryError {
  return new JobferryError('invalid_request', `the jobs have more than ${MAX_GROUPS} groups: narrow the filter`);
}
