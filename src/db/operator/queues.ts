import type { Database, Statement } from '../connection/database.ts';
import { IN_FLIGHT_OF_Q } from '../insight/use.ts';
import { isHeld } from '../queues/held.ts';
import { columnsOf, QUEUE_ROW, type QueueRow, toRow } from '../rows.ts';

export interface QueueSummary {
  id: string;
  accountId: string;
  name: string;
  webhookUrl: string;
  pausedAt: Date | null;
  pausedBy: string | null;
  /** Null if the queue is not held, as are the next two. */
  holdUntil: Date | null;
  probeJobId: string | null;
  breakerOpenedAt: Date | null;
  inFlight: number;
  concurrency: number;
  /** When the oldest job that waits for its delivery became due; null if no job is due. */
  oldestDueAt: Date | null;
}

// The number of due jobs is not here: it can be a million for each of many queues.
const listOf = (condition: string, order: string) => `
    with clock as materialized (select jobferry_now() as now), own as materialized (
      select * from queue
       where ${condition} and deleted_at is null and ($3::text is null or strpos(lower(name), lower($3)) > 0)
       order by ${order} limit $2
    )
    select own.id, own.account_id as "accountId", own.name, own.webhook_url as "webhookUrl",
           own.paused_at as "pausedAt", own.paused_by as "pausedBy",
           hold.hold_until as "holdUntil", hold.probe_job_id as "probeJobId",
           hold.breaker_opened_at as "breakerOpenedAt",
           own.concurrency, in_flight.n as "inFlight", due.oldest as "oldestDueAt"
      from clock cross join own
      left join lateral (
        select own.hold_until, own.probe_job_id, own.breaker_opened_at where ${isHeld('clock.now', 'own.')}) hold on true
      cross join lateral (
        select count(*) as n from job j where j.queue_id = own.id and j.status in ('processing', 'awaiting_ack')) in_flight
      cross join lateral (
        select min(j.scheduled_for) as oldest from job j
         where j.queue_id = own.id and j.status = 'pending' and j.scheduled_for <= clock.now) due
     order by own.id`;

const LIST: Statement = { name: 'operator-queues', text: listOf('id > $1', 'id') };

// A row comparison, so that no plan uses an index that has the queues of all accounts.
const LIST_OF_ACCOUNT: Statement = {
  name: 'operator-queues-of-account',
  text: listOf('(account_id, id) > ($4, $1) and account_id <= $4', 'account_id, id'),
};

/**
 * @param name text that the names have, in any case; null for all
 * @returns live queues of an account, or of all if it is null, oldest first
 */
export function listQueues(
  db: Database,
  accountId: string | null,
  { after, limit, name = null }: { after: string | null; limit: number; name?: string | null },
): Promise<QueueSummary[]> {
  const values = [after ?? '', limit, name];
  return accountId === null
    ? db.query<QueueSummary & Record<string, unknown>>(LIST, values)
    : db.query<QueueSummary & Record<string, unknown>>(LIST_OF_ACCOUNT, [...values, accountId]);
}

export interface NamedQueue {
  id: string;
  accountId: string;
  accountName: string;
  name: string;
  deletedAt: Date | null;
}

// A live queue hides the deleted ones that had its name.
const BY_NAME: Statement = {
  name: 'operator-queues-by-name',
  text: `
    with named as materialized (
      select id, account_id, name, deleted_at from queue
       where name = $1 and ($2::text is null or account_id = $2)
    )
    select n.id, n.account_id as "accountId", a.name as "accountName", n.name, n.deleted_at as "deletedAt"
      from named n join account a on a.id = n.account_id
     where n.deleted_at is null
        or not exists (select from named other where other.account_id = n.account_id and other.deleted_at is null)
     order by n.id desc limit $3`,
};

/**
 * @returns queues with this name, of an account or of all if it is null: newest first, the deleted ones if none is live
 */
