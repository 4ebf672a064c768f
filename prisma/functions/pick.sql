-- Selects and locks up to p_capacity due jobs of one queue, within concurrency, rate window, hold and probe, over any
-- number of workers.
--   picked_at   the moment for which all of this is true
--   is_deleted  nothing of this queue will be delivered any more
--   ids         the jobs, oldest first
--   is_probe    the job is the probe after a hold
--   wait_ms     milliseconds until another claim can take a job without any event in between; null: only an event (a
--               settle, an edit) can make room; infinity: no job is left
--   wakes_at    moment for which the caller has to write a wake-up; null: none is needed. It is the end of a hold or of
--               a rate window: the next job's own wake-up is used up before that. If the end is less than 2 s away, the
--               caller's timer is enough. A wake-up this near would fire at once, and its claim would write the next
--               one.
--
-- The advisory lock is taken first, by a statement of its own: later statements have a snapshot from after it, so they
-- count what the previous holder committed. The lock of the queue's row orders claims against edits, holds and
-- deletion. A claim never blocks on either lock, or one locked queue would delay all queues of the same claim. A locked
-- queue gives no job, and wait_ms is 0: the caller retries.
--
-- If the database's clock goes back into the rate window before, the later window goes on. Otherwise each of the two
-- would count from 0 again, and the queue would release three times its limit within a window.
create or replace function jobferry_pick(
  p_queue text, p_capacity integer, p_bytes integer,
  out picked_at timestamptz, out is_deleted boolean, out account_id text, out ids text[], out is_probe boolean,
  out wait_ms float8, out wakes_at timestamptz
)
language plpgsql
as $$
declare
  q queue%rowtype;
  v_slots integer; -- concurrency minus the jobs in flight, which are processing or awaiting_ack (D11)
  v_room integer; v_window record; v_used integer; -- of the rate window
  v_not_before timestamptz; -- end of the hold, or of a rate window that is used up
  v_past_lifetime boolean; v_next timestamptz; b record;
begin
  ids := '{}'; is_probe := false;
  if pg_try_advisory_xact_lock(hashtextextended('jobferry claim ' || p_queue, 0)) then
    select * into q from queue where queue.id = p_queue for no key update skip locked;
  end if;
  picked_at := jobferry_now();
  if q.id is null then
    is_deleted := not exists (select from queue where queue.id = p_queue);
    if not is_deleted then wait_ms := 0; end if;
    return;
  end if;
  account_id := q.account_id; is_deleted := q.deleted_at is not null;
  if is_deleted then return; end if;
  if q.probe_job_id is not null or q.next_signing_secret_at <= picked_at then q := jobferry_refresh_queue(q, picked_at); end if;

  v_slots := q.concurrency - jobferry_in_flight(p_queue);
  if v_slots <= 0 or q.paused_at is not null or q.probe_job_id is not null then return; end if;
  v_room := least(v_slots, p_capacity);
  -- When its hold has ended, a queue releases one job, the probe, and no other before the probe has ended (D14).
  if q.hold_until > picked_at then
    v_room := 0;
    v_not_before := q.hold_until;
  elsif q.hold_until is not null then
    v_room := least(v_room, 1);
    is_probe := true;
  end if;
  if q.rate_limit_max is not null then
    v_window := jobferry_rate_window(q.rate_limit_window, picked_at);
    v_used := jobferry_rate_used(p_queue, v_window.ends);
    if v_used is null then v_used := coalesce(jobferry_rate_used(p_queue, v_window.starts), 0);
    else v_window := jobferry_rate_window(q.rate_limit_window, v_window.ends); end if;
    v_room := least(v_room, q.rate_limit_max - v_used);
  end if;

  b := jobferry_bookmark(p_queue, picked_at);
  v_past_lifetime := coalesce(q.lifetime_floor <= picked_at, true) and jobferry_has_ended_lifetime(p_queue, b.ends, picked_at);
  if v_room > 0 and not v_past_lifetime then
    ids := jobferry_pick_due_since(p_queue, picked_at, b.due, q.lifetime_floor, v_room, p_bytes);
  elsif v_room > 0 then
    ids := jobferry_pick_in_time(p_queue, picked_at, b.due, b.ends, v_room, p_bytes);
  end if;
  if cardinality(ids) > 0 then
    if is_probe then update queue set probe_job_id = ids[1] where queue.id = p_queue; end if;
    if v_used is not null then
      v_used := v_used + cardinality(ids);
      perform jobferry_use_rate(p_queue, v_window.starts, v_used);
    end if;
    if is_probe or cardinality(ids) >= v_slots then return; end if;
  end if;

  if v_used >= q.rate_limit_max then v_not_before := greatest(v_not_before, v_window.ends); end if;
  if v_past_lifetime then
    -- The next job is behind all jobs whose lifetime has ended. The reconciler ends those in the meantime.
    wait_ms := greatest(case when cardinality(ids) > 0 then 0 else 250 end, extract(epoch from v_not_before - picked_at) * 1000);
  else
    select job.scheduled_for into v_next from job where job.queue_id = p_queue and job.status = 'pending'
       and job.id <> all (ids) and job.scheduled_for >= b.due order by job.scheduled_for limit 1;
    wait_ms := case when v_next is null then 'infinity'
                    else greatest(0, extract(epoch from greatest(v_next, v_not_before) - picked_at) * 1000) end;
  end if;
  if v_not_before - picked_at >= interval '2 seconds' and (v_past_lifetime or v_not_before > v_next) then
    wakes_at := v_not_before;
  end if;
