import type { AttemptFilter, AttemptOrder } from '../../domain/attempt-filter.ts';
import { JobferryError } from '../../domain/errors.ts';
import { firstIdAt, isId } from '../../domain/id.ts';
import type { Position, Slice } from '../../domain/page.ts';
import type { Periods } from '../../domain/periods.ts';
import type { Database, Statement } from '../connection/database.ts';
import { isKeptJob } from '../retention/kept.ts';
import { SearchBudget } from './budget.ts';
import { answerTest } from './job-conditions.ts';
import { Values } from './payload-conditions.ts';

/** Attempts of the jobs of an account's live queues. */
interface AttemptScope {
  accountId: string;
  /** Maximum age of an attempt in milliseconds. */
  windowMs: number;
  periods: Periods;
  budget?: SearchBudget | undefined;
}

/** The attempts of this many jobs are read job by job. Those of other accounts at the same time are then not read. */
const FEW_JOBS = 5000;

const SCOPE: Statement = {
  name: 'attempt-search-scope',
  text: `
    with own as materialized (
      select id from queue where account_id = $1 and deleted_at is null and ($2::text[] is null or id = any ($2))
    )
    select jobferry_now() as now, array(select id from own) as queue_ids,
           (select count(*) from (
              select from own cross join lateral (
                select from job j where (j.queue_id, j.id) >= (own.id, '') and (j.queue_id, j.id) < (own.id, $3)) of_queue
               limit ${FEW_JOBS + 1}) few) as jobs`,
};

/** Milliseconds since 1970, `from` inclusive and `to` exclusive. */
interface Span {
  from: number;
  to: number;
}

interface Search extends Span {
  query<Row extends object>(statement: Statement | string, values: unknown[]): Promise<Row[]>;
  scope: AttemptScope;
  filter: AttemptFilter;
  queueIds: string[];
  now: number;
  /** The jobs of the attempts have ids below this one. */
  jobsBelow: string;
  /** Whether there are so few of these jobs that their attempts are read job by job. */
  isFew: boolean;
}

async function open(db: Database, scope: AttemptScope, filter: AttemptFilter): Promise<Search> {
  const reading = db.reading(scope.accountId, { budget: scope.budget ?? new SearchBudget() });
  const query: Search['query'] = (statement, values) => reading.query(statement, values);
  // No attempt is before its job.
  const until = filter.at?.to?.getTime() ?? Number.POSITIVE_INFINITY;
  const jobsBelow = firstIdAt(until + 1);
  const values = [scope.accountId, filter.queueIds?.filter(isId) ?? null, jobsBelow];
  const [row] = await query<{ now: Date; queue_ids: string[]; jobs: number }>(SCOPE, values);
  if (row === undefined) throw new Error('the scope of a search returned no row');
  const now = row.now.getTime();
  const from = Math.max(now - scope.windowMs, filter.at?.from?.getTime() ?? 0);
  // The clock of the statement that reads the attempts is later than `now`.
  const to = Math.min(until, now + 60_000) + 1;
  return { query, scope, filter, queueIds: row.queue_ids, now, from, to, jobsBelow, isFew: row.jobs <= FEW_JOBS };
}

/** Lengths of the part of time that one statement reads. */
const PART = { firstMs: 15 * 60_000, leastMs: 1000, targetMs: 400, growth: 16 };

/**
 * Reads the attempts of the span in parts, because only their time has an index, which does not give their order. Those
 * of few jobs are read at once.
 * @param take called with the rows of each part; false when enough were found
 */
async function inParts<Row extends object>(
  search: Search,
  descending: boolean,
  statement: (part: Span, values: Values) => string,
  take: (rows: Row[]) => boolean,
): Promise<void> {
  if (search.queueIds.length === 0) return;
  let { from, to } = search;
  let length = search.isFew ? Number.POSITIVE_INFINITY : PART.firstMs;
  while (from < to) {
    const part = descending ? { from: Math.max(from, to - length), to } : { from, to: Math.min(to, from + length) };
    const values = new Values();
    const text = statement(part, values);
    const startedAt = performance.now();
    if (!take(await search.query<Row>(text, values.list))) return;
    const ms = Math.max(performance.now() - startedAt, 1);
    length = Math.max(length * Math.min(PART.targetMs / ms, PART.growth), PART.leastMs);
    if (descending) to = part.from;
    else from = part.to;
  }
}

