import type { Database, Statement } from '../connection/database.ts';

/** The account of a queue whose deliveries bring report URLs, and the secrets that sign them. */
export interface ReportHolder {
  account: { id: string; name: string; plan: string; isSuspended: boolean; requestsPerSecond: number | null };
  queue: { id: string; name: string };
  /** During a rotation the present secret and the next one. */
  secrets: string[];
}

// A secret whose time has come signs alone, as at a claim.
const HOLDER: Statement = {
  name: 'report-holder',
  text: `
    select json_build_object('id', a.id, 'name', a.name, 'plan', a.plan, 'isSuspended', a.suspended_at is not null,
                             'requestsPerSecond', a.requests_per_second) as account,
           json_build_object('id', q.id, 'name', q.name) as queue,
           case when q.next_signing_secret_at <= jobferry_now() then array[q.next_signing_secret]
                else array_remove(array[q.signing_secret, q.next_signing_secret], null) end as secrets
      from queue q join account a on a.id = q.account_id
     where q.id = $1`,
};

/** @returns null if there is no such queue */
export async function reportHolder(db: Database, queueId: string): Promise<ReportHolder | null> {
  const row = await db.one<ReportHolder & Record<string, unknown>>(HOLDER, [queueId]);
  if (row === null) return null;
  const { account, queue } = row;
  return {
    account,
    queue,
    secrets: row.secrets.map((one) => db.cipher.decryptCached(`signing-secret:${queueId}`, one)),
  };
}

const OF_QUEUE: Statement = {
  name: 'job-of-queue',
  text: 'select from job where id = $1 and queue_id = $2',
};

export async function isJobOf(db: Database, jobId: string, queueId: string): Promise<boolean> {
  return (await db.one(OF_QUEUE, [jobId, queueId])) !== null;
}
