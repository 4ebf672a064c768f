import type { Actor } from '../../domain/audit.ts';
import { actorJson } from '../audit.ts';
import type { Database, Statement } from '../connection/database.ts';
import { OPERATORS_ACCOUNT } from '../operator-account.ts';
import { hasNoJob } from '../queues/without-jobs.ts';

/**
 * The deletion of an account, in batches. Each batch is one statement that also adds its numbers to the receipt. So the
 * receipt is exact, however often the deletion is interrupted.
 */

/** Rows per statement, as in the retention sweep. */
const BATCH = 500;

export interface Receipt {
  accountId: string;
  name: string;
  requestedAt: Date;
  requestedBy: string;
  /** Null while the deletion is not complete. */
  finishedAt: Date | null;
  /** Number of removed rows by kind. */
  removed: Record<string, number>;
}

/**
 * One deletion of an account. The account may have been restored since and be deleted again, so all statements of a
 * deletion find nothing once its receipt is finished or gone. They see that and the rows in one snapshot: no row that
 * was restored after the end of a deletion can be removed by it.
 */
export interface Deletion {
  accountId: string;
  requestedAt: Date;
}

/** SQL: whether the deletion of account $1 that was requested at $2 is not complete. */
const IS_OPEN =
  'exists (select from account_deletion where account_id = $1 and requested_at = $2 and finished_at is null)';

/** @returns SQL: adds the numbers of rows of CTEs to the receipt of the account $1 */
function noted(counts: Readonly<Record<string, string>>): string {
  const sums = Object.entries(counts).map(
    ([kind, rows]) => `'${kind}', coalesce((removed ->> '${kind}')::bigint, 0) + (select count(*) from ${rows})`,
  );
  return `update account_deletion set removed = removed || jsonb_build_object(${sums.join(', ')})
           where account_id = $1 and requested_at = $2`;
}

const RECEIPT: Statement = {
  name: 'deletion-receipt',
  text: `
    select account_id as "accountId", name, requested_at as "requestedAt", requested_by as "requestedBy",
           finished_at as "finishedAt", removed
      from account_deletion where account_id = $1`,
};

export function findReceipt(db: Database, accountId: string): Promise<Receipt | null> {
  return db.one<Receipt & Record<string, unknown>>(RECEIPT, [accountId]);
}

// Nothing can be done for the account from now on: its keys are revoked, and its sessions end. Nothing begins if it has
// just become the operator's.
const BEGIN: Statement = {
  name: 'begin-deletion',
  text: `
    with target as materialized (
      select id, name from account where id = $1 and not is_operator for no key update
    ), suspended as (
      update account set suspended_at = coalesce(suspended_at, jobferry_now()), suspended_by = coalesce(suspended_by, $2)
       where id = (select id from target)
    ), keys as (
      update api_key set revoked_at = jobferry_now() where account_id = (select id from target) and revoked_at is null
    ), ended as (
      delete from session where account_id = (select id from target) returning 1
    ), links as (
      delete from sign_in_link where account_id = (select id from target)
    )
    insert into account_deletion (account_id, name, requested_by, removed)
    select id, name, $2, jsonb_build_object('sessions', (select count(*) from ended)) from target
    on conflict (account_id) do nothing`,
};

export async function beginDeletion(db: Database, actor: Actor, accountId: string): Promise<void> {
  await db.query(BEGIN, [accountId, actor.label]);
}

const DELETE_QUEUES: Statement = {
  name: 'deletion-mark-queues',
  text: `
    with chosen as materialized (
      select id from queue where account_id = $1 and deleted_at is null and ${IS_OPEN} order by id limit ${BATCH} for no key update
    ), marked as (
      update queue set deleted_at = jobferry_now(), hold_until = null, probe_job_id = null
        from chosen where queue.id = chosen.id returning queue.id
    )
    select count(*) as rows from marked`,
};

const NEXT_QUEUE: Statement = {
  name: 'deletion-next-queue',
  text: `select id from queue where account_id = $1 and id > $3 and ${IS_OPEN} order by id limit 1`,
};

/** @returns the account's first queue after this id, deleted or not; null if there is none */
export async function nextQueue(db: Database, deletion: Deletion, after: string): Promise<string | null> {
  return (await db.one<{ id: string }>(NEXT_QUEUE, [...valuesOf(deletion), after]))?.id ?? null;
}

// Compared as rows, so that no plan uses the primary key, which has the jobs of all queues.
const JOBS: Statement = {
  name: 'deletion-jobs',
  text: `
    with jobs as (
      delete from job where id = any (array(
        select id from job where (queue_id, id) >= ($3, '') and (queue_id, id) < ($3, 'g') and ${IS_OPEN}
         order by queue_id, id limit ${BATCH} for update))
      returning id
    ), attempts as (
      delete from attempt where job_id = any (array(select id from jobs)) returning 1
    ), letters as (
      delete from dead_letter where job_id = any (array(select id from jobs)) returning 1
    ), documents as (
      delete from job_search where job_id = any (array(select id from jobs))
    ), notes as (
      delete from bulk_action_job where job_id = any (array(select id from jobs))
    ), noted as (${noted({ jobs: 'jobs', attempts: 'attempts', deadLetters: 'letters' })})
    select count(*) as rows from jobs`,
};

