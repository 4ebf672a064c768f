import type { JobDocument, JobStatus } from '../../domain/job.ts';
import type { Periods } from '../../domain/periods.ts';
import type { Database, Statement } from '../connection/database.ts';
import { outlastsRetention } from '../retention/kept.ts';
import type { IdRange } from '../search/statements.ts';
import { documentsOfJobs } from './documents.ts';
import { keyContains } from './key-contains.ts';
import {
  BYTES_OF_J,
  boundsOf,
  COUNT_SLICE,
  countDown,
  type DocumentPage,
  limitOf,
  readPage,
  type SizedEntry,
} from './pages.ts';
import { type CountedRange, countJobsOfQueue } from './totals.ts';

interface JobListFilter {
  queueId: string;
  from: Date;
  to?: Date | undefined;
  status?: JobStatus | undefined;
  /** A literal part of the key, case-insensitive. */
  idempotencyKey?: string | undefined;
  /** Set when `from` is past retention. */
  kept?: KeptJobs | undefined;
}

/** How to list jobs past retention: only those that outlast it. */
export interface KeptJobs {
  /** Start of the retention period. */
  youngFrom: Date;
  periods: Periods;
}

interface OffsetSlice {
  limit: number;
  offset: number;
}

/**
 * Returns a page of a queue's jobs, newest first, and how many match. The number is exact without a filter. With a
 * filter it is exact if counting takes no longer than a few seconds: about ten million jobs of a status, or a few
 * million keys.
 */
export async function listJobDocuments(
  db: Database,
  filter: JobListFilter,
  slice: OffsetSlice,
): Promise<DocumentPage<JobDocument>> {
  const range = boundsOf(filter.from, filter.to);
  const { entries, total } =
    filter.kept === undefined
      ? await find(db, filter, range, slice)
      : await findWithKept(db, { ...filter, kept: filter.kept }, range, slice);
  return readPage(entries, total, (ids) => documentsOfJobs(db, ids));
}

type Row = { [Key in keyof SizedEntry]: SizedEntry[Key] };

interface Found {
  entries: SizedEntry[];
  total: number;
}

/** Up to this many jobs, each job is read. */
const FEW = 20_000;

async function find(db: Database, filter: JobListFilter, range: IdRange, slice: OffsetSlice): Promise<Found> {
  const { queueId, status, idempotencyKey } = filter;
  const row = await db.one<{ jobs: number }>(FEW_OR_MORE, [queueId, range.from, range.below]);
  const jobs = row?.jobs ?? 0;
  if (jobs <= FEW) return findAmongFew(db, filter, range, slice);
  if (idempotencyKey !== undefined) return findByKey(db, { ...filter, idempotencyKey }, range, slice);
  if (status !== undefined) return findByStatus(db, queueId, status, range, slice);
  const counted = await countJobsOfQueue(db, queueId, range);
  return { total: sumOf(counted), entries: await entriesAt(db, queueId, range, counted, slice) };
}

const IS_KEPT = `
  ${outlastsRetention({ now: '(select jobferry_now())', retention: `$4 * interval '1 ms'`, lifetime: `$5 * interval '1 ms'` })}
  and ($6::text is null or status = $6) and ($7::text is null or ${keyContains('idempotency_key', '$7')})`;
const KEPT_RANGE = '(queue_id, id) >= ($3, $1) and (queue_id, id) < ($3, $2)';
/**
 * Jobs per statement. No index has the jobs that outlast their retention, so each is read: a few tenths of a second.
 */
const KEPT_SLICE = 100_000;
const COUNT_KEPT: Statement = {
  name: 'count-kept-jobs',
  text: `
    select count(*) as walked, count(*) filter (where is_kept) as n, min(id) as last
      from (select id, ${IS_KEPT} as is_kept from job j where ${KEPT_RANGE}
             order by queue_id desc, id desc limit ${KEPT_SLICE}) walk`,
};
const KEPT_IDS = `select id from job j where ${KEPT_RANGE} and ${IS_KEPT} order by queue_id desc, id desc`;

/** Lists the young jobs, and after them the older jobs that are still kept. */
async function findWithKept(
  db: Database,
  filter: JobListFilter & { kept: KeptJobs },
  range: IdRange,
  { limit, offset }: OffsetSlice,
): Promise<Found> {
  const { queueId, status = null, idempotencyKey = null, kept } = filter;
  const young = boundsOf(kept.youngFrom, filter.to);
  const found = young.from < young.below ? await find(db, filter, young, { limit, offset }) : { entries: [], total: 0 };
  const below = young.from < young.below ? young.from : range.below;
  const { retentionMs, lifetimeMs } = kept.periods;
  const values = [queueId, retentionMs, lifetimeMs, status, idempotencyKey];
  const total = found.total + (await countDown(db, COUNT_KEPT, { from: range.from, below }, values, KEPT_SLICE));
  const first = Math.max(offset, found.total);
  // Not more than were counted: searching for another one could take long.
  const missing = Math.min(limit - found.entries.length, total - first);
  if (missing <= 0) return { entries: found.entries, total };
  const text = pageOf(KEPT_IDS, { limit: missing, offset: first - found.total });
  return { entries: [...found.entries, ...(await db.query<Row>(text, [range.from, below, ...values]))], total };
}

