import type { AuditRecord, Author } from '../../domain/audit.ts';
import { actorJson } from '../audit.ts';
import type { Database, Statement } from '../connection/database.ts';
import { renewedBreaker } from './breaker.ts';
import { endHolds, pauseQueues, resumeQueues } from './several.ts';

/**
 * Pause, resume, the end of a hold, rotation of the signing secret, and settings that are on or off. Each is one
 * statement with the change, its audit entry and its wake-up.
 */

/** @returns false when nothing was changed: the queue is paused already, or there is no such live queue */
export async function pauseQueue(db: Database, by: Author, queueId: string): Promise<boolean> {
  return (await pauseQueues(db, by, [queueId])).some(({ changed }) => changed);
}

/**
 * Resumes deliveries. The lifetime of a waiting job ends at the earliest `lifetimeMs` from now.
 * @returns false when nothing was changed: the queue is not paused, or there is no such live queue.
 */
export async function resumeQueue(db: Database, by: Author, queueId: string, lifetimeMs: number): Promise<boolean> {
  return (await resumeQueues(db, by, [queueId], { lifetimeMs })).some(({ changed }) => changed);
}

/**
 * Ends the hold of a queue, and makes jobs due that wait for the end of a hold.
 * @returns false when nothing was changed: the queue is not held, or there is no such live queue.
 */
export async function endHold(db: Database, by: Author, queueId: string): Promise<boolean> {
  return (await endHolds(db, by, [queueId])).some(({ changed }) => changed);
}

// The audit entry keeps the plan of a rotation that this one replaces. A rotation whose overlap has ended, but which no
// claim has completed yet, is completed here.
const ROTATE: Statement = {
  name: 'rotate-signing-secret',
  text: `
    with clock as materialized (select jobferry_now() as now), present as materialized (
      select id, case when next_signing_secret_at > clock.now then next_signing_secret_at end as planned
        from queue cross join clock
       where id = $1 and account_id = $2 and deleted_at is null
         and ($5::float8 = 0 or next_signing_secret_at is null or next_signing_secret_at <= clock.now)
         for no key update of queue
    ), rotated as (
      update queue set
        signing_secret = case when $5::float8 = 0 then $4
                              when next_signing_secret_at is null then signing_secret
                              else next_signing_secret end,
        next_signing_secret = case when $5::float8 > 0 then $4 end,
        next_signing_secret_at = case when $5::float8 > 0 then clock.now + $5::float8 * interval '1 ms' end,
        signing_secret_since = clock.now + $5::float8 * interval '1 ms',
        former_secret_since = case when signing_secret_since <= clock.now then signing_secret_since
                                   else former_secret_since end,
        ${renewedBreaker('clock.now').trim()}
        from present cross join clock where queue.id = present.id
      returning queue.id, queue.name, present.planned,
                coalesce(next_signing_secret_at, clock.now)::timestamptz as takes_over_at
    )
    select takes_over_at, jobferry_wake('deliver', id, jobferry_now()),
           jobferry_audit($2, $3::json, 'queue.rotate_secret', 'queue', id, name,
                          case when planned is not null then jsonb_build_object('takesOverAt', jobferry_iso(planned)) end,
                          jsonb_build_object('takesOverAt', jobferry_iso(takes_over_at)))
      from rotated`,
};

/**
 * Sets the signing secret that takes over after the overlap. Without an overlap it ends any other rotation.
 * @returns when it takes over; null when another rotation is in progress, or there is no such live queue
 */
export async function rotateSigningSecret(
  db: Database,
  by: Author,
  queueId: string,
  next: { secret: string; overlapMs: number },
): Promise<Date | null> {
  const secret = db.cipher.encrypt(`signing-secret:${queueId}`, next.secret);
  const values = [queueId, by.accountId, actorJson(by.actor), secret, next.overlapMs];
  const row = await db.one<{ takes_over_at: Date }>(ROTATE, values);
  return row?.takes_over_at ?? null;
}

/** @returns when the next signing secret takes over; null if there is no rotation */
export async function rotationEnd(db: Database, queueId: string): Promise<Date | null> {
  const row = await db.one<{ at: Date | null }>('select next_signing_secret_at as at from queue where id = $1', [
    queueId,
  ]);
  return row?.at ?? null;
}

const FINISH_ROTATION: Statement = {
  name: 'finish-secret-rotation',
  text: `
    with clock as materialized (select jobferry_now() as now), present as materialized (
      select id, next_signing_secret_at as planned from queue
       where id = $1 and account_id = $2 and deleted_at is null and next_signing_secret_at is not null for no key update
    ), finished as (
      update queue set signing_secret = next_signing_secret, next_signing_secret = null, next_signing_secret_at = null,
                       signing_secret_since = least(signing_secret_since, clock.now),
        ${renewedBreaker('clock.now').trim()}
        from present cross join clock where queue.id = present.id
      returning queue.id, queue.name, present.planned
    )
    select jobferry_wake('deliver', id, jobferry_now()),
           jobferry_audit($2, $3::json, 'queue.finish_rotation', 'queue', id, name,
             jsonb_build_object('takesOverAt', jobferry_iso(planned)),
             jsonb_build_object('takesOverAt', jobferry_iso(jobferry_now())))
      from finished`,
};

/** Makes the next secret take over now. @returns false when there is no rotation or no such live queue */
export async function finishSecretRotation(db: Database, by: Author, queueId: string): Promise<boolean> {
  return (await db.query(FINISH_ROTATION, [queueId, by.accountId, actorJson(by.actor)])).length > 0;
}

/**
 * @param column of `queue`, a boolean
 * @param field its name in the audit log
 * @param signs whether it changes the signature of deliveries
 */
function switchStatement(
  name: string,
  column: string,
  field: string,
  action: AuditRecord['action'],
  signs = false,
): Statement {
  return {
    name,
    text: `
    with clock as materialized (select jobferry_now() as now), changed as (
      update queue set ${column} = $4${signs ? `, ${renewedBreaker('clock.now')}` : ''}
        from clock
       where id = $1 and account_id = $2 and deleted_at is null and ${column} <> $4
      returning id, name
    )
    select ${signs ? `jobferry_wake('deliver', id, jobferry_now()),` : ''}
           jobferry_audit($2, $3::json, '${action}', 'queue', id, name,
             jsonb_build_object('${field}', not $4::boolean), jsonb_build_object('${field}', $4::boolean))
      from changed`,
  };
}

const SWITCHES = {
  payloadsEncrypted: switchStatement(
    'encrypt-payloads',
    'payloads_encrypted',
    'payloadsEncrypted',
    'queue.encrypt_payloads',
  ),
  standardWebhooks: switchStatement(
    'set-standard-webhooks',
    'standard_webhooks',
    'standardWebhooks',
    'queue.set_standard_webhooks',
    true,
  ),
  production: switchStatement('mark-production', 'production', 'production', 'queue.mark_production'),
};

/**
 * Switches a setting on or off.
 * @returns false when nothing was changed: the setting is the same, or there is no such queue
 */
export async function switchQueue(
  db: Database,
  by: Author,
  queueId: string,
  setting: keyof typeof SWITCHES,
  isOn: boolean,
): Promise<boolean> {
  return (await db.query(SWITCHES[setting], [queueId, by.accountId, actorJson(by.actor), isOn])).length > 0;
}
