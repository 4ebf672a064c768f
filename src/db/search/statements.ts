import type { JobFilter } from '../../domain/job-filter.ts';
import type { Periods } from '../../domain/periods.ts';
import { isKeptJob } from '../retention/kept.ts';
import { isOfDeadJobs, isSelective, jobConditions, stateConditions } from './job-conditions.ts';
import { jobsInOrder, type Within, withinQueue } from './merge.ts';
import { payloadProbe, payloadTest, Values } from './payload-conditions.ts';
import { type WaitsByQueue, waitCondition } from './wait-reasons.ts';

/** The scope of a search, which is the same for all of its statements. */
export interface SearchScope {
  filter: JobFilter;
  /** The account's live queues that match the filter. */
  queueIds: readonly string[];
  /** Database time of the search in milliseconds. */
  now: number;
  /** Set when the range begins with jobs past retention. Of these, only jobs that are kept are found. */
  kept?: Periods | undefined;
  /** Payloads of jobs up to this id are in `job_search`. Payloads of later jobs have to be parsed. */
  indexed: string;
  /** Set when the filter has waiting reasons: why the queues do not deliver. */
  waits?: WaitsByQueue | undefined;
}

/** Ids from `from` (inclusive) to `below` (exclusive). */
export interface IdRange {
  from: string;
  below: string;
}

/** Turns a query for matching jobs, with these columns, into the rows that the caller needs. */
export interface Projection {
  columns: readonly string[];
  /** Returns one more column, `value`, from the SQL of the payload. The filter must have a payload condition. */
  value?(document: string, values: Values): string;
  sql(rows: string, values: Values): string;
}

interface SearchStatement {
  text: string;
  values: unknown[];
}

/** With more candidates, a walk is faster than reading them. */
export const MAX_CANDIDATES = 20_000;

/**
 * Reads the next `size` jobs in the order of ids. Each row has their number (`walked`), the last id (`bound`), and the
 * columns of the projection for the jobs that match.
 *
 * The statement has two steps. The first finds the bound by index-only scans, and merges the queues as far as
 * necessary. The second reads a range of ids of each queue. So a queue that is a million jobs ahead of another does not
 * slow it down.
 */
export function walkStatement(
  scope: SearchScope,
  range: IdRange,
  { size, descending, projection }: { size: number; descending: boolean; projection: Projection },
): SearchStatement {
  const values = new Values();
  const [from, below] = [values.add(range.from), values.add(range.below)];
  const direction = descending ? 'desc' : 'asc';
  const which = { queueIds: scope.queueIds, onlyDead: isOfDeadJobs(scope.filter) };
  const jobs = jobsInOrder(values, { ...which, from, below, size, descending });
  const bound = '(select id from bound)';
  const within = (least?: string): Within => {
    const lower = descending ? bound : from;
    const first = least === undefined ? lower : `greatest(${lower}, ${least})`;
    return descending ? withinQueue(first, below, false) : withinQueue(first, bound, true);
  };
  const rows = rowsOf(scope, values, range, within, projection);
  return {
    text: `
      with bound as materialized (
        select count(*) as walked, ${descending ? 'min' : 'max'}(id) as id
          from (select id from (${jobs}) jobs order by id ${direction} limit ${values.add(size)}) walk)
      select bound.walked, bound.id as bound, result.*
        from bound left join lateral (${projection.sql(rows, values)}) result on true`,
    values: values.list,
  };
}

/** @returns SQL: matching jobs in a range, one subquery per queue, so that each reads its own part of an index */
function rowsOf(
  scope: SearchScope,
  values: Values,
  range: IdRange,
  within: (least?: string) => Within,
  { columns, value }: Projection,
): string {
  const { payload } = scope.filter;
  const queues = `unnest(${values.add(scope.queueIds)}::text[]) as q(id)`;
  const selected = columns.map((column) => `j.${column}`).join(', ');
  const conditions = [...conditionsOf(scope, values)];
  const job = (...where: string[]) => [...where, ...conditions].join(' and ');
  if (payload === undefined) {
    return `
      select ${selected} from ${queues} cross join lateral (
        select ${selected} from job j where ${job(within()('j.queue_id', 'j.id'))} offset 0) j`;
  }
  const test = payloadTest(payload, 'document', values);
  const extended = `${selected}${value === undefined ? '' : `, ${value('document', values)} as value`}`;
  // Between the first and the last of a few dead jobs there can be the documents of a million others.
  if (isOfDeadJobs(scope.filter)) {
    return `
      select ${extended} from ${queues} cross join lateral (
        select ${selected}${documentOfJob(scope, values)} from job j where ${job(within()('j.queue_id', 'j.id'))} offset 0) j
       where document is not null and ${test}`;
  }
  const indexed = values.add(scope.indexed);
  const parts: string[] = [];
  // Reads the documents instead of the jobs, because they are smaller.
  if (range.from <= scope.indexed) {
    parts.push(`
      select ${extended} from ${queues} cross join lateral (
        select s.job_id, ${DOCUMENT_OF_S} as document from job_search s
         where ${within()('s.queue_id', 's.job_id')} and s.job_id <= ${indexed} offset 0) s
        cross join lateral (select ${selected} from job j where ${job('j.id = s.job_id')} offset 0) j
       where document is not null and ${test}`);
  }
  if (range.below > scope.indexed) {
    parts.push(`
      select ${extended} from ${queues} cross join lateral (
        select ${selected}, jobferry_searchable(j.payload) as document from job j
         where ${job(within(`${indexed} || '0'`)('j.queue_id', 'j.id'))} offset 0) j
       where document is not null and ${test}`);
  }
  return parts.join(' union all ');
}

