import type { Author } from '../../domain/audit.ts';
import { actorJson } from '../audit.ts';
import type { Database, Statement } from '../connection/database.ts';

/** Columns that a test request to the receiver of a queue needs. */
export interface CheckedQueue {
  /** An id for the request, which no job has. */
  id: string;
  queueId: string;
  now: Date;
  name: string;
  webhookUrl: string;
  signingSecret: string;
  /** Signs as well while a rotation is in progress. */
  nextSigningSecret: string | null;
  /** Whether deliveries have the headers of Standard Webhooks. */
  standardWebhooks: boolean;
  /** Seconds; null in standard mode. */
  ackTimeout: number | null;
  concurrency: number;
}

/** Names of the audit log. Each has a limit of its own. */
type ReceiverCheckAction = 'queue.check_receiver' | 'queue.examine_receiver';

// The audit log is the same for all processes, so the limit holds over all of them. Checks that begin at the same
// moment in several processes may exceed it by one each. A secret whose time has come signs alone, as at a claim.
const BEGIN: Statement = {
  name: 'begin-receiver-check',
  text: `
    with recent as materialized (
      select count(*) >= $4::integer as "tooMany" from audit_entry
       where account_id = $2 and id >= jobferry_first_id(jobferry_now() - interval '1 minute')
         and action = $5::text
    ), target as materialized (
      select id, name, webhook_url, signing_secret, next_signing_secret, mode, ack_timeout, concurrency,
             standard_webhooks, coalesce(next_signing_secret_at <= jobferry_now(), false) as rotated
        from queue where id = $1 and account_id = $2 and deleted_at is null
    )
    select recent."tooMany", jobferry_id() as id, jobferry_now() as now, name, webhook_url as "webhookUrl",
           case when rotated then next_signing_secret else signing_secret end as secret,
           case when not rotated then next_signing_secret end as "nextSecret",
           case when mode = 'ack' then ack_timeout end as "ackTimeout", concurrency,
           standard_webhooks as "standardWebhooks",
           case when not recent."tooMany" then
             jobferry_audit($2, $3::json, $5::text, 'queue', target.id, name, null,
                            jsonb_build_object('webhookUrl', webhook_url)) end
      from target, recent`,
};

interface Row {
  tooMany: boolean;
  id: string;
  now: Date;
  name: string;
  webhookUrl: string;
  secret: string;
  nextSecret: string | null;
  ackTimeout: number | null;
  concurrency: number;
  standardWebhooks: boolean;
}

/**
 * Writes the audit entry of a check, and returns what it needs.
 * @param limit of the account
 * @returns null when there is no such live queue
 */
export async function beginReceiverCheck(
  db: Database,
  by: Author,
  queueId: string,
  { action, perMinute }: { action: ReceiverCheckAction; perMinute: number },
): Promise<CheckedQueue | 'too_many' | null> {
  const row = await db.one<Row & Record<string, unknown>>(BEGIN, [
    queueId,
    by.accountId,
    actorJson(by.actor),
    perMinute,
    action,
  ]);
  if (row === null) return null;
  if (row.tooMany) return 'too_many';
  const { id, now, name, webhookUrl, secret, nextSecret, ackTimeout, concurrency, standardWebhooks } = row;
  const decrypt = (stored: string) => db.cipher.decrypt(`signing-secret:${queueId}`, stored);
  return {
    id,
    queueId,
    now,
    name,
    webhookUrl,
    ackTimeout,
    concurrency,
    standardWebhooks,
    signingSecret: decrypt(secret),
    nextSigningSecret: nextSecret === null ? null : decrypt(nextSecret),
  };
}