const FEW_OR_MORE: Statement = {
  name: 'list-few-or-more',
  text: `
    select count(*) as jobs
      from (select from job where (queue_id, id) >= ($1, $2) and (queue_id, id) < ($1, $3) limit ${FEW + 1}) few`,
};

// For any combination of status and key. All jobs of the range are read, whether they match or not.
const AMONG_FEW: Statement = {
  name: 'list-among-few',
  text: `
    with matching as materialized (
      select id from job
       where (queue_id, id) >= ($1, $2) and (queue_id, id) < ($1, $3)
         and ($4::text is null or status = $4) and ($5::text is null or ${keyContains('idempotency_key', '$5')})
    )
    select page.id, ${BYTES_OF_J} as bytes, counted.total
      from (select count(*) as total from matching) counted
      left join (select id from matching order by id desc limit $6 offset $7) page on true
      left join job j on j.id = page.id
     order by page.id desc`,
};

async function findAmongFew(
  db: Database,
  filter: JobListFilter,
  range: IdRange,
  { limit, offset }: OffsetSlice,
): Promise<Found> {
  const { queueId, status = null, idempotencyKey = null } = filter;
  const rows = await db.query<{ id: string | null; bytes: number; total: number }>(AMONG_FEW, [
    ...[queueId, range.from, range.below, status, idempotencyKey, limit, offset],
  ]);
  const entries = rows.flatMap(({ id, bytes }) => (id === null ? [] : [{ id, bytes }]));
  return { entries, total: rows[0]?.total ?? 0 };
}

/** @returns SQL: a page of the ids that `ids` selects, in its order */
function pageOf(ids: string, { limit, offset }: OffsetSlice): string {
  return `
    select page.id, ${BYTES_OF_J} as bytes
      from (${ids} ${limitOf(limit, offset)}) page join job j on j.id = page.id order by page.id desc`;
}

const IN_RANGE = '(queue_id, id) >= ($1, $2) and (queue_id, id) < ($1, $3)';
const NEWEST = 'order by queue_id desc, id desc';

const OF_QUEUE = `select id from job where ${IN_RANGE} ${NEWEST}`;

function sumOf(counted: readonly CountedRange[]): number {
  return counted.reduce((total, { jobs }) => total + jobs, 0);
}

/** Skips the ranges that end before the page begins, because PostgreSQL walks an offset entry by entry. */
async function entriesAt(
  db: Database,
  queueId: string,
  range: IdRange,
  counted: readonly CountedRange[],
  { limit, offset }: OffsetSlice,
): Promise<SizedEntry[]> {
  let before = 0;
  for (const { jobs, below } of counted) {
    if (before + jobs > offset) {
      const text = pageOf(OF_QUEUE, { limit, offset: offset - before });
      return db.query<Row>(text, [queueId, range.from, below]);
    }
    before += jobs;
  }
  return [];
}

/** Counting this many takes about 2 s. */
const MAX_PENDING = 10_000_000;

// With the range of ids outside, the planner uses the partial index of pending or in-flight jobs,
// not the index of all jobs.
const PENDING = `
  select id from (select id from job where queue_id = $1 and status = 'pending' offset 0) pending
   where id >= $2 and id < $3`;
const IN_FLIGHT = `
  select id, status
    from (select id, status from job where queue_id = $1 and status in ('processing', 'awaiting_ack') offset 0) flying
   where id >= $2 and id < $3`;

// Constants instead of parameters: otherwise cached plans cannot use the partial indexes.
const COUNT_DEAD: Statement = {
  name: 'count-dead-jobs',
  text: `
    select count(*) as walked, count(*) as n, min(id) as last
      from (select id from job where status = 'dead' and (queue_id, id) >= ($3, $1) and (queue_id, id) < ($3, $2)
             order by queue_id desc, id desc limit ${COUNT_SLICE}) dead`,
};
const COUNT_PENDING: Statement = {
  name: 'count-pending-jobs',
  text: `select count(*) as jobs from (${PENDING} limit ${MAX_PENDING}) counted`,
};
const COUNT_IN_FLIGHT: Statement = {
  name: 'count-jobs-in-flight',
  text: `select count(*) as jobs, count(*) filter (where status = 'processing') as processing from (${IN_FLIGHT}) counted`,
};

