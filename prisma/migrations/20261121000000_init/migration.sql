-- Time and ids --------------------------------------------------------------------------------

-- The only clock (D35). Milliseconds, because that is what the API shows: a job read back must
-- not look older or newer than it is. Tests and development servers replace it by a shifted one.
create function jobferry_now() returns timestamptz
language sql volatile parallel safe
as $$ select date_trunc('milliseconds', clock_timestamp()) $$;

create sequence jobferry_id_seq cycle;

-- 24 hex digits that grow with time: 12 of milliseconds, 4 of a counter, 8 of chance. So the
-- primary key is also the order of creation, and a range of time is a range of ids.
create function jobferry_id(at timestamptz default jobferry_now()) returns text
language sql volatile
as $$
  select lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
      || lpad(to_hex(nextval('jobferry_id_seq') & 65535), 4, '0')
      || substr(replace(gen_random_uuid()::text, '-', ''), 1, 8)
$$;

-- The smallest id that a row created at this moment can have.
create function jobferry_first_id(at timestamptz) returns text
language sql immutable
as $$ select rpad(lpad(to_hex(greatest(0, extract(epoch from at) * 1000)::bigint), 12, '0'), 24, '0') $$;

-- When something with this id was created: its first 12 digits are milliseconds.
create function jobferry_created_at(p_id text) returns timestamptz
language sql immutable parallel safe
as $$ select to_timestamp(('x' || left(p_id, 12))::bit(48)::bigint::float8 / 1000)::timestamptz(3) $$;

-- One number per claim. Gaps are fine, repeats are not.
create sequence jobferry_claim_token_seq;
-- One number per running worker process; it holds a session advisory lock on it.
create sequence jobferry_worker_id_seq as integer cycle;

-- Tables ----------------------------------------------------------------------------------------
-- Ids compare bytewise ("C"): faster, and the same order under every database locale.

create table account (
  id         text collate "C" not null default jobferry_id() primary key,
  name       text not null,
  plan       text not null,
  created_at timestamptz(3) not null default jobferry_now()
);

create table api_key (
  id           text collate "C" not null default jobferry_id() primary key,
  account_id   text collate "C" not null,
  name         text,
  hash         text not null,
  prefix       text not null,
  last_four    text not null,
  created_at   timestamptz(3) not null default jobferry_now(),
  last_used_at timestamptz(3),
  revoked_at   timestamptz(3),
  constraint api_key_hash_is_sha256 check (hash ~ '^[0-9a-f]{64}$'),
  constraint api_key_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
);
create unique index api_key_hash_key on api_key (hash);
create index api_key_account_id_idx on api_key (account_id);
-- Keys that Jobferry has not made itself (BOOTSTRAP_API_KEY): asked for once a second while keys are guessed.
create index api_key_foreign_idx on api_key (prefix) where revoked_at is null and prefix not like 'jf\_%';

create table queue (
  id                 text collate "C" not null default jobferry_id() primary key,
  account_id         text collate "C" not null,
  name               text not null,
  webhook_url        text not null,
  signing_secret     text not null,
  max_attempts       integer not null,
  max_defers         integer not null,
  concurrency        integer not null,
  dlq_enabled        boolean not null,
  mode               text not null,
  rate_limit_max     integer,
  rate_limit_window  double precision not null,
  ack_timeout        double precision not null,
  ack_timeout_action text not null,
  backoff_type       text not null,
  backoff_delay      double precision not null,
  created_at         timestamptz(3) not null default jobferry_now(),
  deleted_at         timestamptz(3),
  hold_until         timestamptz(3),
  probe_job_id       text collate "C",
  rate_window_start  timestamptz(3),
  rate_window_used   integer not null default 0,
  hold_job_id        text collate "C",
  hold_reason        text,
  paused_at          timestamptz(3),
  paused_by          text,
  lifetime_floor     timestamptz(3),
  next_signing_secret    text,
  next_signing_secret_at timestamptz(3),
  payloads_encrypted     boolean not null default false,
  constraint queue_name_form check (name ~ '^[a-z0-9_-]{1,64}$'),
  constraint queue_max_attempts_bounds check (max_attempts between 1 and 25),
  constraint queue_max_defers_bounds check (max_defers between 0 and 1000),
  constraint queue_concurrency_bounds check (concurrency between 1 and 500),
  constraint queue_mode_values check (mode in ('standard', 'ack')),
  constraint queue_rate_limit_max_bounds check (rate_limit_max >= 1),
  constraint queue_rate_limit_window_bounds check (rate_limit_window between 0.001 and 3600),
  constraint queue_ack_timeout_bounds check (ack_timeout between 0.001 and 86400),
  constraint queue_ack_timeout_action_values check (ack_timeout_action in ('retry', 'dead')),
  constraint queue_backoff_type_values check (backoff_type in ('fixed', 'exponential')),
  constraint queue_backoff_delay_bounds check (backoff_delay between 0 and 3600),
  constraint queue_paused_by_somebody check ((paused_at is null) = (paused_by is null)),
  constraint queue_next_secret_has_time check ((next_signing_secret is null) = (next_signing_secret_at is null)),
  constraint queue_probe_only_while_held check (probe_job_id is null or hold_until is not null),
  constraint queue_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
) with (fillfactor = 70); -- claims rewrite rate window and probe in place
create index queue_account_id_id_idx on queue (account_id, id);
-- A name is free again as soon as its queue is deleted (spec "Deleting a queue").
create unique index queue_live_name_key on queue (account_id, name) where deleted_at is null;
-- What the reconciler and the sweep go through, with tombstones apart: there can be many of them.
create index queue_deleted_idx on queue (id) where deleted_at is not null;
create index queue_live_idx on queue (id) where deleted_at is null;

