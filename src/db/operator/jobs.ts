import type { Database, Statement } from '../connection/database.ts';
import type { Attempt } from '../generated/client.ts';
import { type JobRows, jobRows } from '../jobs/rows.ts';
import { ATTEMPT_ROW, columnsOf } from '../rows.ts';

const ACCOUNT: Statement = { name: 'operator-account-of-job', text: 'select account_id as id from job where id = $1' };

/** The answers of webhooks can be large, and may be encrypted. */
const ATTEMPTS: Statement = {
  name: 'operator-attempts',
  text: `select ${columnsOf({ ...ATTEMPT_ROW, fields: ATTEMPT_ROW.fields.filter((name) => name !== 'responseBody') }, 'a')}
           from attempt a where a.job_id = $1 order by a.ordinal`,
};

export type ShownAttempt = Omit<Attempt, 'responseBody'>;

export interface ShownJob {
  job: JobRows['jobs'][number];
  queue: JobRows['queues'][number] | null;
  deadLetter: JobRows['deadLetters'][number] | null;
  waiting: JobRows['waiting'][number] | null;
  cancelledBy: string | null;
  attempts: ShownAttempt[];
}

/** @returns a job of any account with its history, without its payload; null if there is none */
export async function findJob(db: Database, id: string): Promise<ShownJob | null> {
  const account = await db.one<{ id: string }>(ACCOUNT, [id]);
  if (account === null) return null;
  const parts = { queue: true, deadLetter: true, waiting: true, cancelledBy: true };
  const { jobs, queues, deadLetters, waiting, cancellations } = await jobRows(db, account.id, [id], parts);
  const [job] = jobs;
  if (job === undefined) return null;
  const attempts = await db.query<ShownAttempt & Record<string, unknown>>(ATTEMPTS, [id]);
  return {
    job,
    queue: queues[0] ?? null,
    deadLetter: deadLetters[0] ?? null,
    waiting: waiting[0] ?? null,
    cancelledBy: cancellations[0]?.actor ?? null,
    attempts,
  };
}
