import type { Database, Statement } from '../connection/database.ts';
import { lagColumns, type ServiceLags } from './lags.ts';

/** The reads of the page of metrics from the database. Each statement has a bound of its own (docs/decisions/0021). */

/** Accounts among which queues with series of their own are chosen. */
const MAX_ACCOUNTS = 10_000;
/** Jobs in each state of a queue are counted up to this number. */
const MAX_JOBS = 10_000;
/** The bound for each of the other queues, of which at most `MAX_OTHERS` are read. */
const MAX_JOBS_OF_OTHERS = 500;
const MAX_OTHERS = 2000;

/** A queue that has series of its own. */
export interface MeasuredQueue {
  id: string;
  accountId: string;
  name: string;
}

// The accounts take turns, so that the queues of one account do not use all series: the oldest queue of each account,
// then the second of each, and so on. So the choice hardly ever changes, and is the same in every process.
const MEASURED: Statement = {
  name: 'measured-queues',
  text: `
    select own.id, own.account_id as "accountId", own.name
      from (select a.id from (select id from account order by id limit ${MAX_ACCOUNTS}) a
             where exists (select from queue q where q.account_id = a.id and q.deleted_at is null)
             order by a.id limit $1) owner
     cross join lateral (
       select q.id, q.account_id, q.name, row_number() over (order by q.id) as place
         from queue q where q.account_id = owner.id and q.deleted_at is null order by q.id limit $1) own
     order by own.place, own.id limit $1`,
};

/** @returns the queues that have series of their own, at most `limit` */
export async function measuredQueues(db: Database, limit: number): Promise<MeasuredQueue[]> {
  return db.query<MeasuredQueue & Record<string, unknown>>(MEASURED, [limit]);
}

/** The state of a queue, or of several queues together. */
export interface QueueMeasures {
  /** Pending jobs that are due. */
  due: number;
  /** Pending jobs that are due later. */
  scheduled: number;
  processing: number;
  awaitingAck: number;
  /** Age of the oldest due job in seconds. Jobs of paused and held queues do not count; 0 without a job. */
  oldestSeconds: number;
  /** Time since the start of the present hold, or of the oldest one, in seconds; 0 without a hold. */
  holdSeconds: number;
}

/** The measures of one queue. */
export interface OwnMeasures extends QueueMeasures {
  id: string;
  concurrency: number;
  paused: boolean;
  breakerOpen: boolean;
}

/** SQL: a queue `q` may be delivered from, as far as people and its receiver allow. */
const IS_RUNNING = 'q.paused_at is null and q.hold_until is null';

/** SQL: the measures of a queue `q` at `clock.now`, by index alone, at most `limit` jobs of each state. */
function measuresOfQ(limit: number): string {
  const count = (condition: string, order: string) => `
    (select count(*) from (
       select from job j where j.queue_id = q.id and ${condition} order by j.queue_id, ${order} limit ${limit}) counted)`;
  const inFlight = `j.status in ('processing', 'awaiting_ack')`;
  return `
    ${count(`j.status = 'pending' and j.scheduled_for <= clock.now`, 'j.scheduled_for, j.id')} as due,
    ${count(`j.status = 'pending' and j.scheduled_for > clock.now`, 'j.scheduled_for, j.id')} as scheduled,
    ${count(`${inFlight} and j.status = 'processing'`, 'j.claim_token')} as processing,
    ${count(`${inFlight} and j.status = 'awaiting_ack'`, 'j.claim_token')} as "awaitingAck",
    case when ${IS_RUNNING} then
      coalesce(greatest(extract(epoch from clock.now - (
        select j.scheduled_for from job j where j.queue_id = q.id and j.status = 'pending'
         order by j.queue_id, j.scheduled_for, j.id limit 1)), 0), 0)
    else 0 end::float8 as "oldestSeconds",
    case when q.hold_until is null then 0
         else greatest(extract(epoch from clock.now - q.hold_since), 0) end::float8 as "holdSeconds"`;
}