end
$$;

-- Does the work of jobferry_pick for many queues, in two statements for all of them. There are no rows for queues that
-- are not usual, or locked. wakes_at is always null. The innermost query is that of jobferry_pick_due_since: calling it
-- for each queue takes 17 % of a claim of 16 queues. p_since is that of jobferry_claim: jobs that were due before, also
-- of an ended lifetime, are left to others, and a queue without any other job has no row.
create or replace function jobferry_pick_usual(
  p_queues text[], p_capacities integer[], p_bytes integer[], p_since timestamptz[]
) returns table (
  of_queue text, picked_at timestamptz, is_deleted boolean, account_id text, ids text[], is_probe boolean, wait_ms float8,
  wakes_at timestamptz
)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_locked queue[];
  v_now timestamptz;
begin
  v_locked := array(
    select queue from queue
     where queue.id = any (p_queues) and pg_try_advisory_xact_lock(hashtextextended('jobferry claim ' || queue.id, 0))
     order by queue.id for no key update of queue skip locked);
  v_now := jobferry_now();
  return query
    select q.id, v_now, false, q.account_id, picked.ids, false,
           case when cardinality(picked.ids) >= free.slots then null
                when next.scheduled_for is null then 'infinity'
                else greatest(0, extract(epoch from next.scheduled_for - v_now) * 1000) end::float8,
           null::timestamptz
      from unnest(v_locked) q
           left join lateral (
             select m.token, m.early, case when m.set_at <= v_now then m.due end as due, case when m.set_at <= v_now then m.ends end as ends
               from queue_bookmark m where m.queue_id = q.id order by m.number desc limit 1) b on true
           cross join lateral (
             select p_capacities[n] as jobs, p_bytes[n] as bytes, p_since[n] as since, coalesce(p_since[n], b.due, '-infinity') as first
               from array_position(p_queues, q.id) n) asked
           cross join lateral (
             select q.concurrency - count(*)
                    - case when b.early <> '{}' then (select count(*) from jobferry_early(b.early, b.token)) else 0 end as slots
               from job where job.queue_id = q.id and job.status in ('processing', 'awaiting_ack')
                          and job.claim_token > coalesce(b.token, -1)) free
           cross join lateral (
             select array(
               select due.id
                 from (select taken.id, taken.scheduled_for,
                              sum(taken.bytes) over (order by taken.scheduled_for, taken.id) - taken.bytes as bytes_before
                         from (select job.id, job.scheduled_for, octet_length(job.payload) as bytes from job
                                where job.queue_id = q.id and job.status = 'pending' and job.scheduled_for <= v_now
                                  and job.scheduled_for >= asked.first
                                  and greatest(job.deliver_by, q.lifetime_floor) > v_now
                                order by job.scheduled_for, job.id
                                limit greatest(0, least(free.slots, asked.jobs))
                                  for no key update skip locked) taken) due
                where due.bytes_before < asked.bytes
                order by due.scheduled_for, due.id) as ids
             offset 0) picked -- so that the jobs are selected once, and not at each use of their ids
           left join lateral (
             select job.scheduled_for from job
              where cardinality(picked.ids) < free.slots and job.queue_id = q.id and job.status = 'pending'
                and job.id <> all (picked.ids) and job.scheduled_for >= asked.first
              order by job.scheduled_for limit 1) next on true
     where (asked.since is null or cardinality(picked.ids) > 0)
       and jobferry_is_usual(q) and (asked.since is not null or not (
             coalesce(q.lifetime_floor <= v_now, true) and jobferry_has_ended_lifetime(q.id, coalesce(b.ends, '-infinity'), v_now)));
end
$$;

-- Whether nothing limits the claims of a queue but its slots:
-- no rate limit, hold, probe, pause or rotation of its secret.
create or replace function jobferry_is_usual(q queue) returns boolean
language sql immutable
as $$
  select q.deleted_at is null and q.paused_at is null and q.hold_until is null and q.probe_job_id is null
     and q.rate_limit_max is null and q.next_signing_secret_at is null
$$;