-- queue_id is no foreign key, nor is attempt.job_id: checking them took a sixth of the database's time for a
-- job (docs/decisions/0008). Jobs come from jobferry_publish and jobferry_replay, which read the queue they
-- name, and attempts from jobferry_settle, which holds the job; only the sweep removes any of them.
create table job (
  id                 text collate "C" not null default jobferry_id() primary key,
  account_id         text collate "C" not null,
  queue_id           text collate "C" not null,
  status             text not null default 'pending',
  attempts           integer not null default 0,
  max_attempts       integer not null,
  backoff_type       text not null,
  backoff_delay      double precision not null,
  defer_count        integer not null default 0,
  -- Holds of less than a second that the job got in a row, up to now.
  short_holds        integer not null default 0,
  idempotency_key    text collate "C",
  payload            text not null,
  scheduled_for      timestamptz(3) not null,
  deliver_by         timestamptz(3) not null,
  last_error         text,
  created_at         timestamptz(3) not null,
  completed_at       timestamptz(3),
  dead_at            timestamptz(3),
  dead_reason        text,
  replay_of          text collate "C",
  claim_token        bigint not null default 0,
  worker_id          integer,
  claimed_at         timestamptz(3),
  deadline           timestamptz(3),
  interruptions      integer not null default 0,
  history_count      integer not null default 0,
  mode               text,
  max_defers         integer,
  ack_timeout_action text,
  answer_status_code integer,
  answer_ms          integer,
  answer_body        text,
  wait_reason        text,
  progress           text,
  progress_at        timestamptz(3),
  payload_key        text collate "C",
  constraint job_wait_reason_values check (wait_reason in ('backoff', 'hold')),
  constraint job_status_values check (status in ('pending', 'processing', 'awaiting_ack', 'completed', 'dead')),
  constraint job_attempts_bounds check (attempts between 0 and max_attempts),
  constraint job_defer_count_bounds check (defer_count between 0 and 1000),
  constraint job_idempotency_key_length check (char_length(idempotency_key) <= 255),
  constraint job_completed_has_time check ((status = 'completed') = (completed_at is not null)),
  constraint job_dead_has_reason check ((status = 'dead') = (dead_reason is not null)),
  constraint job_in_flight_has_deadline check ((status in ('processing', 'awaiting_ack')) = (deadline is not null)),
  constraint job_processing_has_worker check ((status = 'processing') = (worker_id is not null))
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- A queue's job list, newest first.
create index job_queue_id_id_idx on job (queue_id, id);
-- What claim takes: the due jobs of a queue in order.
create index job_due_idx on job (queue_id, scheduled_for, id) where status = 'pending';
-- What claim counts, and what the deadline tasks look for.
create index job_in_flight_idx on job (queue_id, deadline) where status in ('processing', 'awaiting_ack');
-- Dashboards: what waits for a retry or a hold, and what is dead. The happy path never touches them.
create index job_wait_reason_idx on job (queue_id, wait_reason, scheduled_for, id)
  where status = 'pending' and wait_reason is not null;
create index job_dead_idx on job (queue_id, id) where status = 'dead';
create index job_replay_of_idx on job (replay_of) where replay_of is not null;
-- Pending jobs of a queue in the order in which their lifetimes end (D8). For those who ask for `queue_id || ''` only:
-- with the column itself, the planner took it for whatever it was asked of pending jobs while the table was small or
-- new, and sorted all of a queue's.
create index job_deliver_by_idx on job ((queue_id || ''), deliver_by) where status = 'pending';
-- Which keys encrypted payloads need, and until when (docs/decisions/0007).
create index job_payload_key_idx on job (payload_key, id) where payload_key is not null;
create unique index job_idempotency_key_key on job (queue_id, idempotency_key) where idempotency_key is not null;

create table attempt (
  job_id              text collate "C" not null,
  ordinal             integer not null,
  queue_id            text collate "C" not null,
  attempt             integer not null,
  status              text not null,
  error               text,
  webhook_status_code integer,
  "timestamp"         timestamptz(3) not null,
  duration_ms         integer,
  wait_ms             integer,
  response_body       text,
  primary key (job_id, ordinal),
  constraint attempt_number_bounds check (attempt >= 1),
  constraint attempt_status_values check (status in ('success', 'failed', 'nacked', 'deferred'))
);
-- Attempts are written in the order of time, so a block range finds "since a moment ago" for nothing.
create index attempt_timestamp_idx on attempt using brin ("timestamp") with (pages_per_range = 16);

create table dead_letter (
  id              text collate "C" not null default jobferry_id() primary key,
  job_id          text collate "C" not null,
  queue_id        text collate "C" not null,
  reason          text not null,
  error           text,
  webhook_status_code integer,
  fingerprint     text collate "C" not null,
  dead_at         timestamptz(3) not null,
  replayed_at     timestamptz(3),
  replayed_job_id text collate "C",
  constraint dead_letter_replayed_together check ((replayed_at is null) = (replayed_job_id is null)),
  constraint dead_letter_job_id_fkey foreign key (job_id) references job (id) on delete cascade on update cascade,
  constraint dead_letter_queue_id_fkey foreign key (queue_id) references queue (id) on delete cascade on update cascade
);
create unique index dead_letter_job_id_key on dead_letter (job_id);
-- The job's id is in the indexes for what is counted by index alone: a dead letter goes with its job.
create index dead_letter_queue_id_id_idx on dead_letter (queue_id, id) include (job_id, dead_at);
-- Error groups.
create index dead_letter_fingerprint_idx on dead_letter (queue_id, fingerprint, id);
-- `all: true` takes the oldest not yet replayed.
create index dead_letter_open_idx on dead_letter (queue_id, id) include (job_id, dead_at) where replayed_at is null;

create table usage (
  account_id text collate "C" not null,
  month      text not null,
  attempts   bigint not null default 0,
  primary key (account_id, month),
  constraint usage_month_form check (month ~ '^\d{4}-\d{2}$'),
  constraint usage_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
) with (fillfactor = 50); -- one row per account is rewritten by every claim

create function jobferry_month(at timestamptz) returns text
language sql stable
as $$ select to_char(at at time zone 'UTC', 'YYYY-MM') $$;

-- Whether an account has used up its plan's attempts of this month. Null means no limit.
create function jobferry_limit_reached(p_account text, p_limit bigint, p_at timestamptz) returns boolean
language sql stable
as $$
  select p_limit is not null and coalesce(
    (select attempts from usage where account_id = p_account and month = jobferry_month(p_at)), 0) >= p_limit
$$;

-- Wake-ups --------------------------------------------------------------------------------------
-- A graphile-worker row says "this queue may have work at that time" and nothing more. One row per
-- queue and second, or four seconds when that is some time away, so that a busy queue has few: each costs about
-- as much as five jobs. It fires early, and the process that takes it waits for the exact moment with a timer
-- of its own (docs/architecture.md).
--
-- Work that is due at once is told to workers when it is committed (docs/decisions/0008); the row is for
-- the case that this message is lost, and fires some seconds later. A deadline has no such message.
create function jobferry_wake(p_task text, p_queue text, p_due timestamptz) returns void
language plpgsql
as $$
declare
  v_now timestamptz := jobferry_now();
  v_epoch constant timestamptz := 'epoch';
  v_step interval := case when p_due - v_now < interval '8 seconds' then '1 second' else '4 seconds' end;
  v_fires timestamptz := date_bin(v_step, p_due, v_epoch) - interval '1 second';
  v_key text;
begin
  if v_fires <= v_now and p_task = 'deliver' then
    v_fires := date_bin('4 seconds', v_now + interval '5200 milliseconds', v_epoch);
  end if;
  if v_fires <= v_now then
    v_key := p_task || ':' || p_queue || ':now';
  else
    v_key := p_task || ':' || p_queue || ':' || extract(epoch from v_fires)::bigint;
    -- Not yet due, so nobody can take it before we commit: leaving it is safe, and saves a busy
    -- queue from rewriting the same row for every job.
    perform from graphile_worker.jobs where key = v_key and locked_at is null
      and run_at > clock_timestamp() + interval '100 milliseconds';
    if found then return; end if;
  end if;
  -- add_job answers null when another transaction fights for the key; one of the tries without
  -- success costs latency only, because workers also look by themselves.
  for i in 1..3 loop
    perform from graphile_worker.add_job(
      p_task,
      json_build_object('queueId', p_queue),
      run_at => clock_timestamp() + greatest(v_fires - v_now, interval '0'),
      job_key => v_key
    ) as added where added.id is not null;
    exit when found;
  end loop;
end
$$;

-- Publish -----------------------------------------------------------------------------------------
-- A batch of publishes of any accounts and queues, each with its own answer:
--   created | existing | queue_not_found | limit_reached | seal | unseal | retry
-- `retry` means that another publish with the same key got in between (of this batch or of another
-- process): asked again, it finds that one (D18). `seal` and `unseal` mean that the payload has to come
-- encrypted for the queue whose id is told, or as it is: a queue may have changed its mind, or be another
-- one of the same name.
--
-- `ids` has the new jobs in the order of the items, null for those that made none; `others` says of these
-- what became of them. p_keyed says whether any item has a key.
create function jobferry_publish(p_items json, p_keyed boolean, p_retention interval, p_lifetime interval) returns json
language plpgsql
set enable_seqscan = off -- as in jobferry_settle
as $$
declare
  v_now timestamptz := jobferry_now();
  v_result json;
  v_queues text[];
  v_dues timestamptz[];
begin
  -- Keys past retention are outside the dedupe window, swept or not (D31).
  if p_keyed then
    update job set idempotency_key = null
     where id in (
       select j.id from json_to_recordset(p_items) as i("accountId" text, "queue" text, "key" text)
         join queue q on q.account_id = i."accountId" and q.name = i."queue" and q.deleted_at is null
         join job j on j.queue_id = q.id and j.idempotency_key = i."key"
        where i."key" is not null and j.created_at <= v_now - p_retention
        order by j.id for update of j);
  end if;

  with item as materialized (
    select i.*, jobferry_id(v_now) as id, q.id as queue_id, q.payloads_encrypted, q.max_attempts,
           q.backoff_type, q.backoff_delay,
           -- Here and not where it is asked: there the planner takes it for rare, and joins row by row.
           "sealedFor" is not distinct from case when q.payloads_encrypted then q.id end as is_sealed_right,
           v_now + coalesce(i."delayMs", 0) * interval '1 millisecond' as scheduled_for
      from rows from (
             json_to_recordset(p_items)
               as ("accountId" text, "queue" text, "payload" text, "key" text, "delayMs" float8, "limit" bigint,
                   "sealedFor" text)
           ) with ordinality as i("accountId", "queue", "payload", "key", "delayMs", "limit", "sealedFor", n)
      left join queue q on q.account_id = i."accountId" and q.name = i."queue" and q.deleted_at is null
     order by i.n
  ), existing as materialized (
    select item.n, j.id, j.status, j.created_at
      from item join job j on j.queue_id = item.queue_id and j.idempotency_key = item."key"
  ), refused as materialized (
    select n from item where "limit" is not null and queue_id is not null and jobferry_limit_reached("accountId", "limit", v_now)
  ), created as (
    insert into job (id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, idempotency_key,
                     payload, payload_key, scheduled_for, deliver_by, created_at)
    select id, "accountId", queue_id, max_attempts, backoff_type, backoff_delay, "key",
           "payload", case when payloads_encrypted then split_part(left("payload", 32), ':', 3) end,
           scheduled_for, scheduled_for + p_lifetime, v_now
      from item
     where queue_id is not null and n not in (select n from existing) and n not in (select n from refused)
       and is_sealed_right
     order by queue_id, "key", n
        on conflict (queue_id, idempotency_key) where idempotency_key is not null do nothing
    returning id, queue_id, scheduled_for
  )
  select (select json_build_object(
                   'createdAt', extract(epoch from v_now) * 1000,
                   'ids', json_agg(answer.created_id), 'queueIds', json_agg(answer.queue_id),
                   'others', json_agg(json_build_object(
                     'outcome', case when queue_id is null then 'queue_not_found'
                                     when existing_id is not null then 'existing'
                                     when is_refused then 'limit_reached'
                                     when is_sealed_right then 'retry'
                                     when payloads_encrypted then 'seal'
                                     else 'unseal' end,
                     'index', n - 1, 'id', existing_id, 'status', status,
                     'createdAt', extract(epoch from created_at) * 1000)) filter (where created_id is null))
            from (select item.n, item.queue_id, item.payloads_encrypted, item.is_sealed_right, created.id as created_id,
                         existing.id as existing_id, existing.status, existing.created_at, refused.n is not null as is_refused
                    from item
                    left join existing on existing.n = item.n
                    left join refused on refused.n = item.n
                    left join created on created.id = item.id
                   order by item.n) answer),
         w.queues, w.dues
    into v_result, v_queues, v_dues
    from (select array_agg(queue_id order by queue_id, due) as queues, array_agg(due order by queue_id, due) as dues
            from (select queue_id, min(scheduled_for) as due
                    from created group by queue_id, date_trunc('second', scheduled_for)) s) w;

  for i in 1..coalesce(cardinality(v_queues), 0) loop
    perform jobferry_wake('deliver', v_queues[i], v_dues[i]);
  end loop;
  return v_result;
end
$$;

-- Claim -------------------------------------------------------------------------------------------
-- Up to p_max due jobs of a queue, locked, that can still be delivered in time, while the queue has pending jobs that
-- cannot, and maybe a million. So it looks at few of those that are due for longest, and at some hundreds at most of those
-- whose lifetimes end next: the latter are found behind any number whose lifetimes have ended.
create function jobferry_pick_in_time(p_queue text, p_at timestamptz, p_max integer, p_bytes integer) returns text[]
language sql
as $$
  with found as materialized (
    (select due.id from (
       select job.id, job.deliver_by from job
        where job.queue_id = p_queue and job.status = 'pending' and job.scheduled_for <= p_at
        order by job.scheduled_for, job.id limit p_max + 50) due
      where due.deliver_by > p_at)
     union
    (select in_time.id from (
       select job.id, job.scheduled_for from job
        where job.queue_id || '' = p_queue and job.status = 'pending' and job.deliver_by > p_at
        order by job.queue_id || '', job.deliver_by limit p_max + 500) in_time
      where in_time.scheduled_for <= p_at limit p_max)
  ), taken as (
    select job.id, job.scheduled_for, octet_length(job.payload) as bytes
      from found join job on job.id = found.id and job.status = 'pending'
     order by job.scheduled_for, job.id limit p_max for no key update of job skip locked
  ), sized as (
    select id, scheduled_for, sum(bytes) over (order by scheduled_for, id) - bytes as bytes_before from taken
  )
  select coalesce(array_agg(id order by scheduled_for, id), '{}') from sized where bytes_before < p_bytes
$$;

-- What a queue lets go: `ids` of up to p_capacity due jobs, which are locked, never more than concurrency, rate
-- window, hold and probe allow, over any number of workers. `wait_ms` says when another claim can give
-- something without any other event; null means that only an event (a settle, an edit) can, and infinity
-- that nothing is left. `wakes_at` is a wake-up that the caller has to ask for.
--
-- The advisory lock comes first and alone: what is counted in a later statement has a snapshot from
-- after it, so it sees what the previous holder committed. The row lock on the queue orders claims against
-- edits, holds and deletion. Neither is waited for, or one queue that somebody holds would stop all that are
-- asked for together with it: such a queue gives nothing now, and more with the next claim (wait_ms 0).
create function jobferry_pick(
  p_queue text, p_capacity integer, p_bytes integer,
  out picked_at timestamptz, out is_deleted boolean, out account_id text, out ids text[], out is_probe boolean,
  out wait_ms float8, out wakes_at timestamptz
)
language plpgsql
as $$
declare
  q queue%rowtype;
  v_slots integer;
  v_room integer;
  v_waits_for_event boolean := false;
  v_past_lifetime boolean;
  v_window_end timestamptz;
  v_not_before timestamptz;
  v_next timestamptz;
begin
  ids := '{}';
  is_probe := false;
  if pg_try_advisory_xact_lock(hashtextextended('jobferry claim ' || p_queue, 0)) then
    select * into q from queue where queue.id = p_queue for no key update skip locked;
  end if;
  picked_at := jobferry_now();
  if q.id is null then
    is_deleted := not exists (select from queue where queue.id = p_queue);
    if not is_deleted then wait_ms := 0; end if;
    return;
  end if;
  account_id := q.account_id;
  is_deleted := q.deleted_at is not null;
  if is_deleted then return; end if;

  -- In flight = processing + awaiting_ack (D11).
  select q.concurrency - count(*) into v_slots
    from job where job.queue_id = p_queue and job.status in ('processing', 'awaiting_ack');
  v_room := least(v_slots, p_capacity);
  v_waits_for_event := v_slots <= 0;

  if q.paused_at is not null then
    v_room := 0;
    v_waits_for_event := true;
  end if;

  -- The overlap of a rotation is over: the next secret is the current one.
  if q.next_signing_secret_at <= picked_at then
    update queue set signing_secret = next_signing_secret, next_signing_secret = null, next_signing_secret_at = null
     where queue.id = p_queue;
  end if;

  -- A held queue releases one job when the hold has ended, and no other before that one ended (D14).
  if q.probe_job_id is not null then
    perform from job where job.id = q.probe_job_id and job.status in ('processing', 'awaiting_ack');
    if found then
      v_room := 0;
      v_waits_for_event := true;
    else
      q.probe_job_id := null; -- removed by retention: it can no longer say anything
      if q.hold_until <= picked_at then q.hold_until := null; end if;
      update queue set probe_job_id = null, hold_until = q.hold_until where queue.id = p_queue;
    end if;
  end if;
  if q.probe_job_id is null and q.hold_until is not null then
    if q.hold_until > picked_at then
      v_room := 0;
      v_not_before := q.hold_until;
    else
      v_room := least(v_room, 1);
      is_probe := true;
    end if;
  end if;

  -- Fixed windows aligned to the epoch (D16). numeric: a float would misjudge a window's first instant.
  if q.rate_limit_max is not null then
    declare
      v_length numeric := q.rate_limit_window::numeric;
      v_start numeric := floor(extract(epoch from picked_at) / v_length) * v_length;
    begin
      if q.rate_window_start is distinct from to_timestamp(v_start::float8)::timestamptz(3) then
        q.rate_window_start := to_timestamp(v_start::float8);
        q.rate_window_used := 0;
      end if;
      v_window_end := to_timestamp(ceil((v_start + v_length) * 1000)::float8 / 1000);
      v_room := least(v_room, q.rate_limit_max - q.rate_window_used);
    end;
  end if;

  v_past_lifetime := coalesce(q.lifetime_floor <= picked_at, true) and coalesce(picked_at >= (
    select job.deliver_by from job where job.queue_id || '' = p_queue and job.status = 'pending'
     order by job.queue_id || '', job.deliver_by limit 1), false);
  if v_room > 0 and not v_past_lifetime then
    -- Large payloads come a few at a time: a worker's memory is bounded, whatever customers publish.
    ids := array(
      select due.id
        from (select taken.id, taken.scheduled_for,
                     sum(taken.bytes) over (order by taken.scheduled_for, taken.id) - taken.bytes as bytes_before
                from (select job.id, job.scheduled_for, octet_length(job.payload) as bytes from job
                       where job.queue_id = p_queue and job.status = 'pending' and job.scheduled_for <= picked_at
                         -- One that came back from a dead worker since the look above.
                         and greatest(job.deliver_by, q.lifetime_floor) > picked_at
                       order by job.scheduled_for, job.id
                       limit v_room
                         for no key update skip locked) taken) due
       where due.bytes_before < p_bytes
       order by due.scheduled_for, due.id);
  elsif v_room > 0 then
    ids := jobferry_pick_in_time(p_queue, picked_at, v_room, p_bytes);
  end if;

  if cardinality(ids) > 0 then
    q.rate_window_used := q.rate_window_used + cardinality(ids);
    if is_probe then
      q.probe_job_id := ids[1];
      v_waits_for_event := true;
    end if;
    if is_probe or q.rate_limit_max is not null then
      update queue set rate_window_start = q.rate_window_start, rate_window_used = q.rate_window_used,
                       probe_job_id = q.probe_job_id
       where queue.id = p_queue;
    end if;
    v_waits_for_event := v_waits_for_event or cardinality(ids) >= v_slots;
  end if;
  if v_waits_for_event then return; end if;

  if q.rate_limit_max is not null and q.rate_window_used >= q.rate_limit_max then
    v_not_before := greatest(v_not_before, v_window_end);
  end if;
  if v_past_lifetime then
    -- What is next would be found behind all of those, whose lifetimes the reconciler ends meanwhile.
    wait_ms := greatest(case when cardinality(ids) > 0 then 0 else 250 end,
                        extract(epoch from v_not_before - picked_at) * 1000);
    if v_not_before - picked_at >= interval '2 seconds' then wakes_at := v_not_before; end if;
    return;
  end if;
  select job.scheduled_for into v_next from job
   where job.queue_id = p_queue and job.status = 'pending' and job.id <> all (ids)
   order by job.scheduled_for limit 1;
  if v_next is null then
    wait_ms := 'infinity';
    return;
  end if;
  wait_ms := greatest(0, extract(epoch from greatest(v_next, v_not_before) - picked_at) * 1000);
  -- A job's own wake-up has been used up when it is the hold or the window that stops it. What is
  -- nearer than a wake-up's lead belongs to the caller's timer: a row that fires at once would
  -- only bring the next claim to this line, round and round until the moment has come.
  if v_not_before > v_next and v_not_before - picked_at >= interval '2 seconds' then wakes_at := v_not_before; end if;
end
$$;

-- Takes due jobs of each of the queues for a worker: of the queue at position i up to p_capacities[i] jobs, and no more
-- after the one with which their payloads reach p_bytes[i]. For each queue at least one row comes back: its claimed jobs,
-- in any order, or one row without a job. What it may have to wait for is taken in the order in which settles and
-- publishes take it, too: wake-ups by task, queue and time, accounts by id.
create function jobferry_claim(
  p_queues text[], p_capacities integer[], p_bytes integer[], p_worker integer, p_lease interval
)
returns table (
  queue_id text, claimed_at timestamptz, wait_ms float8, queue_deleted boolean,
  id text, claim_token bigint, account_id text, queue_name text, webhook_url text, signing_secret text,
  payload text, created_at timestamptz, scheduled_for timestamptz, deliver_by timestamptz, last_error text,
  attempts integer, max_attempts integer, defer_count integer, short_holds integer, interruptions integer,
  backoff_type text, backoff_delay float8,
  mode text, max_defers integer, ack_timeout float8, ack_timeout_action text, is_probe boolean,
  next_signing_secret text
)
language plpgsql
set enable_seqscan = off -- as in jobferry_settle
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_asked record;
  v_pick record;
  -- Of queues that let jobs go, at the same positions.
  v_queues text[] := '{}';
  v_times timestamptz[] := '{}';
  v_waits float8[] := '{}';
  v_probes boolean[] := '{}';
  v_accounts text[] := '{}';
  v_counts integer[] := '{}';
  v_ids text[] := '{}';
  v_waking text[] := '{}';
  v_wakes timestamptz[] := '{}';
begin
  for v_asked in
    select * from unnest(p_queues, p_capacities, p_bytes) as asked(queue, jobs, bytes) order by asked.queue collate "C"
  loop
    v_pick := jobferry_pick(v_asked.queue, v_asked.jobs, v_asked.bytes);
    if v_pick.wakes_at is not null then
      v_waking := v_waking || v_asked.queue;
      v_wakes := v_wakes || v_pick.wakes_at;
    end if;
    if cardinality(v_pick.ids) = 0 then
      queue_id := v_asked.queue;
      claimed_at := v_pick.picked_at;
      wait_ms := v_pick.wait_ms;
      queue_deleted := v_pick.is_deleted;
      return next;
    else
      v_queues := v_queues || v_asked.queue;
      v_times := v_times || v_pick.picked_at;
      v_waits := v_waits || v_pick.wait_ms;
      v_probes := v_probes || v_pick.is_probe;
      v_accounts := v_accounts || v_pick.account_id;
      v_counts := v_counts || cardinality(v_pick.ids);
      v_ids := v_ids || v_pick.ids;
    end if;
  end loop;

  if cardinality(v_ids) > 0 then
    return query
      update job set status = 'processing', attempts = job.attempts + 1,
                     claim_token = nextval('jobferry_claim_token_seq'), worker_id = p_worker,
                     claimed_at = v_times[array_position(v_queues, job.queue_id)],
                     deadline = v_times[array_position(v_queues, job.queue_id)] + p_lease,
                     mode = q.mode, max_defers = q.max_defers, ack_timeout_action = q.ack_timeout_action,
                     wait_reason = null, progress = null, progress_at = null
        from queue q
       where job.id = any (v_ids) and q.id = job.queue_id
      returning job.queue_id, job.claimed_at::timestamptz, v_waits[array_position(v_queues, job.queue_id)], false,
                job.id, job.claim_token, job.account_id, q.name, q.webhook_url, q.signing_secret,
                job.payload, job.created_at::timestamptz, job.scheduled_for::timestamptz,
                greatest(job.deliver_by, q.lifetime_floor)::timestamptz, job.last_error,
                job.attempts, job.max_attempts, job.defer_count, job.short_holds, job.interruptions,
                job.backoff_type, job.backoff_delay,
                job.mode, job.max_defers, q.ack_timeout, job.ack_timeout_action,
                v_probes[array_position(v_queues, job.queue_id)], q.next_signing_secret;
  end if;
  for i in 1..cardinality(v_waking) loop
    perform jobferry_wake('deliver', v_waking[i], v_wakes[i]);
  end loop;
  for i in 1..cardinality(v_queues) loop
    perform jobferry_wake('timeout', v_queues[i], v_times[i] + p_lease);
  end loop;
  -- Last, because claims of all queues of an account meet at this row.
  if cardinality(v_ids) > 0 then
    insert into usage as u (account_id, month, attempts)
    select taken.account_id, jobferry_month(taken.at), sum(taken.jobs)
      from unnest(v_accounts, v_times, v_counts) as taken(account_id, at, jobs) group by 1, 2 order by 1, 2
    on conflict (account_id, month) do update set attempts = u.attempts + excluded.attempts;
  end if;
end
$$;

-- What two errors have in common when only ids and numbers differ; the status code is kept apart. Ids are
-- hexadecimal with digits and letters (a UUID has dashes in it), or long. They and numbers become the same
-- mark, because an id may consist of digits only.
create function jobferry_normalised(p_error text) returns text
language sql immutable
as $$
  select left(regexp_replace(regexp_replace(lower(left(coalesce(p_error, ''), 1000)),
                '(?<![0-9a-z])((?=[0-9a-f-]*[0-9])(?=[0-9a-f-]*[a-f])[0-9a-f]{4,}(-?[0-9a-f]{4,})*|(?=[a-z]*[0-9])[0-9a-z]{16,})(?![0-9a-z])',
                '<n>', 'g'),
              '[0-9]+(\.[0-9]+)?', '<n>', 'g'), 200)
$$;

-- Dead letters with the same fingerprint form an error group.
create function jobferry_fingerprint(p_reason text, p_code integer, p_error text) returns text
language sql immutable
as $$ select left(md5(p_reason || '|' || coalesce(p_code::text, '') || '|' || jobferry_normalised(p_error)), 16) $$;

-- Settle ------------------------------------------------------------------------------------------
-- Writes a batch of transitions of any queues. Each applies only where status and claim token are
-- still what the decision was based on; the answer is the list of ids that were applied. An id that
-- is missing lost a race, which is normal. Waits are relative, so that nothing is ever early.
create function jobferry_settle(p_items json) returns text[]
language plpgsql
-- A batch is small and the table is not: without this the planner, which guesses 100 rows for any
-- JSON, reads the whole table while that is still small enough to look cheap. A session keeps the plans of its first
-- deliveries; those of a new database sorted all pending jobs, because few rows in a small index looked cheaper than
-- the first one in a larger index that has the order.
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  v_now timestamptz;
  v_applied text[];
  v_effects json;
  v_freed text[];
  v_returned json;
  v_row record;
begin
  -- The clock comes after the wait for whoever holds the whole table, or that wait would count as backoff.
  lock table job in row exclusive mode;
  v_now := jobferry_now();
  with item as materialized (
    select * from json_to_recordset(p_items) as i(
      id text, expected text, token bigint,
      status text, attempts integer, "deferCount" integer, "shortHolds" integer, interruptions integer, "waitMs" float8,
      "lastError" text, "deadReason" text,
      "entryAttempt" integer, "entryStatus" text, "entryError" text, "entryCode" integer,
      "answerCode" integer, "answerMs" integer, "answerBody" text,
      effect text, "effectMs" float8)
  ), decided as materialized (
    -- A job must not go back to a queue that is gone (D17).
    select item.*, j.queue_id,
           q.dlq_enabled and q.deleted_at is null as keeps_dead_letters,
           case when item.status = 'pending' and q.deleted_at is not null then 'dead' else item.status end as final,
           case when item.status = 'pending' and q.deleted_at is not null then 'queue_deleted'
                else item."deadReason" end as reason,
           j.answer_ms, j.answer_body,
           -- How late the delivery began, whatever the reason.
           least(greatest(extract(epoch from j.claimed_at - j.scheduled_for) * 1000, 0), 2147483647)::integer as wait_ms
      from item
      join job j on j.id = item.id and j.status = item.expected and j.claim_token = item.token
      join queue q on q.id = j.queue_id
     -- Nested loops keep this order, so rows are locked by id, and two batches cannot deadlock.
     order by item.id
  ), settled as (
    update job set
      status = d.final, attempts = d.attempts, defer_count = d."deferCount", short_holds = coalesce(d."shortHolds", 0),
      interruptions = d.interruptions,
      last_error = case when d.reason = 'queue_deleted' then d.reason else d."lastError" end,
      dead_reason = d.reason,
      scheduled_for = case when d.final = 'pending' then v_now + d."waitMs" * interval '1 millisecond'
                           else job.scheduled_for end,
      deadline = case when d.final = 'awaiting_ack' then v_now + d."waitMs" * interval '1 millisecond' end,
      completed_at = case when d.final = 'completed' then v_now end,
      dead_at = case when d.final = 'dead' then v_now end,
      wait_reason = case when d.final <> 'pending' then null
                         when d."entryStatus" = 'deferred' then 'hold'
                         when d."entryStatus" is not null then 'backoff' end,
      worker_id = null,
      history_count = job.history_count + case when d."entryStatus" is null then 0 else 1 end,
      answer_status_code = case when d.final = 'awaiting_ack' then d."answerCode" end,
      answer_ms = case when d.final = 'awaiting_ack' then d."answerMs" end,
      answer_body = case when d.final = 'awaiting_ack' then d."answerBody" end
    from decided d
    where job.id = d.id and job.status = d.expected and job.claim_token = d.token
    returning job.id, job.queue_id, job.status, job.last_error, job.scheduled_for, job.deadline, job.history_count,
              d.expected, d.keeps_dead_letters, d.reason, d.effect, d."effectMs",
              d."entryAttempt", d."entryStatus", d."entryError", d."entryCode", d.wait_ms,
              coalesce(d."answerMs", d.answer_ms) as duration_ms, coalesce(d."answerBody", d.answer_body) as body
  ), entries as (
    insert into attempt (job_id, ordinal, queue_id, attempt, status, error, webhook_status_code, "timestamp",
                         duration_ms, wait_ms, response_body)
    select s.id, s.history_count, s.queue_id, s."entryAttempt", s."entryStatus", s."entryError", s."entryCode", v_now,
           s.duration_ms, s.wait_ms, s.body
      from settled s
     where s."entryStatus" is not null
  ), letters as (
    insert into dead_letter (id, job_id, queue_id, reason, error, webhook_status_code, fingerprint, dead_at)
    select jobferry_id(v_now), s.id, s.queue_id, s.reason, s.last_error, s."entryCode",
           jobferry_fingerprint(s.reason, s."entryCode", s.last_error), v_now
      from settled s
     -- A dead letter is a delivery that failed; a cancelled job is what somebody asked for.
     where s.status = 'dead' and s.keeps_dead_letters and s.reason <> 'cancelled'
     order by s.id
  )
  select array_agg(s.id),
         json_agg(json_build_object('queueId', s.queue_id, 'id', s.id, 'effect', s.effect, 'ms', s."effectMs",
                                    'error', s."entryError")) filter (where s.effect is not null),
         array_agg(distinct s.queue_id) filter (where s.expected <> 'pending' and s.status <> 'awaiting_ack'),
         json_agg(json_build_object(
           'task', case s.status when 'pending' then 'deliver' else 'timeout' end, 'queueId', s.queue_id,
           'due', case s.status when 'pending' then s.scheduled_for else s.deadline end))
           filter (where s.status in ('pending', 'awaiting_ack'))
    into v_applied, v_effects, v_freed, v_returned
    from settled s;
  if v_applied is null then return '{}'; end if;

  -- All queue rows before any wake-up: a claim holds a queue row and then asks for wake-ups.
  if v_effects is not null then
    for v_row in
      select "queueId" as queue_id, id, effect, ms, error
        from json_to_recordset(v_effects) as a(id text, "queueId" text, effect text, ms float8, error text)
       order by 1, 2
    loop
      if v_row.effect = 'hold' then
        update queue set hold_until = greatest(hold_until, v_now + v_row.ms * interval '1 millisecond'),
                         hold_job_id = case when v_now + v_row.ms * interval '1 millisecond' < hold_until
                                            then hold_job_id else v_row.id end,
                         hold_reason = case when v_now + v_row.ms * interval '1 millisecond' < hold_until
                                            then hold_reason else v_row.error end,
                         probe_job_id = nullif(probe_job_id, v_row.id)
         where id = v_row.queue_id;
      else
        update queue set hold_until = case when hold_until > v_now then hold_until end, probe_job_id = null
         where id = v_row.queue_id and probe_job_id = v_row.id;
      end if;
    end loop;
  end if;

  -- A freed slot may let a waiting job go. Jobs that are due within a wake-up's lead may have used up theirs
  -- while the queue was full.
  for v_row in
    select task, queue_id, min(due) as due
      from (select task, "queueId" as queue_id, due
              from json_to_recordset(v_returned) as returned(task text, "queueId" text, due timestamptz)
            union all
            -- "The first one" and not "exists": that may read all jobs that the queue ever had.
            select 'deliver', freed.queue_id, v_now
              from unnest(v_freed) as freed(queue_id), lateral (
                select job.scheduled_for from job where job.queue_id = freed.queue_id and job.status = 'pending'
                 order by job.scheduled_for, job.id limit 1) first
             where first.scheduled_for <= v_now + interval '2 seconds') waking
     group by 1, 2, date_trunc('second', due) order by 1, 2, 3
  loop
    perform jobferry_wake(v_row.task, v_row.queue_id, v_row.due);
  end loop;
  return v_applied;
end
$$;

-- Replay ------------------------------------------------------------------------------------------
-- New jobs from dead letters of a queue (D19): p_ids, or with null the oldest p_max not yet replayed, and of these as
-- many as have p_bytes of payload. One answer per entry: replayed | already_replayed | not_found | postponed, or
-- limit_reached for all. `postponed` are those for which p_bytes did not suffice. `remaining` counts what is left, up
-- to p_count.
create function jobferry_replay(
  p_queue text, p_ids text[], p_max integer, p_limit bigint, p_retention interval, p_lifetime interval,
  p_count integer default 5000000, p_bytes integer default 33554432
) returns json
language plpgsql
set enable_seqscan = off -- as in jobferry_settle
as $$
declare
  v_now timestamptz := jobferry_now();
  -- Worked out once: a plan that is kept would do it for each row.
  v_first text := jobferry_first_id(v_now - p_retention);
  q queue%rowtype;
  v_taken text[];
  v_jobs json;
begin
  select * into q from queue where id = p_queue and deleted_at is null for key share;
  if q.id is null then return json_build_object('outcome', 'queue_deleted'); end if;
  if jobferry_limit_reached(q.account_id, p_limit, v_now) then
    return json_build_object('outcome', 'limit_reached');
  end if;
  -- Retention is compared "is true", so that no index on jobs is asked for it, which knows those of all queues.
  if p_ids is null then
    -- Entries that a racing call is replaying are its own.
    v_taken := array(
      select id from dead_letter
       where queue_id = p_queue and replayed_at is null
         and (job_id >= v_first or dead_at >= greatest(jobferry_created_at(job_id) + p_retention, v_now - p_lifetime))
       order by id limit p_max for no key update skip locked);
  else
    -- Wait for racing calls instead: the loser then sees "already replayed".
    perform from dead_letter where queue_id = p_queue and id = any (p_ids) order by id for no key update;
    v_taken := array(
      select id from dead_letter
       where queue_id = p_queue and id = any (p_ids) and replayed_at is null
         and (job_id >= v_first or dead_at >= greatest(jobferry_created_at(job_id) + p_retention, v_now - p_lifetime))
       order by id);
  end if;
  v_taken := array(
    select sized.id
      from (select d.id, sum(octet_length(j.payload)) over (order by d.id) - octet_length(j.payload) as bytes_before
              from dead_letter d join job j on j.id = d.job_id where d.id = any (v_taken)) sized
     where sized.bytes_before < p_bytes order by sized.id);

  with source as materialized (
    select d.id as letter_id, jobferry_id(v_now) as new_id, j.id as job_id, j.account_id, j.payload, j.payload_key
      from dead_letter d join job j on j.id = d.job_id
     where d.id = any (v_taken) order by d.id
  ), created as (
    insert into job (id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, payload, payload_key,
                     scheduled_for, deliver_by, created_at, replay_of)
    select new_id, account_id, p_queue, q.max_attempts, q.backoff_type, q.backoff_delay, payload, payload_key,
           v_now, v_now + p_lifetime, v_now, job_id
      from source
  ), marked as (
    update dead_letter set replayed_at = v_now, replayed_job_id = s.new_id
      from source s where dead_letter.id = s.letter_id
  )
  select json_agg(json_build_object('id', letter_id, 'replayedJobId', new_id) order by letter_id)
    into v_jobs from source;
  if v_jobs is not null then perform jobferry_wake('deliver', p_queue, v_now); end if;

  return json_build_object(
    'outcome', 'done',
    'createdAt', extract(epoch from v_now) * 1000,
    'jobs', coalesce(v_jobs, '[]'),
    'skipped', (select coalesce(json_agg(json_build_object('id', asked.id, 'reason',
                   case when d.id is null then 'not_found' when d.replayed_at is null then 'postponed'
                        else 'already_replayed' end) order by asked.n), '[]')
                  from unnest(p_ids) with ordinality as asked(id, n)
                  left join dead_letter d on d.id = asked.id and d.queue_id = p_queue
                        and (d.job_id >= v_first
                             or d.dead_at >= greatest(jobferry_created_at(d.job_id) + p_retention, v_now - p_lifetime))
                 where not exists (select from unnest(v_taken) as taken(id) where taken.id = asked.id)),
    -- Those that were taken are marked by now. Not "id <> all (v_taken)": a plan that is kept compares each of
    -- the others with each of these.
    'remaining', (select count(*) from (
                    select from dead_letter
                     where queue_id = p_queue and replayed_at is null
                       and (job_id >= v_first
                            or dead_at >= greatest(jobferry_created_at(job_id) + p_retention, v_now - p_lifetime))
                     limit p_count) left_over));
end
$$;
