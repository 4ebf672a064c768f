import type pg from 'pg';

/**
 * The work of a service in the last hours, written straight into the tables, because a test cannot wait for it. Only
 * what has ended or waits for long is written like this; the service does the rest, and sums up the attempts by itself.
 */

/** Deliveries of a queue in a span of time, spread evenly with some chance. Times are minutes before now. */
export interface Past {
  queueId: string;
  from: number;
  to: number;
  count: number;
  /** The receiver's answer; null if it did not answer. */
  code: number | null;
  /** Text of the answer, or of the error where there was none. */
  body?: string;
  error?: string;
  /** Milliseconds: the middle, and how far the values spread, as a factor. */
  tookMs: number;
  lateMs: number;
  /** `completed`; `dead` after so many attempts; `deferred` and then completed. */
  end: 'completed' | 'dead' | 'deferred';
  reason?: 'attempts_exhausted' | 'ack_timeout' | 'nacked' | 'defer_cap_exhausted';
  attempts?: number;
  /** SQL expression of the payload's text, over `n` and `at`. */
  payload: string;
}

// `random()` follows the seed of the session, so that two runs make the same history but for its place in time. Each of
// the attempts of a dead job is a row, with the back-off doubled between them.
const JOBS = `
  with made as materialized (
    select jobferry_id(at) as id, n, at, greatest(1, round($8 * exp((random() + random() - 1) * 0.9)))::integer as took,
           round($9 * (0.4 + random() * 1.4))::integer as late
      from (select n, jobferry_now() - make_interval(secs => 60 * ($2 + ($3::float8 - $2) * (n + random()) / $4)) as at
              from generate_series(0, $4::integer - 1) n) spread
  ), timed as materialized (
    select *, at + make_interval(secs => (late + took) / 1000.0) as ended from made
  ), inserted as (
    insert into job (id, account_id, queue_id, status, attempts, max_attempts, backoff_type, backoff_delay, payload,
                     scheduled_for, deliver_by, last_error, created_at, completed_at, dead_at, dead_reason, history_count,
                     mode, defer_count, idempotency_key)
    select t.id, q.account_id, q.id, case when $10 = 'dead' then 'dead' else 'completed' end, $12,
           greatest(q.max_attempts, $12), q.backoff_type, q.backoff_delay, PAYLOAD, at, at + interval '1 day',
           case when $10 = 'dead' then $7 end, at, case when $10 <> 'dead' then ended end,
           case when $10 = 'dead' then ended + ($12 - 1) * interval '9 s' end, $11,
           case when $10 = 'deferred' then 2 else $12 end, q.mode, case when $10 = 'deferred' then 1 else 0 end,
           'seed-' || q.name || '-' || t.id
      from timed t, queue q where q.id = $1
  ), attempts as (
    insert into attempt (job_id, ordinal, queue_id, attempt, status, error, webhook_status_code, "timestamp", duration_ms,
                         wait_ms, response_body)
    select id, ordinal, $1, case when $10 = 'deferred' then 1 else ordinal end,
           case when $10 = 'deferred' and ordinal = 2 then 'success' when $10 = 'deferred' then 'deferred'
                when $11 = 'nacked' then 'nacked' when $11 = 'defer_cap_exhausted' then 'deferred' when $10 = 'dead' then 'failed' else 'success' end,
           case when $10 = 'deferred' and ordinal = 2 or $10 = 'completed' then null else $7 end,
           case when $10 = 'deferred' and ordinal = 2 then 200 else $5::integer end,
           ended + (ordinal - 1) * interval '9 s', took, case when ordinal = 1 then late else late / 2 end,
           case when $10 = 'deferred' and ordinal = 2 then '{"ok":true}' else $6::text end
      from timed, generate_series(1, case when $10 = 'deferred' then 2 else $12 end) ordinal
  )
  insert into dead_letter (id, job_id, queue_id, reason, error, webhook_status_code, fingerprint, dead_at)
  select jobferry_id(ended + ($12 - 1) * interval '9 s'), id, $1, $11, $7, $5::integer,
         jobferry_fingerprint($11, $5::integer, $7), ended + ($12 - 1) * interval '9 s'
    from timed where $10 = 'dead'`;

export async function insertPast(db: pg.Client, past: Past): Promise<void> {
  const { queueId, from, to, count, code, tookMs, lateMs, end, attempts = 1 } = past;
  const body = past.body ?? (code === null ? null : code < 300 ? '{"ok":true}' : '');
  const error = past.error ?? (code === null ? 'timeout' : code < 300 ? null : `HTTP ${code}`);
  const reason = end === 'dead' ? (past.reason ?? 'attempts_exhausted') : null;
  const values = [queueId, from, to, count, code, body, error, tookMs, lateMs, end, reason, attempts];
  await db.query(JOBS.replace('PAYLOAD', past.payload), values);
}

