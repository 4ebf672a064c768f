import type { Author } from '../domain/audit.ts';
import type { DeadLetterDocument } from '../domain/job.ts';
import type { Periods } from '../domain/periods.ts';
import { AUDITED_IDS, actorJson } from './audit.ts';
import type { Cipher } from './connection/cipher.ts';
import type { Database, Statement } from './connection/database.ts';
import { HISTORY_OF_J, type HistoryJson, toHistory } from './jobs/documents.ts';
import { BYTES_OF_J, boundsOf, COUNT_SLICE, countDown, type DocumentPage, limitOf, readPage } from './jobs/pages.ts';
import { isKeptLetter } from './retention/kept.ts';

interface DeadLetterRow {
  id: string;
  job_id: string;
  queue_id: string;
  queue: string;
  payload: string;
  history: HistoryJson[] | null;
  dead_at: Date;
  replayed_at: Date | null;
  replayed_job_id: string | null;
}

interface DeadLetterListFilter {
  queueId: string;
  from: Date;
  to?: Date | undefined;
  includeReplayed: boolean;
  /** A dead letter is listed only as long as its job is kept, whether or not the sweep has removed it. */
  periods: Periods;
}

/**
 * Returns a page of a queue's dead letters, most recently dead first, and how many match. The number is exact if
 * counting takes no longer than a few seconds (about ten million dead letters), and a lower bound otherwise.
 */
