-- What dashboards need beyond the jobs themselves. Nothing here is on the delivery path.

create table audit_entry (
  id          text collate "C" not null default jobferry_id() primary key,
  account_id  text collate "C" not null,
  at          timestamptz(3) not null default jobferry_now(),
  actor_type  text not null,
  actor_id    text collate "C",
  actor_label text not null,
  action      text not null,
  target_type text not null,
  target_id   text collate "C" not null,
  target_name text,
  before      jsonb,
  after       jsonb,
  constraint audit_entry_actor_type_values check (actor_type in ('api_key', 'operator')),
  constraint audit_entry_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
);
create index audit_entry_account_id_id_idx on audit_entry (account_id, id);

-- As the API shows moments.
create function jobferry_iso(at timestamptz) returns text
language sql stable
as $$ select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

-- Writes an entry into the audit log, as part of the transaction of the change that it is about; answers
-- its id. p_actor has type, id and label.
create function jobferry_audit(
  p_account text, p_actor json, p_action text, p_target_type text, p_target_id text,
  p_target_name text default null, p_before jsonb default null, p_after jsonb default null
) returns text
language plpgsql
as $$
declare
  v_now timestamptz := jobferry_now();
  v_id text := jobferry_id(v_now);
begin
  insert into audit_entry (id, account_id, at, actor_type, actor_id, actor_label, action, target_type, target_id,
                           target_name, before, after)
  values (v_id, p_account, v_now, p_actor ->> 'type', p_actor ->> 'id', p_actor ->> 'label', p_action, p_target_type,
          p_target_id, p_target_name, p_before, p_after);
  return v_id;
end
$$;

create table bulk_action (
  id              text collate "C" not null default jobferry_id() primary key,
  account_id      text collate "C" not null,
  queue_id        text collate "C",
  kind            text not null,
  status          text not null default 'running',
  selection       jsonb not null,
  rate_per_second integer,
  canary          boolean not null default false,
  canary_job_id   text collate "C",
  canary_completed_at timestamptz(3),
  matched         integer not null,
  processed       integer not null default 0,
  succeeded       integer not null default 0,
  skipped         integer not null default 0,
  position        text collate "C",
  error           text,
  requested_by    text not null,
  created_at      timestamptz(3) not null default jobferry_now(),
  updated_at      timestamptz(3) not null default jobferry_now(),
  looked_at       timestamptz(3) not null default jobferry_now(),
  finished_at     timestamptz(3),
  constraint bulk_action_kind_values check (kind in ('replay_dead_letters', 'cancel_jobs', 'purge_queue')),
  constraint bulk_action_status_values check (status in ('running', 'completed', 'cancelled', 'failed')),
  constraint bulk_action_finished_has_time check ((status = 'running') = (finished_at is null)),
  constraint bulk_action_rate_bounds check (rate_per_second >= 1),
  constraint bulk_action_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
);
create index bulk_action_account_id_id_idx on bulk_action (account_id, id);
-- What the workers look for.
create index bulk_action_running_idx on bulk_action (id) where status = 'running';

-- Takes a running action for the rest of the transaction. `taken` means that since it was read somebody
-- else has gone on with it: the batch that the caller has in hand is already done, and must not be
-- counted again.
create function jobferry_bulk_take(p_action text, p_processed integer) returns text
language plpgsql
as $$
declare
  v_action record;
begin
  select status, processed into v_action from bulk_action where id = p_action for no key update;
  if v_action.status is distinct from 'running' then return 'ended'; end if;
  return case when v_action.processed = p_processed then 'ours' else 'taken' end;
end
$$;

create function jobferry_bulk_count(p_action text, p_processed integer, p_succeeded integer, p_position text)
returns void
language sql
as $$
  update bulk_action
     set processed = processed + p_processed, succeeded = succeeded + p_succeeded,
         skipped = skipped + p_processed - p_succeeded, matched = greatest(matched, processed + p_processed),
         position = p_position, updated_at = jobferry_now(), looked_at = jobferry_now()
   where id = p_action
$$;

-- A batch of a bulk replay, with its counts: both or neither, whenever the process dies. The answer is
-- that of jobferry_replay, or `ended` or `taken`.
create function jobferry_bulk_replay(
  p_action text, p_processed integer, p_queue text, p_ids text[], p_limit bigint, p_retention interval, p_lifetime interval
) returns json
language plpgsql
as $$
declare
  v_turn text := jobferry_bulk_take(p_action, p_processed);
  v_answer json;
