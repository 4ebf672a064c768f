import type { Database, Statement } from '../connection/database.ts';
import type { Attempt } from '../generated/client.ts';
import { toWaitingFacts, WAITING_TIMES, type WaitingFacts, type WaitingRow, whyJobsWait } from '../insight/queues.ts';
import {
  ATTEMPT_ROW,
  columnsOf,
  DEAD_LETTER_ROW,
  type DeadLetterRow,
  JOB_ROW,
  type JobRow,
  QUEUE_ROW,
  type QueueRow,
  rowsOf,
  withDates,
} from '../rows.ts';

/** Parts that can be read with jobs. */
export interface JobParts {
  /** Their queues. */
  queue: boolean;
  /** The dead letters of those that are dead. */
  deadLetter: boolean;
  /** Why those that are pending wait. */
  waiting: boolean;
  /** The client that cancelled a cancelled job. */
  cancelledBy: boolean;
}

export interface JobRows {
  jobs: JobRow[];
  queues: QueueRow[];
  deadLetters: DeadLetterRow[];
  waiting: WaitingFacts[];
  cancellations: { id: string; actor: string | null }[];
}

// A job is cancelled by itself or by a bulk action. Ids of the audit log contain the time, so the index finds the few
// entries of that moment.
const CANCELLATIONS = `
  select f.id, coalesce(action.actor, entry.actor) as actor
    from found f
    left join lateral (
      select e.actor_label as actor from audit_entry e
       where e.account_id = $2 and e.action = 'job.cancel' and e.target_id = f.id
         and e.id >= jobferry_first_id(f."deadAt" - interval '1 s')
         and e.id < jobferry_first_id(f."deadAt" + interval '5 s')
       order by e.id desc limit 1) entry on true
    left join lateral (
      select b.requested_by as actor from bulk_action_job n join bulk_action b on b.id = n.action_id
       where n.job_id = f.id and b.account_id = $2 and b.kind in ('cancel_jobs', 'purge_queue') limit 1) action on true
   where $6::boolean and f."deadReason" = 'cancelled'`;

// The parts of jobs are found by the keys of the rows that were just read, so they have the same snapshot.
const ROWS: Statement = {
  name: 'job-rows',
  text: `
    with found as materialized (
      select ${columnsOf(JOB_ROW, 'j')} from job j where j.id = any ($1::text[]) and j.account_id = $2
    )
    select (select json_agg(f) from found f) as jobs,
           (select json_agg(r) from (
              select ${columnsOf(QUEUE_ROW, 'q')} from queue q
               where $3::boolean and q.id = any (array(select "queueId" from found))) r) as queues,
           (select json_agg(r) from (
              select ${columnsOf(DEAD_LETTER_ROW, 'd')} from dead_letter d
               where $4::boolean and d.job_id = any (array(select id from found where status = 'dead'))) r) as letters,
           (select json_agg(r) from (${whyJobsWait(`j.id = any (array(select id from found where $5::boolean and status = 'pending'))`)}) r) as waiting,
           (select json_agg(r) from (${CANCELLATIONS}) r) as cancellations`,
};

interface Row {
  jobs: object[] | null;
  queues: object[] | null;
  letters: object[] | null;
  waiting: object[] | null;
  cancellations: JobRows['cancellations'] | null;
}

/** @returns those of the jobs that belong to the account, with what was asked for */
export async function jobRows(
  db: Database,
  accountId: string,
  ids: readonly string[],
  { queue, deadLetter, waiting, cancelledBy }: JobParts,
): Promise<JobRows> {
  const row = await db.one<Row & Record<string, unknown>>(ROWS, [
    ...[ids, accountId],
    ...[queue, deadLetter, waiting, cancelledBy],
  ]);
  if (row === null) throw new Error('the statement of jobs returned no row');
  return {
    jobs: rowsOf(JOB_ROW, row.jobs),
    queues: rowsOf(QUEUE_ROW, row.queues),
    deadLetters: rowsOf(DEAD_LETTER_ROW, row.letters),
    waiting: (row.waiting ?? []).map((one) => toWaitingFacts(withDates<WaitingRow>(one, WAITING_TIMES))),
    cancellations: row.cancellations ?? [],
  };
}

const LAST_OF_JOBS: Statement = {
  name: 'last-attempts-of-jobs',
  text: `
    select ${columnsOf(ATTEMPT_ROW, 'a')}
      from job j join attempt a on a.job_id = j.id and a.ordinal = j.history_count
     where j.id = any ($1::text[]) and j.account_id = $2`,
};

/** @returns the last attempts of those of the jobs that belong to the account; their answers may be encrypted */
export function lastAttemptsOfJobs(db: Database, accountId: string, jobIds: readonly string[]): Promise<Attempt[]> {
  return db.query<Attempt & Record<string, unknown>>(LAST_OF_JOBS, [jobIds, accountId]);
}
