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

-- The jobs that wait because they were published, or tried, while this clock was ahead: how many, and until when the last one
-- waits. Clocks of machines may differ by less than a minute. Reads the newest ids, and the index of the times of attempts, for which
-- the planner would read all attempts.
create or replace function jobferry_future_jobs(out jobs integer, out waits_until timestamptz)
language plpgsql stable
set enable_seqscan = off
as $$
declare
  v_from timestamptz := jobferry_now() + interval '1 min';
begin
  select count(*), max(j.scheduled_for) into jobs, waits_until
    from job j
   where j.status = 'pending' and j.scheduled_for > v_from
     and j.id in (select id from job where id >= jobferry_first_id(v_from)
                  union
                  select job_id from attempt where "timestamp" > v_from);
end
$$;