-- How many jobs of the queue that are published now a worker may claim, in the transaction that asks: its free slots.
-- Null if it may claim none: the queue is not usual, another transaction has it, or it has a job that would have to be
-- delivered before. p_since is that of jobferry_claim. The locks and the count are those of jobferry_pick.
create or replace function jobferry_free_for_new(p_queue text, p_since timestamptz) returns integer
language plpgsql
as $$
declare
  q queue%rowtype;
  v_now timestamptz := jobferry_now();
  v_from timestamptz := case when p_since <= v_now then p_since end; -- a later one is from before the clock went back
  v_due timestamptz;
begin
  if v_from is null then select b.due into v_from from jobferry_bookmark(p_queue, v_now) b; end if;
  -- First without a lock: while jobs wait, claims need the lock, and publishes must not keep it from them.
  select job.scheduled_for into v_due from job where job.queue_id = p_queue and job.status = 'pending'
     and job.scheduled_for >= v_from order by job.scheduled_for limit 1;
  if v_due <= v_now then return null; end if;
  if not pg_try_advisory_xact_lock(hashtextextended('jobferry claim ' || p_queue, 0)) then return null; end if;
  select * into q from queue where queue.id = p_queue for no key update skip locked;
  if q.id is null or not jobferry_is_usual(q) then return null; end if;
  return q.concurrency - jobferry_in_flight(p_queue);
end
$$;

-- Its steps ---------------------------------------------------------------------------------------

-- Stores what has ended without any statement: the overlap of a rotation of signing secrets, and a probe whose job was
-- removed by retention. Returns the queue as it is now. The caller holds the lock of the queue's row.
create or replace function jobferry_refresh_queue(q queue, p_at timestamptz) returns queue
language plpgsql
as $$
begin
  if q.next_signing_secret_at <= p_at then
    update queue set signing_secret = next_signing_secret, next_signing_secret = null, next_signing_secret_at = null
     where queue.id = q.id;
  end if;
  if q.probe_job_id is not null then
    perform from job where job.id = q.probe_job_id and job.status in ('processing', 'awaiting_ack');
    if not found then
      q.probe_job_id := null;
      if q.hold_until <= p_at and q.breaker_opened_at is null then q.hold_until := null; end if;
      update queue set probe_job_id = null, hold_until = q.hold_until where queue.id = q.id;
    end if;
  end if;
  return q;
end
$$;

-- Locks and returns up to p_max jobs of the queue that became due at p_since or later, oldest first. Stops after the
-- job with which the payloads reach p_bytes: a worker's memory is bounded, however large the payloads are.
create or replace function jobferry_pick_due_since(
  p_queue text, p_at timestamptz, p_since timestamptz, p_lifetime_floor timestamptz, p_max integer, p_bytes integer
) returns text[]
language plpgsql
as $$
begin
  return array(
    select due.id
      from (select taken.id, taken.scheduled_for,
                   sum(taken.bytes) over (order by taken.scheduled_for, taken.id) - taken.bytes as bytes_before
              from (select job.id, job.scheduled_for, octet_length(job.payload) as bytes from job
                     where job.queue_id = p_queue and job.status = 'pending' and job.scheduled_for <= p_at
                       and job.scheduled_for >= p_since
                       -- A job of a dead worker may have come back since the caller looked for ended lifetimes.
                       and greatest(job.deliver_by, p_lifetime_floor) > p_at
                     order by job.scheduled_for, job.id
                     limit p_max
                       for no key update skip locked) taken) due
     where due.bytes_before < p_bytes
     order by due.scheduled_for, due.id);
end
$$;

-- Picks jobs of a queue that also has pending jobs whose lifetime has ended, possibly a million of them. It reads few
-- of the jobs that have been due for longest, a few of those that became due last, and a few hundred of those whose
-- lifetime ends next: deliverable jobs are found there behind any number of others, also of those that wait for a
-- retry.
create or replace function jobferry_pick_in_time(
  p_queue text, p_at timestamptz, p_due timestamptz, p_ends timestamptz, p_max integer, p_bytes integer
) returns text[]
language sql
as $$
  with found as materialized (
    (select due.id from (
       select job.id, job.deliver_by from job
        where job.queue_id = p_queue and job.status = 'pending' and job.scheduled_for between p_due and p_at
        order by job.scheduled_for, job.id limit p_max + 50) due
      where due.deliver_by > p_at)
     union
    (select newest.id from (
       select job.id, job.deliver_by from job
        where job.queue_id = p_queue and job.status = 'pending' and job.scheduled_for between p_due and p_at
        order by job.scheduled_for desc, job.id desc limit p_max + 50) newest
      where newest.deliver_by > p_at)
     union
    (select in_time.id from (
       select job.id, job.scheduled_for from job
        where job.queue_id || '' = p_queue and job.status = 'pending' and job.deliver_by > greatest(p_at, p_ends)
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