const OF_STATUS: Record<JobStatus, string> = {
  dead: `select id from job where status = 'dead' and ${IN_RANGE} ${NEWEST}`,
  // The index of pending jobs contains their ids, but is ordered by the time at which they are due.
  pending: `${PENDING} order by id desc`,
  processing: inFlight('processing'),
  awaiting_ack: inFlight('awaiting_ack'),
  completed: `select id from job where status = 'completed' and ${IN_RANGE} ${NEWEST}`,
};

function inFlight(status: JobStatus): string {
  return `${IN_FLIGHT} and status = '${status}' order by id desc`;
}

async function findByStatus(
  db: Database,
  queueId: string,
  status: JobStatus,
  range: IdRange,
  slice: OffsetSlice,
): Promise<Found> {
  const total = await countByStatus(db, queueId, status, range);
  if (slice.offset >= total) return { entries: [], total };
  const values = [queueId, range.from, range.below];
  return { entries: await db.query<Row>(pageOf(OF_STATUS[status], slice), values), total };
}

async function countByStatus(db: Database, queueId: string, status: JobStatus, range: IdRange): Promise<number> {
  const values = [queueId, range.from, range.below];
  const countDead = () => countDown(db, COUNT_DEAD, range, [queueId]);
  const countPending = async () => (await db.one<{ jobs: number }>(COUNT_PENDING, values))?.jobs ?? 0;
  const inFlight = async () => {
    const row = await db.one<{ jobs: number; processing: number }>(COUNT_IN_FLIGHT, values);
    return row ?? { jobs: 0, processing: 0 };
  };
  switch (status) {
    case 'dead':
      return countDead();
    case 'pending':
      return countPending();
    case 'processing':
      return (await inFlight()).processing;
    case 'awaiting_ack': {
      const { jobs, processing } = await inFlight();
      return jobs - processing;
    }
    case 'completed': {
      // There is no index of completed jobs, so they are all jobs less those of the other statuses.
      const all = sumOf(await countJobsOfQueue(db, queueId, range));
      const others = (await countDead()) + (await countPending()) + (await inFlight()).jobs;
      return Math.max(0, all - others);
    }
  }
}

// Walks the keys in order by an index-only scan, and reads only the jobs whose key matches.
const BY_KEYS: Statement = {
  name: 'list-jobs-by-keys',
  text: `
    select count(*) as walked, max(walk.key) as last, coalesce(array_agg(found.id) filter (where found.id is not null), '{}') as ids
      from (select idempotency_key as key from job
             where idempotency_key is not null and queue_id = $1 and (queue_id, idempotency_key) > ($1, $2)
             order by queue_id, idempotency_key limit $3) walk
      left join lateral (
        select id from job
         where ${keyContains('walk.key', '$4')}
           and queue_id = $1 and idempotency_key = walk.key and id >= $5 and id < $6 and ($7::text is null or status = $7)
        offset 0) found on true`,
};
const KEYS_AT_ONCE = 100_000;
const MAX_KEYS_MS = 2500;
/** Number of the newest matches that are kept in memory. */
const MAX_MATCHES = 20_000;
/** A text that occurs in this many keys is found soon among the newest jobs. */
const FREQUENT = 1000;

const BY_IDS: Statement = {
  name: 'sizes-of-jobs',
  text: `select j.id, ${BYTES_OF_J} as bytes from job j where j.id = any ($1) order by j.id desc`,
};

const BY_FREQUENT_KEY = `
  select id from job
   where ${IN_RANGE} and ($5::text is null or status = $5) and ${keyContains('idempotency_key', '$4')} ${NEWEST}`;

async function findByKey(
  db: Database,
  { queueId, idempotencyKey, status }: JobListFilter & { idempotencyKey: string },
  range: IdRange,
  { limit, offset }: OffsetSlice,
): Promise<Found> {
  const endsAt = performance.now() + MAX_KEYS_MS;
  let [total, after, newest]: [number, string | null, string[]] = [0, '', []];
  do {
    const row: { walked: number; last: string | null; ids: string[] } | null = await db.one(BY_KEYS, [
      ...[queueId, after, KEYS_AT_ONCE, idempotencyKey, range.from, range.below, status],
    ]);
    if (row === null) throw new Error('an aggregate returned no row');
    total += row.ids.length;
    newest = [...newest, ...row.ids].sort().reverse().slice(0, MAX_MATCHES);
    after = row.walked < KEYS_AT_ONCE ? null : row.last;
  } while (after !== null && performance.now() < endsAt);
  const isKnown = offset + limit <= newest.length || total === newest.length;
  if (isKnown && (after === null || total < FREQUENT)) {
    return { entries: await db.query(BY_IDS, [newest.slice(offset, offset + limit)]), total };
  }
  const values = [queueId, range.from, range.below, idempotencyKey, status];
  return { entries: await db.query<Row>(pageOf(BY_FREQUENT_KEY, { limit, offset }), values), total };
}
