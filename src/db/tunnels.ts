import type { Actor, Author } from '../domain/audit.ts';
import { traceOfJob } from '../domain/trace.ts';
import { actorJson } from './audit.ts';
import type { Database, Statement } from './connection/database.ts';
import { probeDue } from './queues/breaker.ts';

/**
 * Rows of tunnels. Their times are those of the machine and not of `jobferry_now()`, so a clock that travels ends none.
 * A row counts from now to the longest life only: one that a vanished process has left does not count again when a
 * clock goes back.
 */

/** A row that its process does not renew is in force for so long, in milliseconds. */
const TUNNEL_LIFE_MS = 11_000;
/** A client that comes back again and again is audited so often. */
const AUDIT_EVERY = `interval '1 hour'`;

export interface TunnelRow {
  id: string;
  queueId: string;
  openedBy: Actor;
  /** Whether it also takes the deliveries of a queue that is marked as production. */
  isForced: boolean;
}

const IS_IN_FORCE = `expires_at > clock_timestamp() and expires_at <= clock_timestamp() + ${2 * TUNNEL_LIFE_MS} * interval '1 ms'`;
const EXPIRES_AT = `clock_timestamp() + ${TUNNEL_LIFE_MS} * interval '1 ms'`;

// A client that reconnects opens another tunnel: its entry would say nothing new. An open breaker was opened by another
// receiver, so its next probe, which goes through the tunnel, is due.
const OPEN: Statement = {
  name: 'open-tunnel',
  text: `
    with present as materialized (
      select id, name, account_id,
             (select max(audited_at) from tunnel
               where queue_id = queue.id and opened_by_type = $4::json ->> 'type'
                 and opened_by_id is not distinct from $4::json ->> 'id' and forced = $5
                 and audited_at > clock_timestamp() - ${AUDIT_EVERY} and ${IS_IN_FORCE}) as audited_at
        from queue where id = $2 and account_id = $3 and deleted_at is null and (not production or $5)
    ), opened as (
      insert into tunnel (id, account_id, queue_id, opened_by, opened_by_type, opened_by_id, forced, opened_at, expires_at, audited_at)
      select $1, account_id, id, $4::json ->> 'label', $4::json ->> 'type', $4::json ->> 'id', $5, clock_timestamp(), ${EXPIRES_AT},
             coalesce(audited_at, clock_timestamp())
        from present
      returning queue_id
    ), clock as materialized (select jobferry_now() as now), probed as (
      update queue set ${probeDue('clock.now').trim()}
        from clock, opened
       where queue.id = opened.queue_id and breaker_opened_at is not null and (hold_until > clock.now or probe_job_id is not null)
    )
    select case when present.audited_at is null then jobferry_audit($3, $4::json, 'queue.open_tunnel', 'queue', present.id, present.name,
             null, jsonb_build_object('forced', $5::boolean)) end
      from opened join present on present.id = opened.queue_id`,
};

/**
 * Stores a tunnel.
 * @returns false if there is no such live queue, or it is marked as production and the tunnel is not forced
 */
export async function openTunnel(
  db: Database,
  by: Author,
  { id, queueId, isForced }: Pick<TunnelRow, 'id' | 'queueId' | 'isForced'>,
): Promise<boolean> {
  return (await db.query(OPEN, [id, queueId, by.accountId, actorJson(by.actor), isForced])).length > 0;
}

// The row may have expired and be gone, because the database did not answer for some time.
// Then other processes have to know.
const KEEP: Statement = {
  name: 'keep-tunnels',
  text: `
    insert into tunnel (id, account_id, queue_id, opened_by, opened_by_type, opened_by_id, forced, opened_at, expires_at)
    select kept.id, queue.account_id, queue.id, kept.opened_by, kept.type, kept.by_id, kept.forced, clock_timestamp(), ${EXPIRES_AT}
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[])
           as kept (id, queue_id, opened_by, type, by_id, forced)
      join queue on queue.id = kept.queue_id and queue.deleted_at is null and (not queue.production or kept.forced)
     order by kept.id
    on conflict (id) do update set expires_at = excluded.expires_at
    returning id, xmax = 0 as "isNew"`,
};

/**
 * Renews the tunnels.
 * @returns ids of those whose queue exists and allows them, and whether a row had expired
 */
export async function keepTunnels(
  db: Database,
  rows: readonly TunnelRow[],
): Promise<{ ids: Set<string>; hadExpired: boolean }> {
  const kept = await db.query<{ id: string; isNew: boolean }>(KEEP, [
    rows.map(({ id }) => id),
    rows.map(({ queueId }) => queueId),
    rows.map(({ openedBy }) => openedBy.label),
    rows.map(({ openedBy }) => openedBy.type),
    rows.map(({ openedBy }) => openedBy.id),
    rows.map(({ isForced }) => isForced),
  ]);
  return { ids: new Set(kept.map(({ id }) => id)), hadExpired: kept.some(({ isNew }) => isNew) };
}

