import type { Author } from '../../domain/audit.ts';
import { actorJson } from '../audit.ts';
import type { Database, Statement } from '../connection/database.ts';
import type { StoredJob } from '../delivery/stored-job.ts';

// A job that is due already keeps its place in the order of due jobs.
const RUN_NOW: Statement = {
  name: 'run-job-now',
  text: `
    with clock as materialized (select jobferry_now() as now), present as materialized (
      select id, scheduled_for from job where id = $1 and status = 'pending' and claim_token = $2 for no key update
    ), moved as (
      update job set scheduled_for = least(present.scheduled_for, clock.now), wait_reason = null
        from present, clock where job.id = present.id
      returning job.id, job.queue_id, job.scheduled_for as now, present.scheduled_for as before
    )
    select jobferry_wake('deliver', queue_id, now),
           case when now < before then
             jobferry_audit($3, $4::json, 'job.run_now', 'job', id, null,
                            jsonb_build_object('scheduledFor', jobferry_iso(before)),
                            jsonb_build_object('scheduledFor', jobferry_iso(now))) end
      from moved`,
};

/** Makes a pending job due now. @returns false when the job has changed since it was read */
export async function runJobNow(db: Database, by: Author, job: StoredJob): Promise<boolean> {
  return (await db.query(RUN_NOW, [job.id, job.token, by.accountId, actorJson(by.actor)])).length > 0;
}

const EXTEND: Statement = {
  name: 'extend-ack',
  text: `
    with extended as (
      update job set deadline = greatest(deadline, jobferry_now() + $3 * interval '1 ms'),
                     progress = coalesce($4, progress),
                     progress_at = case when $4::text is null then progress_at else jobferry_now() end
       where id = $1 and status = 'awaiting_ack' and claim_token = $2
      returning id, queue_id, deadline
    )
    select deadline, jobferry_wake('timeout', queue_id, deadline),
           case when $6::json is not null then
             jobferry_audit($5, $6::json, 'job.extend_ack', 'job', id, null, null,
                            jsonb_build_object('deadline', jobferry_iso(deadline))) end
      from extended`,
};

/**
 * Extends the ack deadline.
 * @param by author of an entry in the audit log; null for none
 * @returns the new deadline; null when the job no longer awaits the report of that claim
 */
export async function extendAckDeadline(
  db: Database,
  job: StoredJob,
  extension: { ms: number; progress: string | null },
  by: Author | null = null,
): Promise<Date | null> {
  const entry = by === null ? [null, null] : [by.accountId, actorJson(by.actor)];
  const values = [job.id, job.token, extension.ms, extension.progress, ...entry];
  const row = await db.one<{ deadline: Date }>(EXTEND, values);
  return row?.deadline ?? null;
}
