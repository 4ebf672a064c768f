-- A graphile-worker row says "this queue may have work at that time" and nothing more. One row per
-- queue and second, or four seconds when that is some time away, so that a busy queue has few: each costs about
-- as much as five jobs. It fires early, and the process that takes it waits for the exact moment with a timer
-- of its own (docs/architecture.md).
--
-- Work that is due at once is told to workers when it is committed (docs/decisions/0008); the row is for
-- the case that this message is lost, and fires some seconds later. A deadline has no such message.
create or replace function jobferry_wake(p_task text, p_queue text, p_due timestamptz) returns void
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
