import { SearchBudget } from '../../src/db/search/budget.ts';
import { indexPayloads, indexWaiting } from '../../src/db/search/index-payloads.ts';
import { countJobs, searchJobs } from '../../src/db/search/jobs.ts';
import type { JobStatus } from '../../src/domain/job.ts';
import type { JobFilter, JobOrder } from '../../src/domain/job-filter.ts';
import { openFixture, PATIENCE_MS, PERIODS, RETENTION_MS, type TestQueue, takeOverClock } from './database-fixture.ts';

export const NEWEST_FIRST: JobOrder = { field: 'created_at', descending: true };

/** The columns of an inserted job that a test may choose. */
export interface JobRow {
  queue: TestQueue;
  /** JSON source text. */
  payload?: string;
  status?: JobStatus;
  /** Milliseconds before now, for all times. */
  ageMs?: number;
  scheduledInMs?: number;
  completedAgoMs?: number;
  waitReason?: 'backoff' | 'hold' | null;
  attempts?: number;
  key?: string | null;
  lastError?: string | null;
  deferCount?: number;
  /** The webhook's answers, one per attempt. */
  answers?: (number | null | Answer)[];
}

interface Answer {
  code: number | null;
  ms?: number;
  body?: string;
  /** Milliseconds before now at which the attempt ended; the age of the job by default. */
  agoMs?: number;
}

/** Jobs put straight into the tables, on a clock that stands still, and the search over them. */
export async function openSearchFixture() {
  const fixture = await openFixture();
  const { db, accountId } = fixture;
  const now = Date.now();
  const setClock = await takeOverClock(db, now);

  async function insertJob(row: JobRow): Promise<string> {
    const { queue, payload = '{}', status = 'pending', ageMs = 60_000, attempts = 0, answers = [] } = row;
    const createdAt = new Date(now - ageMs);
    const isInFlight = status === 'processing' || status === 'awaiting_ack';
    const inserted = await db.one<{ id: string }>(
      `insert into job (id, account_id, queue_id, status, attempts, max_attempts, backoff_type, backoff_delay,
                        idempotency_key, payload, scheduled_for, deliver_by, last_error, created_at, completed_at,
                        dead_reason, worker_id, deadline, history_count, wait_reason, defer_count)
       select jobferry_id($1), account_id, $2, $3, $4, 25, 'fixed', 0, $5, $6, $7, $1::timestamptz + interval '1 day', $8,
              $1, $9, $10, $11, $12, $13, $14, $15 from queue where id = $2
       returning id`,
      [
        createdAt,
        queue.id,
        status,
        attempts,
        row.key ?? null,
        payload,
        row.scheduledInMs === undefined ? createdAt : new Date(now + row.scheduledInMs),
        row.lastError ?? null,
        status === 'completed' ? new Date(now - (row.completedAgoMs ?? ageMs - 1)) : null,
        status === 'dead' ? 'nacked' : null,
        status === 'processing' ? 1 : null,
        isInFlight ? new Date(now + 60_000) : null,
        answers.length,
        row.waitReason ?? null,
        row.deferCount ?? 0,
      ],
    );
    const id = inserted?.id ?? '';
    for (const [index, answer] of answers.entries()) {
      const {
        code,
        ms = null,
        body = null,
        agoMs = ageMs,
      } = typeof answer === 'object' && answer !== null ? answer : { code: answer };
      await db.query(
        `insert into attempt (job_id, ordinal, queue_id, attempt, status, webhook_status_code, "timestamp", duration_ms, response_body)
         values ($1, $2, $3, 1, case when $4 between 200 and 299 then 'success' else 'failed' end, $4, $5, $6, $7)`,
        [id, index + 1, queue.id, code, new Date(now - agoMs), ms, body],
      );
    }
    return id;
  }

  const select = (filter: JobFilter) => {
    // The 2 s of a request say nothing about what a search finds.
    const budget = new SearchBudget(undefined, PATIENCE_MS);
    return { accountId, filter, windowMs: RETENTION_MS, periods: PERIODS, budget };
  };
  return {
    ...fixture,
    now,
    setClock,
    insertJob,
    async insertPayloads(queue: TestQueue, payloads: readonly string[]): Promise<string[]> {
      const ids: string[] = [];
      for (const payload of payloads) ids.push(await insertJob({ queue, payload }));
      return ids;
    },
    /** Indexes everything that was created more than 5 s before now; returns how many jobs that were. */
    async indexAll(): Promise<number> {
      for (let total = 0; ; ) {
        const turn = { max: 500, bytes: 1_048_576, pauseMs: 0, giveUp: false };
        const indexed = (await indexPayloads(db, 500)) || (await indexWaiting(db, turn));
        if (indexed === 0) return total;
        total += indexed;
      }
    },
    async find(filter: JobFilter, order = NEWEST_FIRST, limit = 1000): Promise<string[]> {
      return (await searchJobs(db, select(filter), order, { limit, inverted: false })).map(({ id }) => id);
    },
    /** Newest first walks the jobs; counting and ordering by time use an index first. All must give the same result. */
    async findEveryWay(filter: JobFilter): Promise<Set<string>> {
      const walked = await this.find(filter);
      const looked = await this.find(filter, { field: 'scheduled_for', descending: false });
      const counted = await countJobs(db, select(filter), 10_000);
      if (walked.length !== counted || walked.length !== looked.length || looked.some((id) => !walked.includes(id))) {
        throw new Error(`walking found ${walked.length}, an index ${looked.length}, counting ${counted}`);
      }
      return new Set(walked);
    },
    select,
  };
}
