import type { Author } from '../../domain/audit.ts';
import type { JobStatus } from '../../domain/job.ts';
import type { Transition } from '../../domain/transition.ts';
import { actorJson, jsonbText } from '../audit.ts';
import type { Cipher } from '../connection/cipher.ts';
import type { Database, Statement } from '../connection/database.ts';
import { HELD_LOCKS, IS_RECENTLY_CONFIRMED } from './lease-locks.ts';

/** A transition of a job. It applies only if the job still has the `expected` status and the `token`. */
export interface Settlement {
  id: string;
  expected: JobStatus;
  token: string;
  transition: Transition;
  /** The webhook's answer; null when this does not settle a delivery. */
  answer: DeliveredAnswer | null;
}

interface DeliveredAnswer {
  statusCode: number | null;
  durationMs: number;
  body: string | null;
  /** Set when the job's payload is stored encrypted. The body is then encrypted with the same key. */
  encryption?: { queueId: string; keyId: string } | undefined;
}

const SETTLE: Statement = { name: 'settle', text: 'select jobferry_settle($1, $2) as applied' };

const SETTLE_ONE: Statement = {
  name: 'settle-one',
  text: 'select jobferry_settle_one($1, $2, $3, $4, $5, $6) as applied',
};

/** Applies a batch in one commit. @returns ids of the applied settlements; a missing one lost a race */
export async function settle(db: Database, settlements: readonly Settlement[]): Promise<Set<string>> {
  const successes = successesOf(settlements);
  const [first, second] = settlements;
  if (first !== undefined && second === undefined && successes === true) return settleOne(db, first);
  const values = [toItems(db.cipher, settlements), successes];
  const row = await db.one<{ applied: string[] }>(SETTLE, values);
  return new Set(row?.applied);
}

/** A success that is settled alone, as most are at a low rate: half of the price of a set (docs/decisions/0058). */
async function settleOne(db: Database, { id, token, transition: { entry }, answer }: Settlement): Promise<Set<string>> {
  const body = answer === null ? null : storedBody(db.cipher, answer);
  const values = [id, token, entry?.attempt, entry?.webhookStatusCode, answer?.durationMs, body];
  const row = await db.one<{ applied: boolean }>(SETTLE_ONE, values);
  return new Set(row?.applied === true ? [id] : []);
}

/** The argument `p_successes` of `jobferry_settle`. */
function successesOf(settlements: readonly Settlement[]): boolean | null {
  if (!settlements.every(isSuccess)) return false;
  return settlements.every(({ transition }) => transition.queueEffect === null) ? true : null;
}

/**
 * Whether the settlement only completes a job that was delivered, and affects at most the breaker of its queue. Its
 * other fields repeat the state of the job as it is stored.
 */
function isSuccess({ expected, transition: { status, queueEffect, isBilled } }: Settlement): boolean {
  if (expected !== 'processing' || status !== 'completed' || !isBilled) return false;
  return queueEffect === null || queueEffect.kind === 'alive';
}

// Locks in the order of `jobferry_settle`. After a wait for a lock, PostgreSQL checks the condition on the new row.
const SETTLE_OVERDUE: Statement = {
  name: 'settle-overdue',
  text: `
    with overdue as materialized (
      select id from job where id = any ($2) and deadline <= jobferry_now() order by id for no key update
    )
    select jobferry_settle((
      select json_agg(item) from json_array_elements($1::json) as item where item ->> 'id' in (select id from overdue)
    ), false) as applied`,
};

/**
 * Like `settle`, for jobs whose deadline has passed. It skips jobs whose deadline was extended since they were read:
 * an extension changes neither status nor token, so these do not fence against it.
 */
export async function settleOverdue(db: Database, settlements: readonly Settlement[]): Promise<Set<string>> {
  const ids = settlements.map(({ id }) => id);
  const row = await db.one<{ applied: string[] }>(SETTLE_OVERDUE, [toItems(db.cipher, settlements), ids]);
  return new Set(row?.applied);
}