begin
  if v_turn <> 'ours' then return json_build_object('outcome', v_turn); end if;
  -- Nobody asks how many are left.
  v_answer := jobferry_replay(p_queue, p_ids, 0, p_limit, p_retention, p_lifetime, p_count => 0);
  if v_answer ->> 'outcome' = 'done' then
    perform jobferry_bulk_count(p_action, cardinality(p_ids), json_array_length(v_answer -> 'jobs'),
                                p_ids[cardinality(p_ids)]);
    update bulk_action set canary_job_id = v_answer -> 'jobs' -> 0 ->> 'replayedJobId'
     where id = p_action and canary and canary_job_id is null;
  end if;
  return v_answer;
end
$$;

-- The same for a batch of cancellations: p_ids were looked at, p_items are what can be done about them.
-- Answers `done` with the ids that were applied, `ended` or `taken`.
create function jobferry_bulk_settle(p_action text, p_processed integer, p_ids text[], p_items json) returns json
language plpgsql
as $$
declare
  v_turn text := jobferry_bulk_take(p_action, p_processed);
  v_applied text[] := '{}';
begin
  if v_turn <> 'ours' then return json_build_object('outcome', v_turn); end if;
  if json_array_length(p_items) > 0 then v_applied := jobferry_settle(p_items); end if;
  perform jobferry_bulk_count(p_action, cardinality(p_ids), cardinality(v_applied), p_ids[cardinality(p_ids)]);
  return json_build_object('outcome', 'done', 'applied', v_applied);
end
$$;

create table instance (
  id           text collate "C" not null default jobferry_id() primary key,
  role         text not null,
  version      text not null,
  started_at   timestamptz(3) not null default jobferry_now(),
  last_seen_at timestamptz(3) not null default jobferry_now(),
  in_flight    integer not null default 0,
  capacity     integer not null default 0,
  constraint instance_role_values check (role in ('all', 'api', 'worker'))
);

-- When the server last confirmed a worker's lease lock to the worker itself (docs/decisions/0011). Unlogged: it is written
-- twice a second, and after a crash or a failover, where it is empty, no lease lock is left either.
create unlogged table lease_confirmation (
  worker_id    integer not null primary key,
  confirmed_at timestamptz(3) not null
) with (fillfactor = 20);

create table follower (
  name       text collate "C" not null primary key,
  position   text collate "C" not null,
  updated_at timestamptz(3) not null default jobferry_now()
);

-- Payload search -----------------------------------------------------------------------------------
-- Payloads as documents, for conditions on their paths. Written behind the delivery path
-- (jobferry_index_payloads), so a job that was published a moment ago has no row yet; searching parses
-- its payload instead. `doc` has the payload as the only member, named after the queue: then each entry
-- of the index begins with the queue, and what is frequent in one queue costs the others nothing. Null
-- for a payload that is too large or that jsonb cannot hold. `waiting_account` is set while the payload waits
-- for its account's turn (jobferry_index_waiting): until then searches parse it. Without a foreign key: the
-- sweep removes rows by the same range of ids as the jobs, and a job that is swept while it is being indexed
-- must not fail its batch.
create table job_search (
  job_id          text collate "C" not null primary key,
  queue_id        text collate "C" not null,
  doc             jsonb,
  waiting_account text collate "C"
);
create index job_search_waiting_idx on job_search (waiting_account, queue_id, job_id) where waiting_account is not null;
create index job_search_queue_id_job_id_idx on job_search (queue_id, job_id);
-- New entries wait in a list that every search reads, so the list is short.
create index job_search_doc_idx on job_search using gin (doc jsonb_path_ops) with (gin_pending_list_limit = 1024);

insert into follower (name, position) values ('search', ''), ('search-turn', '');

-- A payload as it can be searched, null when it cannot be, as encrypted ones. Never fails: jsonb has neither NUL nor lone
-- surrogates, which become U+FFFD, nor numbers beyond `numeric`, which become null.
create function jobferry_searchable(p_payload text) returns jsonb
language plpgsql immutable strict
as $$
declare
  v_text text;