/** Jobs that wait, due since they were published or at a time to come. Times are minutes before now. */
export interface Waiting {
  queueId: string;
  from: number;
  to: number;
  count: number;
  payload: string;
}

export async function insertWaiting(db: pg.Client, { queueId, from, to, count, payload }: Waiting): Promise<void> {
  await db.query(
    `insert into job (id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, payload, scheduled_for, deliver_by,
                      created_at, idempotency_key)
     select jobferry_id(at), q.account_id, q.id, q.max_attempts, q.backoff_type, q.backoff_delay, ${payload}, at,
            at + interval '1 day', at, 'waits-' || q.name || '-' || n
       from queue q, (select n, jobferry_now() - make_interval(secs => 60 * ($2 + ($3::float8 - $2) * n / $4)) as at
                        from generate_series(0, $4::integer - 1) n) spread
      where q.id = $1`,
    [queueId, from, to, count],
  );
}

/** One job with its attempts, in any state. Times are seconds before now; negative ones are to come. */
export interface OneJob {
  queueId: string;
  payload: string;
  created: number;
  status: 'pending' | 'completed' | 'dead';
  scheduled?: number;
  waitReason?: 'backoff' | 'hold';
  deadReason?: string;
  deliverBy?: number;
  defers?: number;
  key?: string;
  history: {
    attempt: number;
    status: 'success' | 'failed' | 'nacked' | 'deferred';
    at: number;
    code?: number;
    error?: string;
    body?: string;
    tookMs?: number;
    lateMs?: number;
  }[];
}

export async function insertJob(db: pg.Client, job: OneJob): Promise<string> {
  const { queueId, payload, created, status, scheduled = created, history, deadReason = null } = job;
  const last = history.at(-1);
  const used = history.filter((entry) => entry.status !== 'deferred' && entry.status !== 'success').length;
  const { rows } = await db.query<{ id: string }>(
    `insert into job (id, account_id, queue_id, status, attempts, max_attempts, backoff_type, backoff_delay, payload,
                      scheduled_for, deliver_by, last_error, created_at, completed_at, dead_at, dead_reason, history_count,
                      wait_reason, defer_count, idempotency_key, mode)
     select jobferry_id(now() - make_interval(secs => $3)), q.account_id, q.id, $2, $4, greatest(q.max_attempts, $4),
            q.backoff_type, q.backoff_delay, $5, now() - make_interval(secs => $6), now() - make_interval(secs => $7), $8,
            now() - make_interval(secs => $3), case when $2 = 'completed' then now() - make_interval(secs => $9) end,
            case when $2 = 'dead' then now() - make_interval(secs => $9) end, $10, $11, $12, $13, $14, q.mode
       from queue q where q.id = $1 returning id`,
    [
      ...[queueId, status, created, status === 'completed' ? used + 1 : used, payload, scheduled],
      ...[job.deliverBy ?? created - 86_400, last?.error ?? null, last?.at ?? created, deadReason, history.length],
      ...[job.waitReason ?? null, job.defers ?? 0, job.key ?? null],
    ],
  );
  const id = rows[0]?.id ?? '';
  for (const [index, entry] of history.entries()) {
    await db.query(
      `insert into attempt (job_id, ordinal, queue_id, attempt, status, error, webhook_status_code, "timestamp", duration_ms,
                            wait_ms, response_body)
       values ($1, $2, $3, $4, $5, $6, $7, now() - make_interval(secs => $8), $9, $10, $11)`,
      [
        ...[id, index + 1, queueId, entry.attempt, entry.status, entry.error ?? null, entry.code ?? null, entry.at],
        ...[entry.tookMs ?? 120, entry.lateMs ?? 30, entry.body ?? null],
      ],
    );
  }
  if (status === 'dead') {
    await db.query(
      `insert into dead_letter (job_id, queue_id, reason, error, webhook_status_code, fingerprint, dead_at)
       values ($1, $2, $3, $4, $5, jobferry_fingerprint($3, $5, $4), now() - make_interval(secs => $6))`,
      [id, queueId, deadReason, last?.error ?? null, last?.code ?? null, last?.at ?? created],
    );
  }
  return id;
}

/** Makes payloads searchable at once, as those of an hour ago are, and keeps the service from doing it again. */
export async function indexPast(db: pg.Client): Promise<void> {
  await db.query(`insert into job_search (job_id, queue_id, doc)
    select id, queue_id, jsonb_build_object(queue_id, jobferry_searchable(payload)) from job on conflict do nothing`);
  await db.query(`update follower set position = (select max(id) from job) where name = 'search'`);
  await db.query('analyze');
}
