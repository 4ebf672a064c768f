import type { JobStatus } from '../../domain/job.ts';
import type { DeadLetterFilter, JobFilter, JobStateName } from '../../domain/job-filter.ts';
import type { Periods } from '../../domain/periods.ts';
import type { Database, Statement } from '../connection/database.ts';
import { countDeadLetters, type DeadLetterScope, nextOpenLetters } from '../search/dead-letters.ts';
import { countJobs, type JobSelection, searchJobs } from '../search/jobs.ts';

/** Selects the jobs and dead letters of a bulk action: how many match, and which are next. */

/** The range of a batch. */
interface BatchBounds {
  /** Id at which the last batch ended; empty for the first batch. */
  after: string;
  /** Id of the action: rows with a later id were created after its start. */
  before: string;
  limit: number;
}

/**
 * Limit of payload bytes per batch. A replay copies the payloads, and every statement must end within its time limit.
 */
const MAX_BATCH_BYTES = 16 * 1024 * 1024;

/** Limit of the count at the start of an action. Later the count follows the processed rows. */
const MAX_MATCHED = 1_000_000;

/** The dead letters of a replay: those that match `filter`, or those of the jobs that match `jobs`. */
interface ReplaySelection {
  accountId: string;
  /** Null for all live queues of the account. */
  queueId: string | null;
  filter: DeadLetterFilter;
  jobs: JobFilter | null;
  periods: Periods;
}

export function countReplayable(db: Database, selection: ReplaySelection): Promise<number> {
  return selection.jobs === null
    ? countDeadLetters(db, scopeOf(selection), openLetters(selection), MAX_MATCHED - 1)
    : countJobs(db, jobsOfReplay(selection, selection.jobs), MAX_MATCHED - 1);
}

/**
 * The dead letters of a batch, and the id up to which nothing is left after it; null when nothing is left before it.
 */
interface NextLetters {
  ids: string[];
  position: string | null;
}

/** @returns the next dead letters that can be replayed, oldest first, or in the order of their jobs */
export async function nextReplayable(
  db: Database,
  selection: ReplaySelection,
  bounds: BatchBounds,
): Promise<NextLetters> {
  if (selection.jobs !== null) return nextLettersOfJobs(db, jobsOfReplay(selection, selection.jobs), bounds);
  const range = { ...bounds, bytes: MAX_BATCH_BYTES };
  const { ids, walkedTo } = await nextOpenLetters(db, scopeOf(selection), openLetters(selection), range);
  return { ids, position: ids.at(-1) ?? walkedTo };
}

/** Until a dead letter is no longer kept it can be replayed, whatever the plan shows. */
function scopeOf({ accountId, periods }: ReplaySelection): DeadLetterScope {
  return { accountId, windowMs: periods.retentionMs + periods.lifetimeMs, periods };
}

function openLetters({ queueId, filter }: ReplaySelection): DeadLetterFilter {
  return { ...withinQueue(queueId, filter), replayed: false };
}

function jobsOfReplay({ accountId, queueId, periods }: ReplaySelection, jobs: JobFilter): JobSelection {
  const filter = { ...withinQueue(queueId, jobs), replayable: true };
  return { accountId, filter, windowMs: periods.retentionMs, periods };
}

/** A queue beside the filter narrows it, and does not replace the queues of the filter. */
function withinQueue<Filter extends { queueIds?: readonly string[] | undefined }>(
  queueId: string | null,
  filter: Filter,
): Filter {
  if (queueId === null) return filter;
  return { ...filter, queueIds: filter.queueIds?.includes(queueId) === false ? [] : [queueId] };
}

const LETTERS_OF_JOBS: Statement = {
  name: 'bulk-letters-of-jobs',
  text: `
    with found as (
      select d.id, d.job_id, sum(octet_length(j.payload)) over (order by d.job_id) - octet_length(j.payload) as bytes_before
        from dead_letter d join job j on j.id = d.job_id
       where d.job_id = any ($1::text[]) and d.replayed_at is null and d.id < $2
    )
    select coalesce(array_agg(id order by job_id) filter (where bytes_before < ${MAX_BATCH_BYTES}), '{}') as ids,
           min(job_id) filter (where bytes_before >= ${MAX_BATCH_BYTES}) as "firstLeft"
      from found`,
};

