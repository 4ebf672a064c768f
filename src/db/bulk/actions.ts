import type { AuditRecord, Author } from '../../domain/audit.ts';
import type { CanaryJob } from '../../domain/bulk.ts';
import type { DeadReason, JobStatus } from '../../domain/job.ts';
import { actorJson, jsonbText } from '../audit.ts';
import type { Database, Statement } from '../connection/database.ts';

/** Rows of `bulk_action`. */

/**
 * Stands for the kinds and the filter members that a process must know to run an action. Raise it with the first of
 * them that comes after a release, and give the task another name. Processes of the last release then leave such
 * actions alone: they would ignore a member that they do not know, and change more jobs than the dry run has counted.
 */
const BULK_REVISION = 1;
/** Task of the wake-ups of actions. Processes with an earlier revision have no such task. */
export const BULK_TASK = 'bulk';
type BulkKind = 'replay_dead_letters' | 'cancel_jobs' | 'purge_queue' | 'run_jobs_now';

export interface NewBulkAction {
  kind: BulkKind;
  /** Null when the action spans queues. */
  queueId: string | null;
  /** The filter that all batches use: that of the request, with ids for the queues of receivers and tags. */
  selection: object;
  ratePerSecond: number | null;
  canary: boolean;
  matched: number;
}

/** Limit of running and paused actions per account. A running one is polled at least once a second. */
export const MAX_OPEN = 20;

// One statement, so that the row, its wake-up and its audit entry are written together or not at all.
const START: Statement = {
  name: 'start-bulk-action',
  text: `
    with action as (
      insert into bulk_action (account_id, queue_id, kind, selection, rate_per_second, canary, matched, requested_by,
                               revision)
      select $1, $2, $3, $4::jsonb, $5::integer, $6::boolean, $7::integer, $8::json ->> 'label',
             ${BULK_REVISION}
       where (select count(*) from bulk_action where account_id = $1 and finished_at is null) < ${MAX_OPEN}
      returning id
    )
    select action.id,
           graphile_worker.add_job('${BULK_TASK}', json_build_object('actionId', action.id),
                                   job_key => '${BULK_TASK}:' || action.id),
           jobferry_audit($1, $8::json, $9, $10, coalesce($2, action.id), queue.name, null,
                          $11::jsonb || jsonb_build_object('actionId', action.id))
      from action left join queue on queue.id = $2`,
};

const AUDIT_ACTIONS = {
  replay_dead_letters: 'dead_letters.replay',
  cancel_jobs: 'jobs.cancel',
  purge_queue: 'queue.purge',
  run_jobs_now: 'jobs.run_now',
} as const satisfies Record<BulkKind, AuditRecord['action']>;

/** @returns the id; null when too many actions of the account have not ended */
export async function startBulkAction(db: Database, by: Author, action: NewBulkAction): Promise<string | null> {
  const { kind, queueId, selection, ratePerSecond, canary, matched } = action;
  const after = { filter: selection, ratePerSecond, canary, matched };
  const row = await db.one<{ id: string }>(START, [
    by.accountId,
    queueId,
    kind,
    jsonbText(selection),
    ratePerSecond,
    canary,
    matched,
    actorJson(by.actor),
    AUDIT_ACTIONS[kind],
    queueId === null ? 'bulk_action' : 'queue',
    jsonbText(after),
  ]);
  return row?.id ?? null;
}

export type BulkStatus = 'running' | 'paused' | 'completed' | 'cancelled' | 'failed';

const STATUS: Statement = {
  name: 'bulk-action-status',
  text: 'select status from bulk_action where id = $1 and account_id = $2',
};

export async function bulkActionStatus(db: Database, accountId: string, actionId: string): Promise<BulkStatus | null> {
  return (await db.one<{ status: BulkStatus }>(STATUS, [actionId, accountId]))?.status ?? null;
}

/** The facts about a running action that its next batch needs. */
export interface RunningAction {
  id: string;
  accountId: string;
  /** Plan of the account. */
  plan: string;
  queueId: string | null;
  /** True when the action's queue was deleted; false when the action has no queue. */
  queueGone: boolean;
  kind: BulkKind;
  selection: unknown;
  ratePerSecond: number | null;
  canary: 'none' | 'to_send' | CanaryJob | 'completed';
  /** Fences the next batch: if the row has another number, another process has run a batch in between. */
  processed: number;
  /** Id at which the last batch ended; empty before the first batch. */
  position: string;
  /** Milliseconds since the last batch by the database's clock; null before the first batch. */
  sinceLastMs: number | null;
}

interface ActionRow {
  id: string;
  account_id: string;
  plan: string;
  queue_id: string | null;
  queue_gone: boolean;
  kind: BulkKind;
  selection: unknown;
  rate_per_second: number | null;
  canary: boolean;
  canary_completed_at: Date | null;
  canary_job_id: string | null;
  canary_status: JobStatus | null;
  dead_reason: DeadReason | null;
  last_error: string | null;
  processed: number;
  position: string | null;
  since_last_ms: number;
}

// Updates them at most once a second, because a batch updates them, too.
const READ_RUNNING: Statement = {
  name: 'read-running-bulk-action',
  text: `
    with looked as (
      update bulk_action set kept_at = jobferry_now()
       where id = $1 and status = 'running' and kept_at < jobferry_now() - interval '1 second'
    )
    select b.id, b.account_id, a.plan, b.queue_id, b.kind, b.selection, b.rate_per_second, b.canary,
           b.canary_completed_at, b.canary_job_id, b.processed, b.position,
           b.queue_id is not null and (q.id is null or q.deleted_at is not null) as queue_gone,
           c.status as canary_status, c.dead_reason, c.last_error,
           (extract(epoch from jobferry_now() - b.updated_at) * 1000)::float8 as since_last_ms
      from bulk_action b
      join account a on a.id = b.account_id
      left join queue q on q.id = b.queue_id
      left join job c on c.id = b.canary_job_id
     where b.id = $1 and b.status = 'running'`,
};