/**
 * SQL: the payload of a row `s` of `job_search`. It is parsed now if it still waits for its account's turn to be
 * indexed.
 */
const DOCUMENT_OF_S = `
  case when s.waiting_account is null then s.doc -> s.queue_id
       else (select jobferry_searchable(w.payload) from job w where w.id = s.job_id) end`;

/** An index that contains all jobs that can match. */
type CandidateSource = 'ids' | 'key' | 'action' | 'state' | 'payload';

/** @returns the indexes that the filter may use; those that return the fewest candidates first */
export function candidateSources(filter: JobFilter): CandidateSource[] {
  return [
    ...(filter.ids === undefined ? [] : (['ids'] as const)),
    ...(filter.idempotencyKey === undefined ? [] : (['key'] as const)),
    ...(filter.actionId === undefined ? [] : (['action'] as const)),
    ...(isSelective(filter) ? (['state'] as const) : []),
    'payload',
  ];
}

/**
 * Reads all jobs that an index returns as candidates. If there are more than `MAX_CANDIDATES`, the column `candidates`
 * is greater and no job is read. Returns null when the filter cannot use that index.
 */
export function candidateStatement(
  scope: SearchScope,
  range: IdRange,
  source: CandidateSource,
  { descending, projection }: { descending: boolean; projection: Projection },
): SearchStatement | null {
  const values = new Values();
  const candidates = candidatesOf(source, scope, values);
  if (candidates === null) return null;
  const { payload } = scope.filter;
  const selected = projection.columns.map((column) => (column === 'id' ? 'c.id' : `j.${column}`)).join(', ');
  const conditions = [
    'j.id = c.id',
    `j.id >= ${values.add(range.from)}`,
    `j.id < ${values.add(range.below)}`,
    ...conditionsOf(scope, values),
  ];
  const extended = projection.value === undefined ? '' : `, ${projection.value('document', values)} as value`;
  const rows = `
    select ${selected}${extended} from (select id from candidates order by id ${descending ? 'desc' : 'asc'}) c cross join lateral (
      select ${projection.columns.map((column) => `j.${column}`).join(', ')}${documentOfJob(scope, values)} from job j where ${conditions.join(' and ')} offset 0) j
     where (select count(*) from candidates) <= ${MAX_CANDIDATES}
       ${payload === undefined ? '' : `and document is not null and ${payloadTest(payload, 'document', values)}`}`;
  return {
    text: `
      with candidates as materialized (select c.id from (${candidates}) c limit ${MAX_CANDIDATES + 1})
      select counted.candidates, result.*
        from (select count(*) as candidates from candidates) counted
        left join lateral (${projection.sql(rows, values)}) result on true`,
    values: values.list,
  };
}

function candidatesOf(source: CandidateSource, scope: SearchScope, values: Values): string | null {
  const ownQueues = `${values.add(scope.queueIds)}::text[]`;
  const queues = `unnest(${ownQueues}) as q(id)`;
  switch (source) {
    case 'ids':
      return `
        select j.id from job j
         where j.id = any (${values.add(scope.filter.ids)}::text[]) and j.queue_id = any (${ownQueues})`;
    case 'key':
      return `
        select j.id from ${queues} cross join lateral (
          select j.id from job j where j.queue_id = q.id and j.idempotency_key = ${values.add(scope.filter.idempotencyKey)}::text offset 0) j`;
    case 'action':
      return `
        select j.id from bulk_action_job n cross join lateral (
          select j.id from job j where j.id = n.job_id and j.queue_id = any (${ownQueues}) offset 0) j
         where n.action_id = ${values.add(scope.filter.actionId)}`;
    case 'state':
      return statesIndex(scope, values, queues);
    case 'payload':
      return payloadIndex(scope, values, queues);
  }
}

