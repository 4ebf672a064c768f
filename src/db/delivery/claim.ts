import { traceOfJob } from '../../domain/trace.ts';
import type { DeliveryRules, JobState } from '../../domain/transition.ts';
import { type Cipher, keyIdOf, UnreadableError } from '../connection/cipher.ts';
import type { Database, Statement } from '../connection/database.ts';
import { type StoredJobRow, toJobState, toRules } from './stored-job.ts';

/** A job that this process may deliver until the lease ends. */
export interface ClaimedJob {
  id: string;
  token: string;
  accountId: string;
  queueId: string;
  queueName: string;
  webhookUrl: string;
  signingSecret: string;
  /** The secret that replaces `signingSecret` when the overlap of a rotation ends; null without a rotation. */
  nextSigningSecret: string | null;
  /** JSON source text. Emptied once the envelope is built, so that a waiting delivery holds it only once. */
  payload: string;
  /**
   * Id of the key that the stored payload is encrypted with; undefined without encryption. Also used for the answer.
   */
  encryptedWith?: string | undefined;
  /**
   * Id of the key that this process lacks to read the secret or the payload: the claim must be given back.
   * Undefined if it can.
   */
  missingKey?: string | undefined;
  /** Trace context of the publish, and later of this attempt if the process makes spans; null without one. */
  trace: string | null;
  createdAt: Date;
  scheduledFor: Date;
  state: JobState;
  rules: DeliveryRules;
}

/** The result of a claim for one queue. */
export interface Claim {
  /** Database time in milliseconds. */
  now: number;
  /**
   * Milliseconds until another claim can take a job without any other event. Null: only after an event, such as the end
   * of a delivery or a pause. Infinite: no job is left to claim. 0 without a job: another transaction has locked the
   * queue or its due jobs.
   */
  waitMs: number | null;
  /** True when the queue was deleted: none of its jobs will be delivered any more (D17). */
  queueDeleted: boolean;
  /** Ordered by the time at which they became due. */
  jobs: ClaimedJob[];
}

/** Limits of a claim from one queue. */
export interface ClaimLimit {
  queueId: string;
  jobs: number;
  /** Payload bytes in UTF-8. The job whose payload reaches this limit is the last one. */
  bytes: number;
  /**
   * In milliseconds: the claim begins with jobs that became due then. Null: with the oldest.
   * See `p_since` of `jobferry_claim`.
   */
  since: number | null;
}

export interface ClaimRequest {
  /** One entry per queue. */
  limits: readonly ClaimLimit[];
  workerId: number;
  leaseMs: number;
}

/** `claim_token`: a 64-bit number. */
export interface ClaimRow extends Omit<StoredJobRow, 'now' | 'answer_status_code' | 'status' | 'claim_token'> {
  claim_token: number | string;
  claimed_at: Date;
  wait_ms: number | null;
  queue_deleted: boolean;
  account_id: string;
  queue_name: string;
  webhook_url: string;
  signing_secret: string;
  next_signing_secret: string | null;
  payload: string;
  created_at: Date;
  scheduled_for: Date;
}

const CLAIM: Statement = {
  name: 'claim',
  text: `select * from jobferry_claim($1, $2, $3, $4, $5, $6 * interval '1 ms')`,
};

/** For a claim of one queue, which most are at a low rate. It costs half as much as a set (docs/decisions/0058). */
const CLAIM_ONE: Statement = {
  name: 'claim-one',
  text: `select * from jobferry_claim_one($1, $2, $3, $4, $5, $6 * interval '1 ms')`,
};

/**
 * Claims due jobs of each queue, as many as its limit, concurrency, rate window, hold and probe allow.
 * @returns claims by queue id
 */