export function queuesNamed(
  db: Database,
  name: string,
  accountId: string | null,
  limit: number,
): Promise<NamedQueue[]> {
  return db.query<NamedQueue & Record<string, unknown>>(BY_NAME, [name, accountId, limit]);
}

/** Jobs of a queue are counted up to this number. */
export const MAX_COUNTED = 100_000;

export interface QueueJobs {
  /** Jobs that wait and are due. */
  due: number;
  /** Jobs that wait for a later time. */
  later: number;
  /** Those of them that wait for a repetition after a failure. */
  backoff: number;
  /** Those of them that wait because of a defer or of back-pressure. */
  held: number;
  inFlight: number;
  /** Those of them that await a report. */
  awaitingAck: number;
  dead: number;
}

export interface ShownQueue extends QueueJobs {
  queue: QueueRow;
  now: Date;
  oldestDueAt: Date | null;
  /** The job that has been due for the longest time; null if no job is due. */
  oldestDueId: string | null;
  /** When the next of the jobs that wait for a later time is due; null if there is none. */
  nextDueAt: Date | null;
}

const counted = (condition: string) =>
  `(select count(*) from (select from job j where j.queue_id = q.id and ${condition} limit ${MAX_COUNTED + 1}) n)`;

const waitsFor = (reason: 'backoff' | 'hold') =>
  `j.status = 'pending' and j.wait_reason = '${reason}' and j.scheduled_for > clock.now`;

const SHOW: Statement = {
  name: 'operator-queue',
  text: `
    with clock as materialized (select jobferry_now() as now)
    select (select to_json(r) from (select ${columnsOf(QUEUE_ROW, 'q')}) r) as queue, clock.now,
           ${counted(`j.status = 'pending' and j.scheduled_for <= clock.now`)} as due,
           ${counted(`j.status = 'pending' and j.scheduled_for > clock.now`)} as later,
           ${counted(waitsFor('backoff'))} as backoff,
           ${counted(waitsFor('hold'))} as held,
           in_flight.n as "inFlight", in_flight.awaiting as "awaitingAck",
           ${counted(`j.status = 'dead'`)} as dead,
           oldest.scheduled_for as "oldestDueAt", oldest.id as "oldestDueId",
           (select min(j.scheduled_for) from job j
             where j.queue_id = q.id and j.status = 'pending' and j.scheduled_for > clock.now) as "nextDueAt"
      from clock cross join queue q ${IN_FLIGHT_OF_Q}
      left join lateral (
        select j.id, j.scheduled_for from job j
         where j.queue_id = q.id and j.status = 'pending' and j.scheduled_for <= clock.now
         order by j.scheduled_for, j.id limit 1) oldest on true
     where q.id = $1`,
};

/** @returns a queue, also a deleted one that is still stored; null if there is none */
export async function findQueue(db: Database, id: string): Promise<ShownQueue | null> {
  const row = await db.one<Omit<ShownQueue, 'queue'> & { queue: object }>(SHOW, [id]);
  return row === null ? null : { ...row, queue: toRow(QUEUE_ROW, row.queue) };
}

/** @returns those of the names that no live queue of the account has */
export async function missingQueues(db: Database, accountId: string, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const live = await db.query<{ name: string }>(
    'select name from queue where account_id = $1 and name = any ($2::text[]) and deleted_at is null',
    [accountId, names],
  );
  const known = new Set(live.map(({ name }) => name));
  return names.filter((name) => !known.has(name));
}

/**
 * Returns the present signing secret of a live queue; null without one.
 * For tools of the developer on whose machine it runs.
 */
export async function signingSecretOf(db: Database, queueId: string): Promise<string | null> {
  const row = await db.one<{ secret: string }>(
    `select case when next_signing_secret_at <= jobferry_now() then next_signing_secret else signing_secret end as secret
       from queue where id = $1 and deleted_at is null`,
    [queueId],
  );
  return row === null ? null : db.cipher.decrypt(`signing-secret:${queueId}`, row.secret);
}
