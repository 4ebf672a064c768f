import type { Author } from '../../domain/audit.ts';
import { actorJson } from '../audit.ts';
import type { Database, Statement } from '../connection/database.ts';
import { BULK_TASK } from './actions.ts';

/**
 * Changes of bulk actions by people: cancel, pause and resume. A paused action has a status of its own, so the
 * statements of the workers, which read and change running actions only, leave it alone. The batch that is being
 * committed at the time of the pause is the last one.
 */

const changeWith =
  (statement: Statement) =>
  async (db: Database, by: Author, actionId: string): Promise<boolean> =>
    (await db.query(statement, [actionId, by.accountId, actorJson(by.actor)])).length > 0;

/**
 * SQL: ends the pause of `present`, which is the row of `bulk_action` before the change,
 * and adds its length to the others.
 */
const NOT_PAUSED = `
  paused_at = null, paused_by = null,
  paused_seconds = paused_seconds + coalesce(extract(epoch from jobferry_now() - present.paused_at), 0)`;

const CANCEL: Statement = {
  name: 'cancel-bulk-action',
  text: `
    with present as materialized (
      select id, status, paused_at from bulk_action
       where id = $1 and account_id = $2 and finished_at is null for no key update
    ), cancelled as (
      update bulk_action set status = 'cancelled', finished_at = jobferry_now(), updated_at = jobferry_now(), ${NOT_PAUSED}
        from present where bulk_action.id = present.id
      returning bulk_action.id, present.status, processed, matched
    )
    select id, jobferry_audit($2, $3::json, 'bulk_action.cancel', 'bulk_action', id, null,
                              jsonb_build_object('status', status),
                              jsonb_build_object('status', 'cancelled', 'processed', processed, 'matched', matched))
      from cancelled`,
};

/** Ends a running or paused action after its present batch. @returns false when there is no such action */
export const cancelBulkAction = changeWith(CANCEL);

const PAUSE: Statement = {
  name: 'pause-bulk-action',
  text: `
    with paused as (
      update bulk_action set status = 'paused', paused_at = jobferry_now(), paused_by = $3::json ->> 'label',
                             updated_at = jobferry_now()
       where id = $1 and account_id = $2 and status = 'running'
      returning id, processed, matched
    )
    select id, jobferry_audit($2, $3::json, 'bulk_action.pause', 'bulk_action', id, null,
                              jsonb_build_object('status', 'running'),
                              jsonb_build_object('status', 'paused', 'processed', processed, 'matched', matched))
      from paused`,
};

/** @returns false when nothing was changed: there is no such running action */
export const pauseBulkAction = changeWith(PAUSE);

// With a wake-up, as at the start. `updated_at` is the time from which the pace is kept.
const RESUME: Statement = {
  name: 'resume-bulk-action',
  text: `
    with present as materialized (
      select id, paused_at from bulk_action
       where id = $1 and account_id = $2 and status = 'paused' for no key update
    ), resumed as (
      update bulk_action set status = 'running', updated_at = jobferry_now(), kept_at = jobferry_now(), ${NOT_PAUSED}
        from present where bulk_action.id = present.id
      returning bulk_action.id, processed, matched
    )
    select id,
           graphile_worker.add_job('${BULK_TASK}', json_build_object('actionId', id), job_key => '${BULK_TASK}:' || id),
           jobferry_audit($2, $3::json, 'bulk_action.resume', 'bulk_action', id, null,
                          jsonb_build_object('status', 'paused'),
                          jsonb_build_object('status', 'running', 'processed', processed, 'matched', matched))
      from resumed`,
};

/** @returns false when nothing was changed: there is no such paused action */
export const resumeBulkAction = changeWith(RESUME);