begin
  if octet_length(p_payload) > 65536 or starts_with(p_payload, 'enc:') then return null; end if;
  begin
    return p_payload::jsonb;
  exception when others then null;
  end;
  -- Without escaped backslashes, each backslash that is left begins an escape.
  v_text := replace(p_payload, '\\', '\u005c');
  v_text := replace(v_text, '\u0000', '\ufffd');
  -- Pairs of surrogates are marked by a character that JSON has nowhere unescaped; halves that are left are lone.
  -- No look-behind: PostgreSQL's takes time that is quadratic in the length of the text.
  v_text := regexp_replace(v_text, '\\(u[dD][89abAB][0-9a-fA-F]{2})\\(u[dD][c-fC-F][0-9a-fA-F]{2})', E'\x01\\1\x01\\2', 'g');
  v_text := regexp_replace(v_text, '\\u[dD][89a-fA-F][0-9a-fA-F]{2}', '\\ufffd', 'g');
  v_text := replace(v_text, E'\x01', '\');
  -- Inside of a text that looks the same it does little harm.
  v_text := regexp_replace(v_text, '([:,[]\s*)-?[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]{5,}(?=\s*[],}])', '\1null', 'g');
  begin
    return v_text::jsonb;
  exception when others then return null;
  end;
end
$$;

-- Makes the next batch of payloads searchable, and returns for how many jobs it wrote a row; 0 when there is
-- nothing to do or another process is at it, or was less than p_pause ago.
--
-- Each account has a share of a batch: p_max jobs and 1 MiB. Where the batch goes on behind an account's share,
-- for the sake of others, the rest of that account waits for its turn (jobferry_index_waiting). With p_parse
-- false every payload of the batch waits: so the position moves on past a payload that makes a batch fail.
--
-- A job has the time of its id, and is seen when its transaction has ended. So the index stays p_lag
-- behind, which is longer than a statement may take, and behind every transaction that writes: a commit
-- can stall. Not more than a minute behind, because a session that somebody forgot must not stop it.
create function jobferry_index_payloads(
  p_max integer, p_pause interval default '0', p_lag interval default '5 s', p_parse boolean default true
) returns integer
language plpgsql
as $$
declare
  v_after text;
  v_updated timestamptz;
  v_oldest interval;
  v_until text;
  v_last text;
  v_count integer;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('jobferry search', 0)) then return 0; end if;
  -- A later statement than the lock, so that it sees what the previous holder committed.
  select position, updated_at into v_after, v_updated from follower where name = 'search';
  if clock_timestamp() - v_updated between interval '0' and p_pause then return 0; end if;
  select max(clock_timestamp() - xact_start) into v_oldest from pg_stat_activity
   where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid();
  v_until := jobferry_first_id(
    jobferry_now() - least(greatest(p_lag, v_oldest + interval '10 ms'), interval '60 s'));

  with next as materialized (
    select id, account_id, queue_id, payload, least(octet_length(payload), 65536) as bytes from job
     where id > v_after and id < v_until order by id limit 4 * p_max
  ), shared as (
    select *, row_number() over own = 1 or row_number() over own <= p_max and sum(bytes) over own <= 1048576 as in_share
      from next window own as (partition by account_id order by id)
  ), counted as materialized (
    select *, count(*) filter (where in_share) over before as n, sum(bytes) filter (where in_share) over before as sum_bytes
      from shared window before as (order by id)
  ), batch as materialized (
    select id, queue_id, payload, account_id, not (in_share and p_parse) as waits from counted
     where id <= (select max(id) from counted where in_share and n <= 2 * p_max and sum_bytes <= 2097152)
  ), written as (
    insert into job_search (job_id, queue_id, doc, waiting_account)
    select id, queue_id, case when document is not null then jsonb_build_object(queue_id, document) end,
           case when waits then account_id end
      from (select *, case when not waits then jobferry_searchable(payload) end as document from batch) parsed
     order by id
        on conflict (job_id) do nothing
  )
  select count(*), max(id) into v_count, v_last from batch;
  if v_last is not null then
    update follower set position = v_last, updated_at = clock_timestamp() where name = 'search';
  end if;
  return v_count;
end
$$;

