import type { JobStatus } from '../../domain/job.ts';
import type { DeadLetterFilter, JobFilter } from '../../domain/job-filter.ts';
import type { Periods } from '../../domain/periods.ts';
import type { Database, Statement } from '../connection/database.ts';
import { isKeptLetter } from '../retention/kept.ts';
import { deadLetterConditions } from '../search/dead-letter-filter.ts';
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

/** Limit of payload bytes per batch. A replay copies the payloads, and every statement must end within its time limit. */
const MAX_BATCH_BYTES = 16 * 1024 * 1024;

function replayable(queueId: string, filter: DeadLetterFilter, { retentionMs, lifetimeMs }: Periods) {
  const values: unknown[] = [queueId, retentionMs, lifetimeMs];
  const conditions = [
    'd.queue_id = $1',
    'd.replayed_at is null',
    isKeptLetter({
      now: '(select jobferry_now())',
      retention: `$2 * interval '1 ms'`,
      lifetime: `$3 * interval '1 ms'`,
    }),
    ...deadLetterConditions(filter, values),
  ];
  return { where: conditions.join(' and '), values };
}

/** Limit of the count at the start of an action. Later the count follows the processed rows. */
const MAX_MATCHED = 1_000_000;

export async function countReplayable(
  db: Database,
  queueId: string,
  filter: DeadLetterFilter,
  periods: Periods,
): Promise<number> {
  const { where, values } = replayable(queueId, filter, periods);
  const n = values.push(MAX_MATCHED);
  const counted = `select count(*) as n from (select from dead_letter d where ${where} limit $${n}) d`;
  return (await db.one<{ n: number }>(counted, values))?.n ?? 0;
}

/** Dead letters that a step reads at most, so that it ends in time even if few of them match. */
const WALK = 20_000;

/**
 * Returns the ids of the next dead letters that can be replayed, oldest first, among the next 20 000 that are not yet
 * replayed. `walkedTo` is the last id of these 20 000; null when there are none.
 */
export async function nextReplayable(
  db: Database,
  selection: { queueId: string; filter: DeadLetterFilter; periods: Periods },
  { after, before, limit }: BatchBounds,
): Promise<{ ids: string[]; walkedTo: string | null }> {
  const { where, values } = replayable(selection.queueId, selection.filter, selection.periods);
  const n = values.push(after, before, limit);
  // Queue and id are compared together. Otherwise the planner may walk the ids of all queues.
  const rows = await db.query<{ ids: string[]; walkedTo: string | null }>(
    `with walk as materialized (
       select id from dead_letter
        where replayed_at is null and (queue_id, id) > ($1, $${n - 2}) and (queue_id, id) < ($1, $${n - 1})
        order by queue_id, id limit ${WALK}
     ), found as (
       select d.id, d.job_id from walk join dead_letter d on d.id = walk.id where ${where} order by d.id limit $${n}
     ), sized as (
       select d.id, sum(octet_length(j.payload)) over (order by d.id) - octet_length(j.payload) as bytes_before
         from found d join job j on j.id = d.job_id
     )
     select coalesce((select array_agg(id order by id) from sized where bytes_before < ${MAX_BATCH_BYTES}), '{}') as ids,
            (select max(id) from walk) as "walkedTo"`,
    values,
  );
  return rows[0] ?? { ids: [], walkedTo: null };
}

const COUNT_PENDING: Statement = {
  name: 'bulk-count-pending',
  text: `select count(*) as n from (select from job where queue_id = $1 and status = 'pending' limit ${MAX_MATCHED}) pending`,
};

export async function countPending(db: Database, queueId: string): Promise<number> {
  return (await db.one<{ n: number }>(COUNT_PENDING, [queueId]))?.n ?? 0;
}

// In the order of the index of pending jobs. By id, the walk would pass every completed job of the queue. A cancelled job
// is not pending any more, so the same query finds the next jobs.
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

interface CancelSelection {
  accountId: string;
  filter: JobFilter;
  periods: Periods;
}

const OPEN: readonly JobStatus[] = ['pending', 'processing', 'awaiting_ack'];

/**
 * Selects jobs that match and have not ended. It includes jobs that are being delivered: these cannot be cancelled, but
 * the client must see them counted as skipped.
 */
function cancellable({ accountId, filter, periods }: CancelSelection): JobSelection {
  const statuses = OPEN.filter((status) => filter.statuses?.includes(status) ?? true);
  return { accountId, filter: { ...filter, statuses }, windowMs: periods.retentionMs, periods };
}

export function countCancellable(db: Database, selection: CancelSelection): Promise<number> {
  return countJobs(db, cancellable(selection), MAX_MATCHED - 1);
}

/** @returns ids of the next jobs that can be cancelled, oldest first */
export async function nextCancellable(
  db: Database,
  selection: CancelSelection,
  { after, before, limit }: BatchBounds,
): Promise<string[]> {
  const slice = { limit, after: { id: after }, before: { id: before }, inverted: false };
  const found = await searchJobs(db, cancellable(selection), { field: 'created_at', descending: false }, slice);
  return found.map(({ id }) => id);
}
