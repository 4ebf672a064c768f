-- Attempts that are in the sums already although the position of the roll-up is before them, because the database's
-- clock went back (jobferry_stats_follow_clock): pairs of a moment in milliseconds and a transaction id. Attempts
-- before the moment that an earlier transaction wrote are counted. Null if there are none.
create or replace function jobferry_stats_counted() returns jsonb
language sql stable
as $$ select nullif(position, '[]')::jsonb from follower where name = 'stats-counted' $$;

-- Whether the attempt at p_at, written by the transaction p_writer (its xmin), is one of these. The transactions of
-- pairs and of attempts that are compared are at most a few days old, so the 32 bits of xmin are completed from the
-- present.
create or replace function jobferry_is_counted(p_at timestamptz, p_writer xid, p_counted jsonb) returns boolean
language sql stable
as $$
  select exists (
    select from jsonb_array_elements(p_counted) pair,
                (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000000 as value) top
     where p_at < to_timestamp((pair ->> 0)::float8 / 1000)
       and top.value - ((top.value - p_writer::text::bigint) & 4294967295) < (pair ->> 1)::bigint)
$$;

-- Statistics of the attempts in [p_from, p_to) that are not counted yet, for each queue and five minutes; p_queues null
-- means all queues. Both the roll-up and its readers use this function, so they count alike. It is stable, so it has
-- the snapshot of the calling statement.
create or replace function jobferry_attempt_stats(p_from timestamptz, p_to timestamptz, p_queues text[] default null)
returns setof queue_stats
language plpgsql stable
set enable_seqscan = off -- the planner expects a third of the table for an unknown bound of time
set plan_cache_mode = force_custom_plan -- a generic plan sorts the rows, which took three times as long
as $$
declare
  v_counted jsonb := jobferry_stats_counted();
