import { isId } from '../../domain/id.ts';
import type { Database, Statement } from '../connection/database.ts';
import { notify } from '../connection/notifications.ts';
import { BOOKMARK_OF_Q } from './bookmark.ts';

/** Queues with work, according to the tables. Wake-ups are only hints and may be lost (I-36). */
interface QueuesWithWork {
  /** Queues with a job that may be deliverable, and deleted queues that still have pending jobs. */
  due: string[];
  /** Queues with a passed lease or ack deadline. */
  overdue: string[];
}

/** Queues per statement, which takes about 10 ms. */
const QUEUE_PAGE = 2000;
/** Time limit of a round. The next round continues with the queues that follow. */
const ROUND_MS = 1000;

const PAGES: Record<'live' | 'deleted', Statement> = {
  live: {
    name: 'live-queues-page',
    text: 'select id from queue where deleted_at is null and id > $1 order by id limit $2',
  },
  deleted: {
    name: 'deleted-queues-page',
    text: 'select id from queue where deleted_at is not null and id > $1 order by id limit $2',
  },
};

/**
 * Yields the ids of all queues, page by page. With very many queues it ends after a second.
 * @param cursor id after which to begin (empty: the first queue); updated so that the next round continues there
 */
export async function* eachQueuePage(
  db: Database,
  kind: 'live' | 'deleted',
  cursor: { after: string },
): AsyncGenerator<string[], void, undefined> {
  const startedAt = performance.now();
  do {
    const rows = await db.query<{ id: string }>(PAGES[kind], [cursor.after, QUEUE_PAGE]);
    // Before `yield`: if the work on this page fails, the next round begins with the next page.
    cursor.after = rows.length < QUEUE_PAGE ? '' : (rows.at(-1)?.id ?? '');
    if (rows.length > 0) yield rows.map(({ id }) => id);
  } while (cursor.after !== '' && performance.now() - startedAt < ROUND_MS);
}

// Reads the first job that waits, and the jobs in flight, of each queue, so it stays cheap under any backlog. Not
// "exists", which could read the whole table for a queue without jobs (test/db/index-use).
const WITH_WORK: Statement = {
  name: 'queues-with-work',
  text: `
    with clock as materialized (select jobferry_now() as now)
    select q.id,
           pending.scheduled_for is not null
             and (pending.scheduled_for <= clock.now and q.paused_at is null or q.deleted_at is not null) as due,
           coalesce(least(
             (select min(j.deadline) from job j
               where j.queue_id = q.id and j.status in ('processing', 'awaiting_ack') and j.claim_token > coalesce(b.token, -1)),
             case when b.early <> '{}' then (select min(e.deadline) from jobferry_early(b.early, b.token) e) end
           ) <= clock.now, false) as overdue
      from clock cross join queue q ${BOOKMARK_OF_Q}
      left join lateral (select j.scheduled_for from job j
                          where j.queue_id = q.id and j.status = 'pending' and j.scheduled_for >= coalesce(b.due, '-infinity')
                          order by j.queue_id, j.scheduled_for, j.id limit 1) pending on true
     where q.id = any ($1::text[])`,
};

/** @returns which of the queues have work */
export async function queuesWithWork(db: Database, queueIds: readonly string[]): Promise<QueuesWithWork> {
  const rows = await db.query<{ id: string; due: boolean; overdue: boolean }>(WITH_WORK, [queueIds]);
  return {
    due: rows.filter((row) => row.due).map((row) => row.id),
    overdue: rows.filter((row) => row.overdue).map((row) => row.id),
  };
}

const NEXT_DEADLINE: Statement = {
  name: 'next-deadline',
  text: `
    select extract(epoch from min(deadline) - jobferry_now()) * 1000 as wait_ms from jobferry_flying($1)`,
};

/** @returns milliseconds until the queue's next lease or ack deadline, negative when it has passed; null without one */
export async function nextDeadlineMs(db: Database, queueId: string): Promise<number | null> {
  const row = await db.one<{ wait_ms: string | null }>(NEXT_DEADLINE, [queueId]);
  return row?.wait_ms == null ? null : Number(row.wait_ms);
}

/** `job`: a job of the queue was published. `change`: something else may make its jobs claimable. */
export type WakeReason = 'job' | 'change';

/** Workers listen on this channel. */
export const WAKE_CHANNEL = 'jobferry_wake';
/** Limit of ids, so that a message stays within PostgreSQL's limit of 8000 bytes. */
const IDS_PER_MESSAGE = 300;

/** Notifies all listening workers of queues that may have work. */
export async function notifyWorkers(db: Database, queues: ReadonlyMap<string, WakeReason>): Promise<void> {
  const messages = (['job', 'change'] as const).flatMap((reason) => {
    const ids = [...queues].flatMap(([id, why]) => (why === reason ? [id] : []));
    const count = Math.ceil(ids.length / IDS_PER_MESSAGE);
    return Array.from({ length: count }, (_, n) =>
      [reason, ...ids.slice(n * IDS_PER_MESSAGE, (n + 1) * IDS_PER_MESSAGE)].join(' '),
    );
  });
  await notify(db, WAKE_CHANNEL, messages);
}

/** Parses a message of `notifyWorkers`. */
export function readWake(message: string): { reason: WakeReason; queueIds: string[] } {
  const [reason, ...queueIds] = message.split(' ');
  return { reason: reason === 'job' ? 'job' : 'change', queueIds: queueIds.filter(isId) };
}