// Its own client leaves as it came; the end by another actor moves deliveries that are not its own.
const END: Statement = {
  name: 'end-tunnel',
  text: `
    with ended as (
      delete from tunnel where id = $1 and account_id = $2 returning *
    )
    select case when queue.id is not null
                     and (ended.opened_by_type, ended.opened_by_id) is distinct from ($3::json ->> 'type', $3::json ->> 'id')
             then jobferry_audit($2, $3::json, 'queue.end_tunnel', 'queue', queue.id, queue.name,
                    jsonb_build_object('openedBy', ended.opened_by), null) end
      from ended left join queue on $3::json is not null and queue.id = ended.queue_id`,
};

/**
 * @param by the actor that ends it; null if its process does
 * @returns false if there was no such tunnel
 */
export async function endTunnel(
  db: Database,
  accountId: string,
  id: string,
  by: Actor | null = null,
): Promise<boolean> {
  return (await db.query(END, [id, accountId, by === null ? null : actorJson(by)])).length > 0;
}

/** The actor that opened a tunnel. */
export interface TunnelOpener {
  type: Actor['type'];
  /** Null for the operator. */
  id: string | null;
  label: string;
}

const OPENER: Statement = {
  name: 'opener-of-tunnel',
  text: `select opened_by_type as type, opened_by_id as id, opened_by as label
           from tunnel where id = $1 and account_id = $2 and ${IS_IN_FORCE}`,
};

/** @returns null if there is no such tunnel in force */
export async function openerOfTunnel(db: Database, accountId: string, id: string): Promise<TunnelOpener | null> {
  return (await db.one<TunnelOpener>(OPENER, [id, accountId])) ?? null;
}

const TUNNELLED: Statement = {
  name: 'tunnelled-queues',
  text: `
    with expired as (delete from tunnel where not (${IS_IN_FORCE}))
    select distinct queue_id from tunnel where ${IS_IN_FORCE}`,
};

/** Removes the rows that have expired. @returns ids of the queues that have a tunnel */
export async function tunnelledQueues(db: Database): Promise<Set<string>> {
  return new Set((await db.query<{ queue_id: string }>(TUNNELLED)).map(({ queue_id: id }) => id));
}

/** A tunnel, for people. */
export interface OpenTunnel {
  id: string;
  openedBy: string;
  openedAt: Date;
}

const OF_QUEUE: Statement = {
  name: 'tunnels-of-queue',
  text: `select id, opened_by as "openedBy", opened_at as "openedAt" from tunnel
          where queue_id = $1 and account_id = $2 and ${IS_IN_FORCE} order by opened_at, id limit 100`,
};

export async function tunnelsOfQueue(db: Database, accountId: string, queueId: string): Promise<OpenTunnel[]> {
  return db.query<OpenTunnel>(OF_QUEUE, [queueId, accountId]);
}

/** The facts for a copy of a job's last delivery. */
export interface CopiedJob {
  id: string;
  queueName: string;
  webhookUrl: string;
  signingSecret: string;
  nextSigningSecret: string | null;
  /** Seconds; null in standard mode. */
  ackTimeout: number | null;
  payload: string;
  attempt: number;
  maxAttempts: number;
  createdAt: Date;
  trace: string | null;
  standardWebhooks: boolean;
}

const TO_COPY: Statement = {
  name: 'jobs-to-copy',
  text: `
    select job.id, queue.name as "queueName", queue.webhook_url as "webhookUrl",
           case when rotated.is_over then queue.next_signing_secret else queue.signing_secret end as "signingSecret",
           case when not rotated.is_over then queue.next_signing_secret end as "nextSigningSecret",
           case when queue.mode = 'ack' then queue.ack_timeout end as "ackTimeout",
           job.payload, job.attempts as attempt, job.max_attempts as "maxAttempts", job.created_at as "createdAt",
           job.trace_context as trace, queue.standard_webhooks as "standardWebhooks"
      from job join queue on queue.id = job.queue_id
     cross join lateral (select coalesce(queue.next_signing_secret_at <= jobferry_now(), false) as is_over) as rotated
     where job.id = any ($1) and queue.id = $2 and queue.account_id = $3 and queue.deleted_at is null and job.attempts > 0
     order by job.id`,
};

/** @returns the jobs of the queue that have been attempted. One whose payload cannot be decrypted here is left out */
export async function jobsToCopy(
  db: Database,
  { accountId, queueId }: { accountId: string; queueId: string },
  ids: readonly string[],
): Promise<CopiedJob[]> {
  const { cipher } = db;
  const rows = await db.reading(accountId).query<CopiedJob>(TO_COPY, [ids, queueId, accountId]);
  return rows.flatMap((row) => {
    try {
      const { signingSecret: secret, nextSigningSecret: next } = row;
      return {
        ...row,
        signingSecret: cipher.decryptCached(`signing-secret:${queueId}`, secret),
        nextSigningSecret: next === null ? null : cipher.decryptCached(`signing-secret:${queueId}`, next),
        payload: cipher.decrypt(`payload:${queueId}`, row.payload),
        trace: traceOfJob(row.trace, row.id),
      };
    } catch {
      return [];
    }
  });
}
