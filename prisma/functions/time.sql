-- The smallest id that a row created at this moment can have.
create or replace function jobferry_first_id(at timestamptz) returns text
language sql immutable
as $$ select rpad(lpad(to_hex(greatest(0, extract(epoch from at) * 1000)::bigint), 12, '0'), 24, '0') $$;

-- The moment at which the row with this id was created: the first 12 digits of an id are milliseconds.
create or replace function jobferry_created_at(p_id text) returns timestamptz
language sql immutable parallel safe
as $$ select to_timestamp(('x' || left(p_id, 12))::bit(48)::bigint::float8 / 1000)::timestamptz(3) $$;

-- A moment as the API writes it.
create or replace function jobferry_iso(at timestamptz) returns text
language sql stable
as $$ select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

-- The jobs with a time that this clock set while it was ahead. Pending ones were published or tried then, or came back
-- without an attempt: interrupted, or unsent because of a failure of our own. Those in flight await a report for longer
-- than their queue allows. One that was sent before and answered then is not there: its deadline could be an extension.
-- The clocks of machines may differ by less than a minute. Reads the newest ids, the jobs in flight, and the index of
-- the times of attempts, for which the planner would read all attempts.
create or replace function jobferry_dated_ahead() returns table (job_id text, status text, waits_until timestamptz)
language plpgsql stable
set enable_seqscan = off
as $$
declare
  v_from timestamptz := jobferry_now() + interval '1 min';
begin
  return query
    select j.id, j.status, j.scheduled_for::timestamptz
      from job j
     where j.status = 'pending' and j.scheduled_for > v_from
       and j.id in (select job.id from job where job.id >= jobferry_first_id(v_from)
                    union
                    select attempt.job_id from attempt where attempt."timestamp" > v_from
                    union
                    -- The condition of job_came_back_idx.
                    select job.id from job
                     where job.status = 'pending' and job.claimed_at is not null
                       and (job.wait_reason is null or job.wait_reason = 'backoff' and job.last_error in (
                              'proxy_unreachable', 'resolver_unreachable', 'no_descriptors', 'no_local_port'))
                       and job.scheduled_for > v_from)
    union all
    select j.id, j.status, j.deadline::timestamptz
      from job j join queue q on q.id = j.queue_id
     where j.status = 'awaiting_ack' and (j.claimed_at > v_from or j.progress_at > v_from)
       and j.deadline > v_from + q.ack_timeout * interval '1 s';
end
$$;