-- Makes payloads searchable that wait for their account's turn: up to p_max jobs and p_bytes of one account, then
-- of the next. Returns how many. p_give_up: they are to be unsearchable, because indexing them failed repeatedly.
create function jobferry_index_waiting(
  p_max integer, p_bytes integer, p_pause interval default '0', p_give_up boolean default false
) returns integer
language plpgsql
as $$
declare
  v_before text;
  v_updated timestamptz;
  v_account text;
  v_count integer;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('jobferry search', 0)) then return 0; end if;
  select position, updated_at into v_before, v_updated from follower where name = 'search-turn';
  if clock_timestamp() - v_updated between interval '0' and p_pause then return 0; end if;
  select waiting_account into v_account from job_search
   where waiting_account > v_before order by waiting_account limit 1;
  if v_account is null then
    select waiting_account into v_account from job_search where waiting_account is not null order by waiting_account limit 1;
  end if;
  if v_account is null then return 0; end if;

  with next as (
    select job_id, queue_id from job_search
     where waiting_account = v_account order by queue_id, job_id limit p_max
  ), sized as (
    select next.job_id, job.payload, row_number() over before as n,
           sum(least(octet_length(job.payload), 65536)) over before as bytes
      from next left join job on job.id = next.job_id
    window before as (order by next.queue_id, next.job_id)
  ), parsed as materialized (
    select job_id, case when not p_give_up then jobferry_searchable(payload) end as document
      from sized where n = 1 or bytes <= p_bytes
  )
  update job_search s
     set waiting_account = null, doc = case when document is not null then jsonb_build_object(s.queue_id, document) end
    from parsed where s.job_id = parsed.job_id;
  get diagnostics v_count = row_count;
  update follower set position = v_account, updated_at = clock_timestamp() where name = 'search-turn';
  return v_count;
end
$$;

-- Statistics ---------------------------------------------------------------------------------------
-- What the attempts of five minutes say, kept so that a chart of a day does not read a million rows. The
-- statistics follow the attempts some seconds behind (jobferry_roll_up), off the delivery path; readers add
-- the attempts since then themselves (jobferry_stats_until), so what they show is never behind. Without
-- foreign keys: a queue that is swept must not wait for its statistics, which go by themselves.
create table queue_stats (
  queue_id     text collate "C" not null,
  bucket       timestamptz(3) not null,
  success      integer not null default 0,
  failed       integer not null default 0,
  nacked       integer not null default 0,
  deferred     integer not null default 0,
  dead         integer not null default 0,
  answered_2xx integer not null default 0,
  answered_3xx integer not null default 0,
  answered_4xx integer not null default 0,
  answered_5xx integer not null default 0,
  unauthorized integer not null default 0,
  backpressure integer not null default 0,
  unanswered   integer not null default 0,
  durations    integer[] not null default '{}',
  waits        integer[] not null default '{}',
  primary key (queue_id, bucket)
);
create index queue_stats_bucket_idx on queue_stats (bucket);

create table queue_completed (
  queue_id       text collate "C" not null,
  created_bucket timestamptz(3) not null,
  completed      integer not null default 0,
  primary key (queue_id, created_bucket)
);
create index queue_completed_created_bucket_idx on queue_completed (created_bucket);

-- Five minutes, aligned to the epoch.
create function jobferry_bucket(at timestamptz) returns timestamptz
language sql immutable parallel safe
as $$ select date_bin('300 s', at, to_timestamp(0)) $$;

-- In which element of a histogram a value counts: floor(4 * log2(max(value, 1))) (src/domain/histogram). The last
-- summand is for powers of two, whose logarithms may come out a trifle too small.
create function jobferry_histogram_element(p_value integer) returns integer
language sql immutable parallel safe
as $$
  select case when p_value is not null
              then floor(4 * ln(greatest(p_value, 1)::float8) / ln(2::float8) + 1e-12)::integer end
$$;

-- From elements, null for no value, and how many values each of them stands for; an element may come repeatedly.
create function jobferry_histogram(p_elements integer[], p_counts integer[]) returns integer[]
language sql immutable parallel safe
as $$
  with counted as materialized (
    select e as n, sum(amount)::integer as amount
      from unnest(p_elements, p_counts) as u(e, amount) where e is not null group by 1)
  select array(select coalesce(c.amount, 0)
                 from generate_series(0, (select max(n) from counted)) s(n) left join counted c on c.n = s.n
                order by s.n)
$$;

create function jobferry_histogram_sum(a integer[], b integer[]) returns integer[]
language sql immutable parallel safe
as $$
  select array(select coalesce(x, 0) + coalesce(y, 0)
                 from rows from (unnest(a), unnest(b)) with ordinality as u(x, y, n) order by n)