export async function claim(db: Database, request: ClaimRequest): Promise<Map<string, Claim>> {
  const { limits, workerId, leaseMs } = request;
  const [first, second] = limits;
  const rows =
    first !== undefined && second === undefined
      ? await db.query<ClaimRow>(CLAIM_ONE, [
          first.queueId,
          first.jobs,
          first.bytes,
          dateOf(first.since),
          workerId,
          leaseMs,
        ])
      : await db.query<ClaimRow>(CLAIM, [
          limits.map(({ queueId }) => queueId),
          limits.map(({ jobs }) => jobs),
          limits.map(({ bytes }) => bytes),
          limits.map(({ since }) => dateOf(since)),
          workerId,
          leaseMs,
        ]);
  const claims = new Map<string, Claim>();
  for (const row of rows) {
    const { queue_id: queueId, claimed_at: at, wait_ms: waitMs, queue_deleted: queueDeleted } = row;
    let claimed = claims.get(queueId);
    if (claimed === undefined) {
      claimed = { now: at.getTime(), waitMs, queueDeleted, jobs: [] };
      claims.set(queueId, claimed);
    }
    if (row.id !== null) claimed.jobs.push(...readable(db, row));
  }
  for (const { jobs } of claims.values()) jobs.sort(byTime);
  return claims;
}

/** A time of `ClaimLimit.since` as an argument. */
export const dateOf = (ms: number | null) => (ms === null ? null : new Date(ms));

const ACCOUNTS: Statement = {
  name: 'accounts-of-queues',
  text: 'select id, account_id from queue where id = any ($1)',
};

/** @returns the account of each queue by queue id, without queues that the sweep has removed */
export async function accountsOfQueues(db: Database, queueIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await db.query<{ id: string; account_id: string }>(ACCOUNTS, [queueIds]);
  return new Map(rows.map(({ id, account_id: accountId }) => [id, accountId]));
}

function byTime(a: ClaimedJob, b: ClaimedJob): number {
  return a.scheduledFor.getTime() - b.scheduledFor.getTime() || (a.id < b.id ? -1 : 1);
}

/**
 * A job whose key this process does not have is marked (`missingKey`): it is given back at once, so that a process with
 * the key claims it. Empty for a job whose stored text is damaged. No process can read it, so it goes back when its
 * lease ends: given back at once, it would be claimed again at once. Neither counts an attempt.
 */
export function readable(db: Database, row: ClaimRow): ClaimedJob[] {
  try {
    return [toClaimedJob(db.cipher, row)];
  } catch (error) {
    const fields = { err: error, jobId: row.id, queueId: row.queue_id };
    const missingKey = error instanceof UnreadableError ? error.missingKey : null;
    if (missingKey !== null) {
      db.log.warn(fields, 'a claimed job cannot be read; it is given back');
      return [toClaimedJob(null, row, missingKey)];
    }
    db.log.warn(fields, 'a claimed job cannot be read; it goes back when its lease ends');
    return [];
  }
}

/** @param cipher null leaves out what is encrypted @throws UnreadableError */
function toClaimedJob(cipher: Cipher | null, row: ClaimRow, missingKey?: string): ClaimedJob {
  const { queue_id: queueId, signing_secret: secret, next_signing_secret: next, payload } = row;
  return {
    id: row.id,
    token: String(row.claim_token),
    accountId: row.account_id,
    queueId,
    queueName: row.queue_name,
    webhookUrl: row.webhook_url,
    signingSecret: cipher?.decryptCached(`signing-secret:${queueId}`, secret) ?? '',
    nextSigningSecret: next === null ? null : (cipher?.decryptCached(`signing-secret:${queueId}`, next) ?? null),
    payload: cipher?.decrypt(`payload:${queueId}`, payload) ?? '',
    encryptedWith: keyIdOf(payload),
    missingKey,
    trace: traceOfJob(row.trace_context, row.id),
    createdAt: row.created_at,
    scheduledFor: row.scheduled_for,
    state: toJobState({ ...row, status: 'processing', answer_status_code: null }),
    rules: toRules(row),
  };
}
