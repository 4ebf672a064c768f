-- Up to p_max due jobs of a queue, locked, that can still be delivered in time, while the queue has pending jobs that
-- cannot, and maybe a million. So it looks at few of those that are due for longest, and at some hundreds at most of those
-- whose lifetimes end next: the latter are found behind any number whose lifetimes have ended.
create or replace function jobferry_pick_in_time(p_queue text, p_at timestamptz, p_max integer, p_bytes integer) returns text[]
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
create or replace function jobferry_pick(
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