// One statement, so one server: a server that does not have the caller's lock has no locks of other workers either.
const SETTLE_LOST: Statement = {
  name: 'settle-lost',
  text: `
    with held as materialized (${HELD_LOCKS}),
    lost as materialized (
      select id from job
       where id = any ($2) and exists (select from held where held.worker_id = $3)
         and worker_id not in (select held.worker_id from held)
         and not ${IS_RECENTLY_CONFIRMED}
       order by id for no key update
    )
    select jobferry_settle((
      select json_agg(item) from json_array_elements($1::json) as item where item ->> 'id' in (select id from lost)
    ), false) as applied`,
};

/**
 * Like `settle`, for claims of workers whose lease lock the server does not have and has not confirmed for 3 s.
 * Requires the lease lock of `self`.
 */
export async function settleLost(db: Database, self: number, settlements: readonly Settlement[]): Promise<Set<string>> {
  const ids = settlements.map(({ id }) => id);
  const row = await db.one<{ applied: string[] }>(SETTLE_LOST, [toItems(db.cipher, settlements), ids, self]);
  return new Set(row?.applied);
}

const SETTLE_AUDITED: Statement = {
  name: 'settle-audited',
  text: `
    with settled as materialized (select jobferry_settle($1, false) as applied)
    select applied, case when cardinality(applied) > 0 then
             jobferry_audit($2, $3::json, $4, 'job', $5, null, jsonb_build_object('status', $6::text), $7::jsonb) end
      from settled`,
};

/** A change of a job by hand, for the audit log. */
interface AuditedChange {
  action: 'job.ack' | 'job.nack' | 'job.defer' | 'job.cancel';
  after: { status: JobStatus };
}

/** Settles one job for `by`, and writes an audit entry. @returns false when another settlement came first */
export async function settleAudited(
  db: Database,
  by: Author,
  settlement: Settlement,
  { action, after }: AuditedChange,
): Promise<boolean> {
  const { id, expected } = settlement;
  const entry = [by.accountId, actorJson(by.actor), action, id, expected, jsonbText(after)];
  const row = await db.one<{ applied: string[] }>(SETTLE_AUDITED, [toItems(db.cipher, [settlement]), ...entry]);
  return row?.applied.includes(id) ?? false;
}

/** Cancels one job for `by`. @returns false when another settlement came first */
export async function settleCancelled(db: Database, by: Author, settlement: Settlement): Promise<boolean> {
  return settleAudited(db, by, settlement, { action: 'job.cancel', after: { status: 'dead' } });
}

/** @returns the argument of `jobferry_settle` */
export function toItems(cipher: Cipher, settlements: readonly Settlement[]): string {
  const items = settlements.map(({ id, expected, token, transition, answer }) => ({
    id,
    expected,
    token,
    status: transition.status,
    attempts: transition.attempts,
    deferCount: transition.deferCount,
    // Nearly always 0, so it is left out.
    shortHolds: transition.shortHolds === 0 ? undefined : transition.shortHolds,
    interruptions: transition.interruptions,
    waitMs: transition.waitMs,
    lastError: transition.lastError,
    deadReason: transition.deadReason,
    entryAttempt: transition.entry?.attempt,
    entryStatus: transition.entry?.status,
    entryError: transition.entry?.error,
    entryCode: transition.entry?.webhookStatusCode,
    answerCode: answer?.statusCode,
    answerMs: answer?.durationMs,
    answerBody: answer === null ? undefined : storedBody(cipher, answer),
    // `jobferry_settle` searches for this text, so that other settlements cost nothing.
    unbilled: transition.isBilled ? undefined : true,
    effect: transition.queueEffect?.kind,
    effectMs: effectMsOf(transition),
  }));
  return JSON.stringify(items);
}

function effectMsOf({ queueEffect }: Transition): number | undefined {
  const hasTime = queueEffect?.kind === 'hold' || queueEffect?.kind === 'failing';
  return hasTime ? (queueEffect.ms ?? undefined) : undefined;
}

function storedBody(cipher: Cipher, { body, encryption }: DeliveredAnswer): string | null {
  if (body === null || encryption === undefined) return body;
  return cipher.encrypt(`answer:${encryption.queueId}`, body, encryption.keyId);
}