/** @returns null when the action has ended */
export async function readRunningAction(db: Database, actionId: string): Promise<RunningAction | null> {
  const row = await db.one<ActionRow>(READ_RUNNING, [actionId]);
  if (row === null) return null;
  return {
    id: row.id,
    accountId: row.account_id,
    plan: row.plan,
    queueId: row.queue_id,
    queueGone: row.queue_gone,
    kind: row.kind,
    selection: row.selection,
    ratePerSecond: row.rate_per_second,
    canary: canaryOf(row),
    processed: row.processed,
    position: row.position ?? '',
    sinceLastMs: row.position === null ? null : row.since_last_ms,
  };
}

function canaryOf(row: ActionRow): RunningAction['canary'] {
  if (!row.canary) return 'none';
  if (row.canary_completed_at !== null) return 'completed';
  if (row.canary_job_id === null) return 'to_send';
  const { canary_job_id: id, canary_status: status, dead_reason: deadReason, last_error: lastError } = row;
  return { id, status, deadReason, lastError };
}

const CANARY_COMPLETED: Statement = {
  name: 'bulk-canary-completed',
  text: `update bulk_action set canary_completed_at = jobferry_now() where id = $1 and canary_completed_at is null`,
};

/** Stores that the canary was completed, because the sweep will remove the job itself. */
export async function noteCanaryCompleted(db: Database, actionId: string): Promise<void> {
  await db.query(CANARY_COMPLETED, [actionId]);
}

// Jobs that matched at the start, but were not found by a batch, have changed meanwhile. They count as skipped.
const FINISH: Statement = {
  name: 'finish-bulk-action',
  text: `
    update bulk_action
       set status = $3, error = $4, finished_at = jobferry_now(), updated_at = jobferry_now(),
           processed = case when $3 = 'completed' then greatest(processed, matched) else processed end,
           skipped = case when $3 = 'completed' then greatest(processed, matched) - succeeded else skipped end
     where id = $1 and status = 'running' and processed = $2
    returning id`,
};

/**
 * @param error null when the action is completed
 * @returns false when the action has ended before, or another process has continued it
 */
export async function finishBulkAction(db: Database, action: RunningAction, error: string | null): Promise<boolean> {
  const values = [action.id, action.processed, error === null ? 'completed' : 'failed', error];
  return (await db.query(FINISH, values)).length > 0;
}

const IDLE: Statement = {
  name: 'idle-bulk-actions',
  text: `
    select id, account_id as "accountId" from bulk_action
     where status = 'running' and revision <= ${BULK_REVISION}
       and (kept_at <= (select jobferry_now()) - $1 * interval '1 ms'
            -- The database's clock went back, and no worker has kept the action since.
            or kept_at > (select jobferry_now()) + $1 * interval '1 ms')
     order by kept_at, id limit 100`,
};

export interface BulkActionRef {
  id: string;
  accountId: string;
}

/**
 * @returns running actions that this build knows and no worker has kept for `idleMs`: the process that ran them is gone
 */
export function idleBulkActions(db: Database, idleMs: number): Promise<BulkActionRef[]> {
  return db.query<{ id: string; accountId: string }>(IDLE, [idleMs]);
}

const ACCOUNT: Statement = {
  name: 'account-of-bulk-action',
  text: `select account_id as "accountId" from bulk_action where id = $1 and status = 'running'`,
};

/** @returns null when the action has ended */
export async function accountOfBulkAction(db: Database, actionId: string): Promise<string | null> {
  return (await db.one<{ accountId: string }>(ACCOUNT, [actionId]))?.accountId ?? null;
}

const KEEP: Statement = {
  name: 'keep-bulk-actions',
  text: `update bulk_action set kept_at = jobferry_now() where id = any ($1) and status = 'running'`,
};

/** Marks the actions as kept by this process. This is also needed while they wait for their turn. */
export async function keepBulkActions(db: Database, ids: readonly string[]): Promise<void> {
  await db.query(KEEP, [ids]);
}

const ADVANCE: Statement = {
  name: 'advance-bulk-action',
  text: `
    update bulk_action set position = $3, kept_at = jobferry_now()
     where id = $1 and status = 'running' and processed = $2 and coalesce(position, '') < $3`,
};

/** Stores that nothing up to the id `position` is left to do. */
export async function advanceBulkAction(db: Database, action: RunningAction, position: string): Promise<void> {
  await db.query(ADVANCE, [action.id, action.processed, position]);
}

// `error` of a running action is about its last step.
const NOTE_STEP: Statement = {
  name: 'note-step-of-bulk-action',
  text: `
    update bulk_action set error = $2
     where id = $1 and status = 'running' and error is distinct from $2
    returning id`,
};

/**
 * Stores why the last step of a running action has to be repeated.
 * @param problem null after a step that worked
 * @returns whether it was stored: false when it was there already, or the action is not running
 */
export async function noteBulkStep(db: Database, actionId: string, problem: string | null): Promise<boolean> {
  return (await db.query(NOTE_STEP, [actionId, problem])).length > 0;
}