export async function listDeadLetterDocuments(
  db: Database,
  filter: DeadLetterListFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<DocumentPage<DeadLetterDocument>> {
  const range = boundsOf(filter.from, filter.to);
  const { retentionMs, lifetimeMs } = filter.periods;
  const statements = filter.includeReplayed ? ALL : OPEN;
  const total = await countDown(db, statements.count, range, [filter.queueId, retentionMs, lifetimeMs]);
  if (offset >= total) return { jobs: [], total };
  const values = [range.from, range.below, filter.queueId, retentionMs, lifetimeMs];
  const entries = await db.query<{ id: string; bytes: number }>(statements.page(limit, offset), values);
  return readPage(entries, total, async (ids) => {
    const rows = await db.query<DeadLetterRow>(BY_IDS, [ids]);
    return rows.map((row) => toDocument(db.cipher, row));
  });
}

const IS_KEPT = isKeptLetter({
  now: '(select jobferry_now())',
  retention: `$4 * interval '1 ms'`,
  lifetime: `$5 * interval '1 ms'`,
});
const ALL = statementsOf('all', 'true');
const OPEN = statementsOf('open', 'd.replayed_at is null');

/** Both statements read an index that also contains the job's id. */
function statementsOf(
  name: string,
  condition: string,
): { count: Statement; page: (limit: number, offset: number) => string } {
  const letters = `
    select d.queue_id, d.id, ${IS_KEPT} as is_kept from dead_letter d
     where ${condition} and (d.queue_id, d.id) >= ($3, $1) and (d.queue_id, d.id) < ($3, $2)`;
  return {
    count: {
      name: `count-${name}-dead-letters`,
      text: `
        select count(*) as walked, count(*) filter (where is_kept) as n, min(id) as last
          from (${letters} order by queue_id desc, id desc limit ${COUNT_SLICE}) walk`,
    },
    // With constant limits the planner chooses a plan that does not read the whole queue.
    page: (limit, offset) => `
      select d.id, ${BYTES_OF_J} as bytes
        from (select id from (${letters}) l where is_kept
               order by queue_id desc, id desc ${limitOf(limit, offset)}) page
        join dead_letter d on d.id = page.id join job j on j.id = d.job_id
       order by d.id desc`,
  };
}

const JOBS_OF_LETTERS: Statement = {
  name: 'jobs-of-dead-letters',
  text: 'select job_id as id from dead_letter where id = any ($1)',
};

/** Returns the ids of the jobs that died. */
export async function jobsOfLetters(db: Database, letterIds: readonly string[]): Promise<string[]> {
  if (letterIds.length === 0) return [];
  return (await db.query<{ id: string }>(JOBS_OF_LETTERS, [letterIds])).map(({ id }) => id);
}

const BY_IDS: Statement = {
  name: 'dead-letters-of-page',
  text: `
    select d.id, d.job_id, d.queue_id, q.name as queue, j.payload, ${HISTORY_OF_J} as history, d.dead_at, d.replayed_at, d.replayed_job_id
      from dead_letter d join job j on j.id = d.job_id join queue q on q.id = d.queue_id
     where d.id = any ($1) order by d.id desc`,
};

function toDocument(cipher: Cipher, row: DeadLetterRow): DeadLetterDocument {
  return {
    id: row.id,
    originalJobId: row.job_id,
    queue: row.queue,
    payload: cipher.decrypt(`payload:${row.queue_id}`, row.payload),
    history: toHistory(row.history),
    deadAt: row.dead_at,
    replayedAt: row.replayed_at,
    replayedJobId: row.replayed_job_id,
  };
}

export type ReplayAnswer =
  | { outcome: 'queue_deleted' }
  | { outcome: 'limit_reached' }
  | {
      outcome: 'done';
      /** Creation time in milliseconds, the same for all jobs of the call. */
      createdAt: number;
      jobs: { id: string; replayedJobId: string }[];
      /** `postponed`: the payloads before it reached the limit of one call, so another call can replay it. */
      skipped: { id: string; reason: 'not_found' | 'already_replayed' | 'postponed' }[];
      /**
       * Dead letters not yet replayed, counted up to five million;
       * 0 for a batch of a bulk action, which does not count.
       */
      remaining: number;
    };

const REPLAY: Statement = {
  name: 'replay',
  text: `select jobferry_replay($1, $2, $3, $4, $5 * interval '1 ms', $6 * interval '1 ms') as answer`,
};

// One audit entry per call. Its target is the dead letter if a single one was requested, otherwise the queue.
const REPLAY_AUDITED: Statement = {
  name: 'replay-audited',
  text: `
    with replayed as materialized (
      select jobferry_replay($1, $2, $3, $4, $5 * interval '1 ms', $6 * interval '1 ms') as answer
    )
    select answer,
           case when json_array_length(answer -> 'jobs') = 0 or answer -> 'jobs' is null then null
                when $9 then
                  jobferry_audit($7, $8::json, 'dead_letter.replay', 'dead_letter', answer -> 'jobs' -> 0 ->> 'id', null,
                                 null, jsonb_build_object('jobId', answer -> 'jobs' -> 0 ->> 'replayedJobId'))
                else
                  jobferry_audit($7, $8::json, 'dead_letters.replay', 'queue', $1, (select name from queue where id = $1),
                    null, jsonb_build_object('jobs', json_array_length(answer -> 'jobs'), 'deadLetterIds', (
                      select jsonb_agg(job ->> 'id')
                        from (select job from json_array_elements(answer -> 'jobs') as job limit ${AUDITED_IDS}) named)))
           end
      from replayed`,
};

/**
 * Creates new jobs from dead letters in one commit.
 * @param request.ids null for the `max` oldest that are not yet replayed
 * @param request.limit the plan's monthly attempts; null without a limit
 * @param audited the author of the request, and whether it names a single dead letter; null when the call is part of an
 *   action that has its own audit entry
 */
export async function replay(
  db: Database,
  request: { queueId: string; ids: string[] | null; max: number; limit: number | null },
  periods: Periods,
  audited: { by: Author; single: boolean } | null = null,
): Promise<ReplayAnswer> {
  const { queueId, ids, max, limit } = request;
  const values = [queueId, ids, max, limit, periods.retentionMs, periods.lifetimeMs];
  const row = await (audited === null
    ? db.one<{ answer: ReplayAnswer }>(REPLAY, values)
    : db.one<{ answer: ReplayAnswer }>(REPLAY_AUDITED, [
        ...values,
        audited.by.accountId,
        actorJson(audited.by.actor),
        audited.single,
      ]));
  if (row === null) throw new Error('jobferry_replay returned no row');
  return row.answer;
}