$$;

-- What the attempts in [p_from, p_to) say per queue and five minutes; p_queues null means all queues. The one
-- definition of the statistics: what is rolled up, and what readers add to it. Stable, so that within a
-- statement it sees what the rest of the statement sees.
create function jobferry_attempt_stats(p_from timestamptz, p_to timestamptz, p_queues text[] default null)
returns setof queue_stats
language plpgsql stable
set enable_seqscan = off -- the planner takes an unknown bound of time for a third of the table
set plan_cache_mode = force_custom_plan -- and for so few rows that it would sort them, which took thrice as long
as $$
begin
  return query
    -- Most attempts are like many others. Ten counts and two arrays for each took twice as long.
    with alike as materialized (
      select a.queue_id as of_queue, jobferry_bucket(a."timestamp")::timestamptz(3) as span, a.status,
             a.webhook_status_code as code, a.error is not distinct from 'worker_lost' as lost,
             jobferry_histogram_element(a.duration_ms) as duration, jobferry_histogram_element(a.wait_ms) as wait,
             count(*)::integer as n,
             -- Deaths that an attempt brought. A success never does; of the others the job tells. It may have
             -- been buried later, though, without an attempt: then the reason is not what the attempt says.
             -- Deleting a queue and cancelling are somebody's wish.
             (count(*) filter (where case when a.status <> 'success' then (
                select j.status = 'dead' and j.history_count = a.ordinal
                       and (j.dead_reason in ('attempts_exhausted', 'nacked', 'ack_timeout')
                            or j.dead_reason = a.error and j.dead_reason not in ('cancelled', 'queue_deleted'))
                  from job j where j.id = a.job_id) end))::integer as deaths
        from attempt a
       where a."timestamp" >= p_from and a."timestamp" < p_to and (p_queues is null or a.queue_id = any (p_queues))
       group by 1, 2, 3, 4, 5, 6, 7
    )
    select of_queue, span,
           coalesce(sum(n) filter (where status = 'success'), 0)::integer,
           coalesce(sum(n) filter (where status = 'failed'), 0)::integer,
           coalesce(sum(n) filter (where status = 'nacked'), 0)::integer,
           coalesce(sum(n) filter (where status = 'deferred'), 0)::integer,
           sum(deaths)::integer,
           coalesce(sum(n) filter (where code between 200 and 299), 0)::integer,
           coalesce(sum(n) filter (where code between 300 and 399), 0)::integer,
           coalesce(sum(n) filter (where code between 400 and 499 and code not in (401, 429)), 0)::integer,
           coalesce(sum(n) filter (where code >= 500 and code not in (503, 529)), 0)::integer,
           coalesce(sum(n) filter (where code = 401), 0)::integer,
           coalesce(sum(n) filter (where code in (429, 503, 529)), 0)::integer,
           -- A lost worker is our fault, and says nothing of the receiver.
           coalesce(sum(n) filter (where code is null and not lost), 0)::integer,
           jobferry_histogram(array_agg(duration), array_agg(n)), jobferry_histogram(array_agg(wait), array_agg(n))
      from alike
     group by 1, 2;
end
$$;

-- What readers add to queue_completed: jobs that the attempts since p_from completed, those with an id of at least
-- p_id, and those with an id from p_first on that is below. Comparing ids takes half as long as reading times
-- out of them.
create function jobferry_completed_since(
  p_from timestamptz, p_first text, p_id text, p_queues text[], out queue_id text, out before bigint, out since bigint
) returns setof record
language plpgsql stable
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select a.queue_id, count(*) filter (where a.job_id < p_id), count(*) filter (where a.job_id >= p_id)
      from attempt a
     where a."timestamp" >= p_from and a.status = 'success' and a.queue_id = any (p_queues)
       and (a.job_id >= p_first) is true
     group by 1;
end
$$;

-- The statistics hold all attempts before this moment and none since. Before the first roll-up they hold
-- nothing, and begin where retention does.
create function jobferry_stats_until(p_retention interval) returns timestamptz
language sql stable
as $$
  select greatest(jobferry_bucket(jobferry_now() - p_retention),
                  (select to_timestamp(position::float8 / 1000)::timestamptz(3) from follower where name = 'stats'))
$$;