function statesIndex(scope: SearchScope, values: Values, queues: string): string {
  const states = stateConditions(scope.filter, () => nowOf(scope, values));
  return `
    select j.id from ${queues} cross join lateral (
      select j.id from job j where ${['j.queue_id = q.id', ...states].join(' and ')} offset 0) j`;
}

function payloadIndex(scope: SearchScope, values: Values, queues: string): string | null {
  const { payload } = scope.filter;
  const probe = payload === undefined ? null : payloadProbe(payload, 's.doc', 'q.id', values);
  if (probe === null) return null;
  const indexed = `${values.add(scope.indexed)}::text`;
  // After the database's clock went back, jobs behind the position may be indexed, too. They are read once, as jobs.
  return `
    select s.job_id as id from ${queues} cross join lateral (select s.job_id from job_search s where ${probe} offset 0) s
     where s.job_id <= ${indexed}
    union all
    select s.job_id from ${queues} cross join lateral (
      select s.job_id from job_search s
       where s.waiting_account = (select account_id from queue where queue.id = q.id) and s.queue_id = q.id offset 0) s
     where s.job_id <= ${indexed}
    union all
    select j.id from ${queues} cross join lateral (
      select j.id from job j where ${withinQueue(`${indexed} || '0'`, `'g'`, false)('j.queue_id', 'j.id')} offset 0) j`;
}

/**
 * Reads the newest `size` jobs of each queue. Returns per queue how many it has read (`walked`), and up to `limit` ids
 * of jobs that match.
 */
export function newestStatement(
  scope: SearchScope,
  range: IdRange,
  { size, limit }: { size: number; limit: number },
): SearchStatement {
  const values = new Values();
  const queues = `unnest(${values.add(scope.queueIds)}::text[]) as q(id)`;
  const [from, below] = [values.add(range.from), values.add(range.below)];
  const { payload } = scope.filter;
  const conditions = [withinQueue('walk.bound', below, false)('j.queue_id', 'j.id'), ...conditionsOf(scope, values)];
  return {
    text: `
      select q.id as queue_id, walk.walked, j.id
        from ${queues}
       cross join lateral (
         select count(*) as walked, min(id) as bound from (
           select j.id from job j where j.queue_id = q.id and j.id >= ${from} and j.id < ${below} order by j.id desc limit ${values.add(size)}) j) walk
        left join lateral (
         select j.id from (
           select j.id${documentOfJob(scope, values)} from job j
            where ${conditions.join(' and ')} offset 0) j
          ${payload === undefined ? '' : `where document is not null and ${payloadTest(payload, 'document', values)}`}
          order by j.id desc limit ${values.add(limit)}) j on true
       order by q.id, j.id desc`,
    values: values.list,
  };
}

/** @returns SQL: the column `document`, if the filter has conditions on the payload */
function documentOfJob({ filter, indexed }: SearchScope, values: Values): string {
  if (filter.payload === undefined) return '';
  return `, case when j.id > ${values.add(indexed)} then jobferry_searchable(j.payload)
    else (select ${DOCUMENT_OF_S} from job_search s where s.job_id = j.id) end as document`;
}

/** Conditions on the job `j` in a range of ids. */
function conditionsOf(scope: SearchScope, values: Values): string[] {
  const states = stateConditions(scope.filter, () => nowOf(scope, values));
  return [
    // Only the index of dead jobs has the order of ids. With the index of another state, each part of a walk would read
    // all jobs of the state, so no index may serve the condition.
    ...(isOfDeadJobs(scope.filter) ? states : states.map((state) => `coalesce(${state}, false)`)),
    ...jobConditions(scope.filter, values),
    ...waitConditions(scope, values),
    ...keptConditions(scope, values),
  ];
}

function waitConditions({ filter, waits, now }: SearchScope, values: Values): string[] {
  return filter.waitReasons === undefined || waits === undefined
    ? []
    : [waitCondition(filter.waitReasons, waits, now, values)];
}

function keptConditions(scope: SearchScope, values: Values): string[] {
  if (scope.kept === undefined) return [];
  const interval = (ms: number) => `${values.add(ms)}::float8 * interval '1 ms'`;
  const [retention, lifetime] = [interval(scope.kept.retentionMs), interval(scope.kept.lifetimeMs)];
  return [isKeptJob({ now: nowOf(scope, values), retention, lifetime })];
}

function nowOf(scope: SearchScope, values: Values): string {
  return `to_timestamp(${values.add(scope.now)}::float8 / 1000)::timestamptz(3)`;
}
