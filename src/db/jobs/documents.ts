import type { HistoryEntry, JobDocument, JobStatus } from '../../domain/job.ts';
import type { Periods } from '../../domain/periods.ts';
import type { Cipher } from '../connection/cipher.ts';
import type { Database, Statement } from '../connection/database.ts';
import { firstYoungId, isKeptJob, type KeptTerms, outlastsRetention } from '../retention/kept.ts';

interface DocumentRow {
  id: string;
  account_id: string;
  queue_id: string;
  queue: string;
  status: JobStatus;
  attempts: number;
  max_attempts: number;
  defer_count: number;
  idempotency_key: string | null;
  payload: string;
  scheduled_for: Date;
  last_error: string | null;
  created_at: Date;
  completed_at: Date | null;
  history: HistoryJson[] | null;
}

/** An entry as `json_agg` returns it; the timestamp is in milliseconds. */
export type HistoryJson = Omit<HistoryEntry, 'timestamp'> & { timestamp: number };

/** SQL: history of the job `j` of the surrounding query, as one JSON value. */
export const HISTORY_OF_J = `(
  select json_agg(json_build_object(
           'attempt', a.attempt, 'status', a.status, 'error', a.error, 'webhookStatusCode', a.webhook_status_code,
           'timestamp', extract(epoch from a."timestamp") * 1000) order by a.ordinal)
    from attempt a where a.job_id = j.id)`;

/** SQL: columns of a document without its large parts, the payload and the history. */
const COLUMNS = `j.id, j.account_id, j.queue_id, q.name as queue, j.status, j.attempts, j.max_attempts, j.defer_count,
           j.idempotency_key, j.scheduled_for, j.last_error, j.created_at, j.completed_at`;

const TERMS: KeptTerms = {
  now: '(select jobferry_now())',
  retention: `$2 * interval '1 ms'`,
  lifetime: `$3 * interval '1 ms'`,
};

// Reads payloads in the order of the given ids until the limit of bytes is reached, but at least one.
const KEPT: Statement = {
  name: 'job-documents',
  text: `
    select ${COLUMNS}, octet_length(j.payload) as payload_bytes,
           case when fits then j.payload end as payload, case when fits then ${HISTORY_OF_J} end as history
      from (select found.*, coalesce(sum(octet_length(payload)) over before, 0) + octet_length(payload) <= $4 or n = 1 as fits
              from (select job.*, row_number() over (order by asked.n) as n
                      from unnest($1::text[]) with ordinality as asked(id, n) join job on job.id = asked.id) found
            window before as (order by n rows between unbounded preceding and 1 preceding)) j
      join queue q on q.id = j.queue_id
     where ${isKeptJob(TERMS)}`,
};

interface OwnedDocument {
  accountId: string;
  document: JobDocument;
}

/** A document that exceeded the limit of bytes. */
interface PostponedDocument {
  /** Size of its payload. */
  bytes: number;
}

/**
 * Returns the documents of the jobs that are kept, by id; of all accounts.
 * @param maxBytes limit for all payloads together. The first payload is always read. For those beyond the limit only
 *   the size is returned.
 */
export async function jobDocuments(
  db: Database,
  ids: readonly string[],
  { retentionMs, lifetimeMs }: Periods,
  maxBytes: number,
): Promise<ReadonlyMap<string, OwnedDocument | PostponedDocument>> {
  const rows = await db.query<Omit<DocumentRow, 'payload'> & { payload: string | null; payload_bytes: number }>(KEPT, [
    ids,
    retentionMs,
    lifetimeMs,
    maxBytes,
  ]);
  return new Map(
    rows.map(({ payload, payload_bytes: bytes, ...row }) => [
      row.id,
      payload === null
        ? { bytes }
        : { accountId: row.account_id, document: toDocument(db.cipher, { ...row, payload }) },
    ]),
  );
}

interface ListStart {
  /** Database time. */
  now: Date;
  /** Creation time of the queue's oldest job that outlasts its retention; nearly always null, because there is none. */
  oldestKept: Date | null;
}

// Row comparison, because only the index that begins with the queue can serve it. Below the range of young jobs are
// those that outlast their retention, and those that the sweep has not removed yet.
const LIST_START: Statement = {
  name: 'list-start',
  text: `
    with clock as materialized (select jobferry_now() as now)
    select clock.now, (
             select j.created_at from job j
              where (j.queue_id, j.id) >= ($1, '')
                and (j.queue_id, j.id) < ($1, ${firstYoungId({ ...TERMS, now: 'clock.now' })})
                and ${outlastsRetention({ ...TERMS, now: 'clock.now' })}
              order by j.queue_id, j.id limit 1) as oldest_kept
      from clock`,
};

/** @returns the facts that decide where a list of the queue's jobs begins */
export async function listStart(db: Database, queueId: string, periods: Periods): Promise<ListStart> {
  const values = [queueId, periods.retentionMs, periods.lifetimeMs];
  const row = await db.one<{ now: Date; oldest_kept: Date | null }>(LIST_START, values);
  if (row === null) throw new Error('the start of a list returned no row');
  return { now: row.now, oldestKept: row.oldest_kept };
}

const BY_IDS: Statement = {
  name: 'jobs-of-page',
  text: `
    select ${COLUMNS}, j.payload, ${HISTORY_OF_J} as history
      from job j join queue q on q.id = j.queue_id
     where j.id = any ($1) order by j.id desc`,
};

/** @returns documents of a page, newest first, without jobs that no longer exist */
export async function documentsOfJobs(db: Database, ids: readonly string[]): Promise<JobDocument[]> {
  return (await db.query<DocumentRow>(BY_IDS, [ids])).map((row) => toDocument(db.cipher, row));
}

function toDocument(cipher: Cipher, row: DocumentRow): JobDocument {
  return {
    id: row.id,
    queue: row.queue,
    status: row.status,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    deferCount: row.defer_count,
    idempotencyKey: row.idempotency_key,
    payload: cipher.decrypt(`payload:${row.queue_id}`, row.payload),
    scheduledFor: row.scheduled_for,
    lastError: row.last_error,
    history: toHistory(row.history),
    createdAt: row.created_at,
    completedAt: row.completed_at,
  };
}

export function toHistory(entries: HistoryJson[] | null): HistoryEntry[] {
  return (entries ?? []).map((entry) => ({ ...entry, timestamp: new Date(entry.timestamp) }));
}