-- Adds the attempts since the last time to the statistics; true when more is left. Position and sums move
-- in one transaction and one caller at a time, so each attempt counts exactly once, whoever dies when.
--
-- An attempt has the time at which it was written, and is seen when its transaction has ended. So the
-- statistics stay 5 s behind, which is longer than a statement may take, and behind every transaction that
-- writes: a commit can stall. Not more than a minute behind, because a session that somebody forgot must
-- not stop them.
create function jobferry_roll_up(
  p_retention interval, p_rows integer default 50000, p_lag interval default '5 s'
) returns boolean
language plpgsql
set enable_seqscan = off -- as above
set plan_cache_mode = force_custom_plan
as $$
declare
  v_from timestamptz(3);
  v_until timestamptz(3);
  v_to timestamptz(3);
  v_oldest interval;
  v_rows integer;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('jobferry statistics', 0)) then return false; end if;
  v_from := jobferry_stats_until(p_retention);
  select max(clock_timestamp() - xact_start) into v_oldest from pg_stat_activity
   where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid();
  v_until := date_trunc('milliseconds', jobferry_now()
    - least(greatest(p_lag, v_oldest + interval '10 ms'), interval '60 s'));
  if v_from >= v_until then return false; end if;

  -- So far that it ends within the time-out of a statement.
  v_to := v_until;
  loop
    select count(*) into v_rows
      from (select from attempt where "timestamp" >= v_from and "timestamp" < v_to limit p_rows + 1) a;
    exit when v_rows <= p_rows or v_to - v_from <= interval '1 ms';
    v_to := greatest(date_trunc('milliseconds', v_from + (v_to - v_from) / 8), v_from + interval '1 ms');
  end loop;

  insert into queue_stats as s
  select * from jobferry_attempt_stats(v_from, v_to)
  on conflict (queue_id, bucket) do update set
    success = s.success + excluded.success, failed = s.failed + excluded.failed,
    nacked = s.nacked + excluded.nacked, deferred = s.deferred + excluded.deferred, dead = s.dead + excluded.dead,
    answered_2xx = s.answered_2xx + excluded.answered_2xx, answered_3xx = s.answered_3xx + excluded.answered_3xx,
    answered_4xx = s.answered_4xx + excluded.answered_4xx, answered_5xx = s.answered_5xx + excluded.answered_5xx,
    unauthorized = s.unauthorized + excluded.unauthorized, backpressure = s.backpressure + excluded.backpressure,
    unanswered = s.unanswered + excluded.unanswered,
    durations = jobferry_histogram_sum(s.durations, excluded.durations),
    waits = jobferry_histogram_sum(s.waits, excluded.waits);
  -- A job is completed by exactly one success.
  insert into queue_completed as c
  select a.queue_id, jobferry_bucket(jobferry_created_at(a.job_id))::timestamptz(3), count(*)::integer
    from attempt a
   where a."timestamp" >= v_from and a."timestamp" < v_to and a.status = 'success'
   group by 1, 2
  on conflict (queue_id, created_bucket) do update set completed = c.completed + excluded.completed;
  insert into follower (name, position) values ('stats', (extract(epoch from v_to) * 1000)::bigint::text)
  on conflict (name) do update set position = excluded.position, updated_at = jobferry_now();
  return v_to < v_until;
end
$$;

-- Tells the index on the attempts' time of the pages that are new. Autovacuum does so too, but not before a
-- fifth of the table is new, and until then everybody who asks for the last seconds reads all of that. Whoever
-- holds the lock, most likely autovacuum itself, is not waited for: a longer wait would make it give up.
create function jobferry_index_attempts() returns void
language plpgsql
set lock_timeout = '50ms'
as $$
begin
  perform brin_summarize_new_values('attempt_timestamp_idx'::regclass);
exception when lock_not_available or insufficient_privilege then
  null; -- the next time, or autovacuum
end
$$;

-- The present window of a rate limit, as jobferry_pick has it: aligned to the epoch (D16).
create function jobferry_rate_window(p_length float8, p_at timestamptz, out starts timestamptz, out ends timestamptz)
language sql immutable
as $$
  select to_timestamp(start::float8)::timestamptz(3), to_timestamp(ceil((start + p_length::numeric) * 1000)::float8 / 1000)
    from (select floor(extract(epoch from p_at) / p_length::numeric) * p_length::numeric as start) w
$$;