/** The position of such a replay is the id of a job. Jobs that died after the start of the action are left out. */
async function nextLettersOfJobs(db: Database, selection: JobSelection, bounds: BatchBounds): Promise<NextLetters> {
  const jobs = await nextJobs(db, selection, bounds);
  if (jobs.length === 0) return { ids: [], position: null };
  const row = await db.one<{ ids: string[]; firstLeft: string | null }>(LETTERS_OF_JOBS, [jobs, bounds.before]);
  const taken = jobs.filter((id) => row?.firstLeft == null || id < row.firstLeft);
  return { ids: row?.ids ?? [], position: taken.at(-1) ?? null };
}

const OLDEST_FIRST = { field: 'created_at', descending: false } as const;

/** @returns ids of the next jobs that match, oldest first */
async function nextJobs(
  db: Database,
  selection: JobSelection,
  { after, before, limit }: BatchBounds,
): Promise<string[]> {
  const slice = { limit, after: { id: after }, before: { id: before }, inverted: false };
  return (await searchJobs(db, selection, OLDEST_FIRST, slice)).map(({ id }) => id);
}

const COUNT_PENDING: Statement = {
  name: 'bulk-count-pending',
  text: `select count(*) as n from (select from job where queue_id = $1 and status = 'pending' limit ${MAX_MATCHED}) pending`,
};

export async function countPending(db: Database, queueId: string): Promise<number> {
  return (await db.one<{ n: number }>(COUNT_PENDING, [queueId]))?.n ?? 0;
}

// In the order of the index of pending jobs. By id, the walk would pass every completed job of the queue. A cancelled
// job is not pending any more, so the same query finds the next jobs.
const PENDING: Statement = {
  name: 'bulk-next-pending',
  text: `
    select id from job where queue_id = $1 and status = 'pending' and id < $2
     order by scheduled_for, id limit $3`,
};

/** @returns ids of pending jobs of a queue with an id below `before` */
export async function nextPending(db: Database, queueId: string, before: string, limit: number): Promise<string[]> {
  return (await db.query<{ id: string }>(PENDING, [queueId, before, limit])).map((row) => row.id);
}

interface FilterSelection {
  accountId: string;
  filter: JobFilter;
  periods: Periods;
}

const POSTPONED: readonly JobStateName[] = ['scheduled', 'retrying', 'held'];

/** Selects pending jobs that match and are not yet due. */
function postponed({ accountId, filter, periods }: FilterSelection): JobSelection {
  const states = POSTPONED.filter((state) => filter.states?.includes(state) ?? true);
  return { accountId, filter: { ...filter, states }, windowMs: periods.retentionMs, periods };
}

export function countPostponed(db: Database, selection: FilterSelection): Promise<number> {
  return countJobs(db, postponed(selection), MAX_MATCHED - 1);
}

/** @returns ids of the next jobs that can be made due, oldest first */
export function nextPostponed(db: Database, selection: FilterSelection, bounds: BatchBounds): Promise<string[]> {
  return nextJobs(db, postponed(selection), bounds);
}

const OPEN: readonly JobStatus[] = ['pending', 'processing', 'awaiting_ack'];

/**
 * Selects jobs that match and have not ended. It includes jobs that are being delivered: these cannot be cancelled, but
 * the client must see them counted as skipped.
 */
function cancellable({ accountId, filter, periods }: FilterSelection): JobSelection {
  const statuses = OPEN.filter((status) => filter.statuses?.includes(status) ?? true);
  return { accountId, filter: { ...filter, statuses }, windowMs: periods.retentionMs, periods };
}

export function countCancellable(db: Database, selection: FilterSelection): Promise<number> {
  return countJobs(db, cancellable(selection), MAX_MATCHED - 1);
}

/** @returns ids of the next jobs that can be cancelled, oldest first */
export function nextCancellable(db: Database, selection: FilterSelection, bounds: BatchBounds): Promise<string[]> {
  return nextJobs(db, cancellable(selection), bounds);
}
