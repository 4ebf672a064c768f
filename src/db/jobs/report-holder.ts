import type { Database, Statement } from '../connection/database.ts';

/** The account and the queue of a job that a report URL names. */
export interface ReportHolder {
  account: { id: string; name: string; plan: string; isSuspended: boolean; requestsPerSecond: number | null };
  queue: { id: string; name: string };
  /** The signing secrets of the queue: the present one, and during a rotation the next one. */
  secrets: string[];
}

const HOLDER: Statement = {
  name: 'report-holder',
  text: `
    select json_build_object('id', a.id, 'name', a.name, 'plan', a.plan, 'isSuspended', a.suspended_at is not null,
                             'requestsPerSecond', a.requests_per_second) as account,
           json_build_object('id', q.id, 'name', q.name) as queue, q.signing_secret, q.next_signing_secret
      from job j join queue q on q.id = j.queue_id join account a on a.id = j.account_id
     where j.id = $1`,
};

/** @returns null if there is no such job */
export async function reportHolder(db: Database, jobId: string): Promise<ReportHolder | null> {
  const row = await db.one<
    Pick<ReportHolder, 'account' | 'queue'> & { signing_secret: string; next_signing_secret: string | null }
  >(HOLDER, [jobId]);
  if (row === null) return null;
  const { account, queue, signing_secret: present, next_signing_secret: next } = row;
  const stored = next === null ? [present] : [present, next];
  const secrets = stored.map((secret) => db.cipher.decryptCached(`signing-secret:${queue.id}`, secret));
  return { account, queue, secrets };
}