// A process that was indexing or summing up may have written these rows after the jobs were gone.
const DOCUMENTS: Statement = {
  name: 'deletion-documents',
  text: `
    with documents as (
      delete from job_search where job_id = any (array(
        select job_id from job_search where (queue_id, job_id) >= ($3, '') and (queue_id, job_id) < ($3, 'g') and ${IS_OPEN}
         order by queue_id, job_id limit ${BATCH}))
      returning 1
    )
    select count(*) as rows from documents`,
};

// By their places: a join by their keys would read a whole table that PostgreSQL takes for small.
const statistics = (table: string): Statement => ({
  name: `deletion-${table}`,
  text: `
    with gone as (
      delete from ${table} where ctid = any (array(
        select ctid from ${table} where queue_id = $3 and ${IS_OPEN} limit ${BATCH}))
      returning 1
    )
    select count(*) as rows from gone`,
});
const OF_QUEUE = [DOCUMENTS, statistics('queue_stats'), statistics('queue_completed')];

/** Removes queues that were marked `quietMs` before a moment, so that no publish from before can still add a job. */
const QUEUES: Statement = {
  name: 'deletion-queues',
  text: `
    with queues as (
      delete from queue where id = any (array(
        select q.id from queue q
         where q.account_id = $1 and q.deleted_at <= $3::timestamptz - $4 * interval '1 ms' and ${IS_OPEN}
           and ${hasNoJob('q.id')}
         order by q.id limit ${BATCH}))
      returning 1
    ), noted as (${noted({ queues: 'queues' })})
    select count(*) as rows from queues`,
};

const ofAccount = (table: string, kind: string): Statement => ({
  name: `deletion-${table}`,
  text: `
    with gone as (
      delete from ${table} where id = any (array(
        select id from ${table} where account_id = $1 and ${IS_OPEN} order by id limit ${BATCH})) returning 1
    ), noted as (${noted({ [kind]: 'gone' })})
    select count(*) as rows from gone`,
});

const DISMISSALS: Statement = {
  name: 'deletion-dismissals',
  text: `
    with gone as (
      delete from dismissal where (account_id, fingerprint) in (
        select account_id, fingerprint from dismissal where account_id = $1 and ${IS_OPEN} limit ${BATCH}) returning 1
    ), noted as (${noted({ dismissals: 'gone' })})
    select count(*) as rows from gone`,
};

// Jobs that are gone by now, of actions that remain.
const ACTION_JOBS: Statement = {
  name: 'deletion-action-jobs',
  text: `
    with gone as (
      delete from bulk_action_job where (job_id, action_id) in (
        -- One action after the other: a join may read the jobs of all actions for a batch of them.
        select n.job_id, n.action_id from bulk_action b cross join lateral (
          select job_id, action_id from bulk_action_job where action_id = b.id limit ${BATCH}) n
         where b.account_id = $1 and ${IS_OPEN} limit ${BATCH}) returning 1
    )
    select count(*) as rows from gone`,
};

/** In this order: rows before those that they refer to. */
const OF_ACCOUNT = [
  ACTION_JOBS,
  ofAccount('bulk_action', 'bulkActions'),
  ofAccount('alert', 'alerts'),
  ofAccount('alert_notification', 'alertNotifications'),
  ofAccount('alert_rule', 'alertRules'),
  DISMISSALS,
  ofAccount('saved_view', 'savedViews'),
  ofAccount('member', 'members'),
  ofAccount('api_key', 'apiKeys'),
  ofAccount('audit_entry', 'auditEntries'),
];

// The rest, some rows of usage, goes with the account. The operator's account gets the entry of the audit log.
const FINISH: Statement = {
  name: 'finish-deletion',
  text: `
    with gone as (
      delete from account where id = $1 and ${IS_OPEN} and not exists (select from queue where account_id = $1)
      returning id, name
    ), finished as (
      update account_deletion set finished_at = jobferry_now() from gone where account_id = gone.id and requested_at = $2
      returning gone.id, gone.name, removed
    )
    select jobferry_audit(${OPERATORS_ACCOUNT}, $3::json, 'account.delete', 'account',
                          id, name, jsonb_build_object('name', name), jsonb_build_object('removed', removed))
      from finished`,
};

/** A kind of batches. Each call removes one batch, and returns how many rows it had; after 0 none are left. */
export type Batches = () => Promise<number>;

const valuesOf = ({ accountId, requestedAt }: Deletion): [string, Date] => [accountId, requestedAt];

const batches = (db: Database, statement: Statement, deletion: Deletion, ...values: unknown[]): Batches => {
  return async () => (await db.one<{ rows: number }>(statement, [...valuesOf(deletion), ...values]))?.rows ?? 0;
};

export function markingQueues(db: Database, deletion: Deletion): Batches {
  return batches(db, DELETE_QUEUES, deletion);
}

export function emptyingQueue(db: Database, deletion: Deletion, queueId: string): Batches[] {
  return [JOBS, ...OF_QUEUE].map((statement) => batches(db, statement, deletion, queueId));
}

/** @param emptiedFrom when the emptying of the queues began */
export function removingQueues(db: Database, deletion: Deletion, emptiedFrom: Date, quietMs: number): Batches {
  return batches(db, QUEUES, deletion, emptiedFrom, quietMs);
}

export function removingRows(db: Database, deletion: Deletion): Batches[] {
  return OF_ACCOUNT.map((statement) => batches(db, statement, deletion));
}

/** Removes the account itself, unless it has a queue again. */
export async function finishDeletion(db: Database, actor: Actor, deletion: Deletion): Promise<void> {
  await db.query(FINISH, [...valuesOf(deletion), actorJson(actor)]);
}