/** @returns SQL: matching attempts `a` of a part */
function attemptsIn({ filter, queueIds, scope, now, ...jobs }: Search, part: Span, values: Values): string {
  const at = (ms: number) => `to_timestamp(${values.add(ms)}::float8 / 1000)::timestamptz(3)`;
  const interval = (ms: number) => `${values.add(ms)}::float8 * interval '1 ms'`;
  const { retentionMs, lifetimeMs } = scope.periods;
  const isKept = isKeptJob({ now: at(now), retention: interval(retentionMs), lifetime: interval(lifetimeMs) });
  const conditions = [
    `a."timestamp" >= ${at(part.from)} and a."timestamp" < ${at(part.to)}`,
    `a.queue_id = any (${values.add(queueIds)}::text[])`,
    // Attempts are found as long as their job is.
    `case when a.job_id >= ${values.add(firstIdAt(now - scope.windowMs))} then true
          else coalesce((select ${isKept} from job j where j.id = a.job_id), false) end`,
  ];
  const add = (value: unknown, condition: (placeholder: string) => string) => {
    if (value !== undefined) conditions.push(condition(values.add(value)));
  };
  add(filter.statuses, (p) => `a.status = any (${p}::text[])`);
  add(filter.durationMs?.min, (p) => `a.duration_ms >= ${p}::integer`);
  add(filter.durationMs?.max, (p) => `a.duration_ms <= ${p}::integer`);
  if (filter.webhookStatusCodes !== undefined || filter.webhookStatusClasses !== undefined) {
    conditions.push(`(${answerTest(filter.webhookStatusCodes ?? [], filter.webhookStatusClasses ?? [], values)})`);
  }
  add(filter.errorContains, (p) => `position(lower(${p}::text) in lower(a.error)) > 0`);
  add(
    filter.responseContains,
    // Whether an answer is encrypted is known by its job, and asked for one that looks so only:
    // a receiver chooses its answer.
    (p) => `position(lower(${p}::text) in lower(a.response_body)) > 0
            and (not starts_with(a.response_body, 'enc:v1:')
                 or coalesce((select e.payload_key is null from job e where e.id = a.job_id), false))`,
  );
  const ofJobs = () => `unnest(${values.add(queueIds)}::text[]) as own(id)
      cross join lateral (
        select j.id from job j
         where (j.queue_id, j.id) >= (own.id, '') and (j.queue_id, j.id) < (own.id, ${values.add(jobs.jobsBelow)}) offset 0) few
      cross join lateral (select * from attempt of_job where of_job.job_id = few.id offset 0) a`;
  return `from ${jobs.isFew ? ofJobs() : 'attempt a'} where ${conditions.join(' and ')}`;
}

/** A column, and the SQL of a value to compare it with. */
const ORDERS = {
  ended_at: {
    column: 'a."timestamp"',
    number: '(extract(epoch from a."timestamp") * 1000)::float8',
    value: (p: string) => `to_timestamp(${p}::float8 / 1000)::timestamptz(3)`,
  },
  duration: { column: 'a.duration_ms', number: 'a.duration_ms::float8', value: (p: string) => `${p}::float8` },
} as const;

/** @returns positions of a slice of the ordered list of matching attempts */
export async function searchAttempts(
  db: Database,
  scope: AttemptScope,
  filter: AttemptFilter,
  order: AttemptOrder,
  slice: Slice,
): Promise<Position[]> {
  const { limit, after, before, inverted } = slice;
  if (limit <= 0) return [];
  const search = await open(db, scope, filter);
  const { column, number, value } = ORDERS[order.field];
  const isDown = order.descending !== inverted;
  const direction = isDown ? 'desc' : 'asc';
  const beyond = (position: Position, sign: '<' | '>', values: Values) => {
    const { at, n } = position;
    if (at == null || n === undefined) throw notOfThisList();
    return `(${column}, a.job_id, a.ordinal) ${sign} (${value(values.add(at))}, ${values.add(position.id)}, ${values.add(n)}::integer)`;
  };
  let found: Required<Position>[] = [];
  const statement = (part: Span, values: Values) => {
    const conditions = [
      attemptsIn(search, part, values),
      ...(order.field === 'duration' ? ['a.duration_ms is not null'] : []),
      ...(after === undefined ? [] : [beyond(after, order.descending ? '<' : '>', values)]),
      ...(before === undefined ? [] : [beyond(before, order.descending ? '>' : '<', values)]),
    ];
    return `select a.job_id as id, a.ordinal as n, ${number} as at ${conditions.join(' and ')}
             order by ${column} ${direction}, a.job_id ${direction}, a.ordinal ${direction} limit ${values.add(limit)}`;
  };
  await inParts<Required<Position>>(narrowed(search, order, slice), isDown, statement, (rows) => {
    found = [...found, ...rows].sort((one, other) => compare(one, other) * (isDown ? -1 : 1)).slice(0, limit);
    return order.field === 'duration' || found.length < limit;
  });
  return found;
}

/** In the order of time, a cursor bounds the span as well. */
function narrowed(search: Search, { field, descending }: AttemptOrder, { after, before }: Slice): Search {
  if (field !== 'ended_at') return search;
  const [older, newer] = descending ? [before, after] : [after, before];
  const from = Math.max(search.from, older?.at ?? 0);
  const to = Math.min(search.to, (newer?.at ?? Number.POSITIVE_INFINITY) + 1);
  return { ...search, from, to };
}

function compare(one: Required<Position>, other: Required<Position>): number {
  if (one.at !== other.at) return (one.at ?? 0) - (other.at ?? 0);
  if (one.id !== other.id) return one.id < other.id ? -1 : 1;
  return (one.n ?? 0) - (other.n ?? 0);
}

function notOfThisList(): JobferryError {
  return new JobferryError('invalid_request', 'this is not a cursor of a list of attempts');
}

/** Counts matching attempts, up to `max` + 1. */
export async function countAttempts(
  db: Database,
  scope: AttemptScope,
  filter: AttemptFilter,
  order: AttemptOrder,
  max: number,
): Promise<number> {
  const search = await open(db, scope, filter);
  let count = 0;
  const withDuration = order.field === 'duration' ? 'and a.duration_ms is not null' : '';
  const statement = (part: Span, values: Values) =>
    `select count(*) as n from (select ${attemptsIn(search, part, values)} ${withDuration} limit ${values.add(max + 1)}) a`;
  await inParts<{ n: number }>(search, true, statement, ([row]) => {
    count = Math.min(count + (row?.n ?? 0), max + 1);
    return count <= max;
  });
  return count;
}