begin
  return query
    -- Equal attempts are counted together first: computing ten counts and two arrays for each attempt took twice as
    -- long.
    with alike as materialized (
      select a.queue_id as of_queue, jobferry_bucket(a."timestamp")::timestamptz(3) as span, a.status,
             a.webhook_status_code as code, a.error is not distinct from 'worker_lost' as lost,
             jobferry_histogram_element(a.duration_ms) as duration, jobferry_histogram_element(a.wait_ms) as wait,
             count(*)::integer as n,
             -- Deaths that an attempt caused: it is the last of a dead job, and the reason of the death is the
             -- attempt's. A job that died later without an attempt has another reason. Cancelling and deleting a queue
             -- do not count.
             (count(*) filter (where case when a.status <> 'success' then (
                select j.status = 'dead' and j.history_count = a.ordinal
                       and (j.dead_reason in ('attempts_exhausted', 'nacked', 'ack_timeout')
                            or j.dead_reason = a.error and j.dead_reason not in ('cancelled', 'queue_deleted'))
                  from job j where j.id = a.job_id) end))::integer as deaths
        from attempt a
       where a."timestamp" >= p_from and a."timestamp" < p_to and (p_queues is null or a.queue_id = any (p_queues))
         and (v_counted is null or not jobferry_is_counted(a."timestamp", a.xmin, v_counted))
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
           -- A lost worker is a fault of Jobferry and not of the receiver.
           coalesce(sum(n) filter (where code is null and not lost), 0)::integer,
           jobferry_histogram(array_agg(duration), array_agg(n)), jobferry_histogram(array_agg(wait), array_agg(n))
      from alike
     group by 1, 2;
end
$$;

-- Jobs that attempts since p_from completed, which readers add to queue_completed: `since` counts ids from p_id on,
-- `before` those from p_first up to p_id. Comparing ids takes half as long as reading the times from them.
create or replace function jobferry_completed_since(
  p_from timestamptz, p_first text, p_id text, p_queues text[], out queue_id text, out before bigint, out since bigint
) returns setof record
language plpgsql stable
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
as $$
declare
  v_counted jsonb := jobferry_stats_counted();
begin
  return query
    select a.queue_id, count(*) filter (where a.job_id < p_id), count(*) filter (where a.job_id >= p_id)
      from attempt a
     where a."timestamp" >= p_from and a.status = 'success' and a.queue_id = any (p_queues)
       and (a.job_id >= p_first) is true
       and (v_counted is null or not jobferry_is_counted(a."timestamp", a.xmin, v_counted))
     group by 1;
end
$$;

-- When the last attempt of each of the queues ended; queues without an attempt are left out. First the attempts since
-- p_until, which the statistics do not have yet. For the other queues the statistics say in which five minutes the last
-- one ended, and only those are read, once for all queues with the same. Of attempts whose jobs were removed, their
-- start is returned. p_spans is the maximum number of such five minutes, the latest first; null for all.
create or replace function jobferry_last_attempts(
  p_until timestamptz, p_queues text[], p_spans integer, out queue_id text, out ended_at timestamptz
) returns setof record
language plpgsql stable
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
as $$
declare
  v_found text[] := '{}';
  v_span record;
begin
  for queue_id, ended_at in
    select a.queue_id, max(a."timestamp") from attempt a
     where a."timestamp" >= p_until and a.queue_id = any (p_queues) group by 1
  loop
    v_found := v_found || queue_id;
    return next;
  end loop;
  for v_span in
    select last.bucket as starts, array_agg(other.id) as queues
      from unnest(p_queues) other(id)
     cross join lateral (
       select s.bucket from queue_stats s
        where (s.queue_id, s.bucket) >= (other.id, '-infinity') and (s.queue_id, s.bucket) <= (other.id, 'infinity')
        order by s.queue_id desc, s.bucket desc limit 1) last
     where other.id <> all (v_found)
     group by last.bucket order by last.bucket desc limit p_spans
  loop
    return query
      select other.id, coalesce(max(a."timestamp"), v_span.starts)::timestamptz
        from unnest(v_span.queues) other(id)
        left join attempt a on a."timestamp" >= v_span.starts and a."timestamp" < v_span.starts + interval '300 s'
                               and a.queue_id = other.id
       group by other.id;
  end loop;
end
$$;

-- When the last attempt of each queue failed in the last hour, also a probe of an open breaker, and how many succeeded
-- since; nothing of a queue without a failure. p_until: up to when the statistics have all attempts. The statistics
-- tell in which five minutes the last failure was, so the attempts of at most as many five minutes are read as there
-- are different ones, and those after p_until.
create or replace function jobferry_since_failures(
  p_until timestamptz, p_queues text[], out queue_id text, out failed_at timestamptz, out succeeded integer
) returns setof record
language plpgsql stable
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
as $$
declare
  v_first constant timestamptz := jobferry_bucket(jobferry_now() - interval '1 hour');
  v_found text[] := '{}';
  v_span record;
  v_recent jsonb; -- successes since p_until, by queue
begin
  for queue_id, failed_at, succeeded in select f.* from jobferry_failures_in(p_until, 'infinity', p_queues) f loop
    v_found := v_found || queue_id;
    return next;
  end loop;
  select jsonb_object_agg(s.queue_id, s.n) into v_recent
    from (select a.queue_id, count(*) as n from attempt a
           where a."timestamp" >= p_until and a.queue_id = any (p_queues) and a.status = 'success' group by 1) s;
  for v_span in
    select last.bucket as starts, array_agg(other.id) as queues
      from unnest(p_queues) other(id)
     cross join lateral (
       -- Ordered by both columns: for max(bucket) the planner reads the index of all queues' buckets from its end.
       select s.bucket from queue_stats s
        where (s.queue_id, s.bucket) >= (other.id, v_first) and (s.queue_id, s.bucket) <= (other.id, 'infinity')
          -- A failed probe is deferred, with an answer that only failures have otherwise (src/domain/health.ts).
          and (s.failed + s.nacked > 0
               or s.deferred > 0
                  and s.answered_3xx + s.answered_4xx + s.answered_5xx + s.unauthorized + s.unanswered > s.failed)
        order by s.queue_id desc, s.bucket desc limit 1) last
     where other.id <> all (v_found)
     group by last.bucket
  loop
    return query
      select f.queue_id, f.failed_at,
             f.succeeded
               + (select coalesce(sum(s.success), 0) from queue_stats s
                   where (s.queue_id, s.bucket) > (f.queue_id, v_span.starts)
                     and (s.queue_id, s.bucket) <= (f.queue_id, 'infinity'))::integer
               + coalesce((v_recent ->> f.queue_id)::integer, 0)
        from jobferry_failures_in(v_span.starts, least(v_span.starts + interval '300 s', p_until), v_span.queues) f;
  end loop;
end
$$;

-- The last failure of each queue in [p_from, p_to), and how many attempts of this time succeeded after it.
create or replace function jobferry_failures_in(
  p_from timestamptz, p_to timestamptz, p_queues text[], out queue_id text, out failed_at timestamptz, out succeeded integer
) returns setof record
language sql stable
set enable_seqscan = off
as $$
  with ended as materialized (
    select a.queue_id, a."timestamp" as at, a.status,
           a.status in ('failed', 'nacked')
             or a.status = 'deferred' and a.error is distinct from 'worker_lost'
                and coalesce(a.webhook_status_code not between 200 and 299
                             and a.webhook_status_code not in (429, 503, 529), true) as has_failed
      from attempt a
     where a."timestamp" >= p_from and a."timestamp" < p_to and a.queue_id = any (p_queues)
  ), failures as (
    select e.queue_id, max(e.at) as at from ended e where e.has_failed group by 1
  )
  select f.queue_id, f.at, (count(*) filter (where e.status = 'success' and e.at > f.at))::integer
    from failures f join ended e on e.queue_id = f.queue_id group by 1, 2
$$;

-- The moment up to which the statistics have all attempts. Before the first roll-up this is the begin of retention.
create or replace function jobferry_stats_until(p_retention interval) returns timestamptz
language sql stable
as $$
  select greatest(jobferry_bucket(jobferry_now() - p_retention),
                  (select to_timestamp(position::float8 / 1000)::timestamptz(3) from follower where name = 'stats'))
$$;

-- When the database's clock goes back, new attempts get times before the position. The position, which is never ahead
-- of the clock less p_lag, then is. It goes back by a minute more than that, for the attempts that were written before
-- this was noticed. What is in the sums already stays there: until the position has passed the former one again,
-- attempts before that which transactions before the last roll-up wrote are left out (jobferry_is_counted). An earlier
-- pair that has no later moment excludes nothing more.
create or replace function jobferry_stats_follow_clock(p_lag interval) returns void
language plpgsql
as $$
declare
  v_latest constant bigint := floor(extract(epoch from jobferry_now() - p_lag) * 1000);
  v_position bigint;
  v_before bigint;
begin
  select position::bigint into v_position from follower where name = 'stats';
  -- The first roll-up after an upgrade notes no transaction yet. A transaction to come is one of another server, from
  -- which a dump was restored. Then the attempts up to now are those of the dump: with that transaction, later ones
  -- would be, too.
  select least(position::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint) into v_before
    from follower where name = 'stats-before';
  if v_position <= v_latest or v_position is null or v_before is null then return; end if;
  insert into follower as f (name, position)
  values ('stats-counted', jsonb_build_array(jsonb_build_array(v_position, v_before))::text)
  on conflict (name) do update set updated_at = jobferry_now(), position = (
    select coalesce(jsonb_agg(pair) filter (where (pair ->> 0)::bigint > v_position), '[]') || excluded.position::jsonb
      from jsonb_array_elements(f.position::jsonb) pair)::text;
  update follower set position = (v_latest - 60000)::text, updated_at = jobferry_now() where name = 'stats';
end
$$;

-- Adds the attempts since the last roll-up to the statistics, and returns whether more are left. The position and the
-- sums change in one transaction, and an advisory lock admits one caller at a time, so each attempt counts exactly
-- once, also if a process dies.
--
-- An attempt has the time at which it was written, but it becomes visible when its transaction ends. So the statistics
-- stay 5 s behind, which is longer than a statement may take, and behind every transaction that writes, because a
-- commit can stall. They stay at most a minute behind, so a forgotten session cannot stop them.
create or replace function jobferry_roll_up(
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
  v_counted jsonb;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('jobferry statistics', 0)) then return false; end if;
  perform jobferry_stats_follow_clock(p_lag);
  v_from := jobferry_stats_until(p_retention);
  v_counted := jobferry_stats_counted();
  select max(clock_timestamp() - xact_start) into v_oldest from pg_stat_activity
   where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid();
  v_until := date_trunc('milliseconds', jobferry_now()
    - least(greatest(p_lag, v_oldest + interval '10 ms'), interval '60 s'));
  if v_from >= v_until then return false; end if;

  -- Shortens the range until it has at most p_rows attempts, so the statement ends within its time-out.
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
     and (v_counted is null or not jobferry_is_counted(a."timestamp", a.xmin, v_counted))
   group by 1, 2
  on conflict (queue_id, created_bucket) do update set completed = c.completed + excluded.completed;
  insert into follower (name, position)
  values ('stats', (extract(epoch from v_to) * 1000)::bigint::text),
         ('stats-before', pg_snapshot_xmax(pg_current_snapshot())::text)
  on conflict (name) do update set position = excluded.position, updated_at = jobferry_now();
  if v_counted is not null then
    update follower set position = (
      select coalesce(jsonb_agg(pair), '[]') from jsonb_array_elements(v_counted) pair
       where to_timestamp((pair ->> 0)::float8 / 1000) > v_to)::text where name = 'stats-counted';
  end if;
  return v_to < v_until;
end
$$;

-- Summarises new pages of the BRIN index on attempt.timestamp. Autovacuum does so, too, but not before a fifth of the
-- table is new, and until then each query for the last seconds reads all new pages. The wait for the lock is short: its
-- holder is probably autovacuum, which would give up if this function waited longer.
create or replace function jobferry_index_attempts() returns void
language plpgsql
set lock_timeout = '50ms'
as $$
begin
  perform brin_summarize_new_values('attempt_timestamp_idx'::regclass);
exception when lock_not_available or insufficient_privilege then
  null; -- the next call or autovacuum does it
end
$$;