const OF_QUEUES: Statement = {
  name: 'measures-of-queues',
  text: `
    with clock as materialized (select jobferry_now() as now)
    select q.id, q.concurrency, q.paused_at is not null as paused,
           q.hold_until is not null and q.breaker_opened_at is not null as "breakerOpen", ${measuresOfQ(MAX_JOBS)}
      from clock cross join queue q where q.id = any ($1::text[])`,
};

/** @returns the measures of those of the queues that still exist */
export async function measuresOfQueues(db: Database, queueIds: readonly string[]): Promise<OwnMeasures[]> {
  return db.query<OwnMeasures & Record<string, unknown>>(OF_QUEUES, [queueIds]);
}

/** SQL: ids of queues with jobs of a state, each found by one look into the partial index, however many jobs it has. */
const queuesWith = (name: string, status: string, order: string) => `
  ${name} (queue_id, place) as (
    (select j.queue_id, 1 from job j where ${status} order by j.queue_id, ${order} limit 1)
    union all
    select (select j.queue_id from job j where ${status} and j.queue_id > ${name}.queue_id
             order by j.queue_id, ${order} limit 1), place + 1
      from ${name} where ${name}.queue_id is not null and place < ${MAX_OTHERS})`;

const OF_OTHERS: Statement = {
  name: 'measures-of-other-queues',
  text: `
    with recursive clock as materialized (select jobferry_now() as now),
    ${queuesWith('waiting', `j.status = 'pending'`, 'j.scheduled_for, j.id')},
    ${queuesWith('in_flight', `j.status in ('processing', 'awaiting_ack')`, 'j.claim_token')},
    other as materialized (
      select queue_id from (select queue_id from waiting union select queue_id from in_flight) found
       where queue_id is not null and not exists (select from unnest($1::text[]) as own(id) where own.id = found.queue_id)
    )
    select coalesce(sum(m.due), 0)::bigint as due, coalesce(sum(m.scheduled), 0)::bigint as scheduled,
           coalesce(sum(m.processing), 0)::bigint as processing,
           coalesce(sum(m."awaitingAck"), 0)::bigint as "awaitingAck",
           coalesce(max(m."oldestSeconds"), 0) as "oldestSeconds", coalesce(max(m."holdSeconds"), 0) as "holdSeconds"
      from (select ${measuresOfQ(MAX_JOBS_OF_OTHERS)}
              from clock cross join queue q
             where q.id = any (array(select queue_id from other)) and q.deleted_at is null) m`,
};

/** @returns the measures of all queues with jobs except `queueIds`, together */
export async function measuresOfOthers(db: Database, queueIds: readonly string[]): Promise<QueueMeasures> {
  const row = await db.one<QueueMeasures & Record<string, unknown>>(OF_OTHERS, [queueIds]);
  if (row === null) throw new Error('the measures of the other queues returned no row');
  return row;
}

/** Facts about the service as a whole. */
export interface ServiceMeasures extends ServiceLags {
  /**
   * Time since which the oldest job that the sweep has not examined yet is past its retention; null if there is none.
   */
  retentionSeconds: number | null;
  /** Name of the last migration of the database. */
  migration: string;
}

const OF_SERVICE: Statement = {
  name: 'measures-of-service',
  text: `
    with clock as materialized (select jobferry_now() as now)
    select ${lagColumns(`$1 * interval '1 ms'`)},
           (select extract(epoch from now - $1 * interval '1 ms' - jobferry_created_at(j.id)) from job j
             where j.id > (select coalesce(max(position), '') from follower where name = 'sweep-jobs-front')
               and j.id < jobferry_first_id(now - $1 * interval '1 ms')
             order by j.id limit 1)::float8 as "retentionSeconds",
           (select max(migration_name) from _prisma_migrations
             where finished_at is not null and rolled_back_at is null) as migration
      from clock`,
};

export async function measuresOfService(db: Database, retentionMs: number): Promise<ServiceMeasures> {
  const row = await db.one<ServiceMeasures & Record<string, unknown>>(OF_SERVICE, [retentionMs]);
  if (row === null) throw new Error('the measures of the service returned no row');
  return { ...row, statisticsSeconds: Math.max(row.statisticsSeconds, 0) };
}
