-- Writes a wake-up: a row of graphile-worker that contains only "this queue may have work at p_due". If one is lost, a
-- job is delivered later and not lost, because the reconciler finds the work, too.
--
-- There is one row for each task, queue and second, or each four seconds if p_due is more than 8 s away, so a busy
-- queue has few of them: a row costs about as much as five jobs. It fires one to five seconds early; the process that
-- takes it waits for the exact moment with a timer of its own (docs/architecture.md).
--
-- Jobs that are due, or nearly, have no row: processes are notified of them after the commit, and if that notification
-- is lost, the reconciler finds them within 5 s (docs/decisions/0058). Deadlines have no notification, so their rows
-- may fire at once.
create or replace function jobferry_wake(p_task text, p_queue text, p_due timestamptz) returns void
language plpgsql
as $$
declare
  v_now timestamptz := jobferry_now();
  v_epoch constant timestamptz := 'epoch';
  v_step interval := case when p_due - v_now < interval '8 seconds' then '1 second' else '4 seconds' end;
  v_fires timestamptz := date_bin(v_step, p_due, v_epoch) - interval '1 second';
  -- Not the collation of the caller, which is that of ids: no index has the keys in it, so all wake-ups would be read.
  v_key text collate "default";
begin
  if v_fires <= v_now then
    if p_task = 'deliver' then return; end if;
    v_key := p_task || ':' || p_queue || ':now';
  else
    v_key := p_task || ':' || p_queue || ':' || extract(epoch from v_fires)::bigint;
    -- No process can take a row that is not due before this transaction commits, so it can stay as it is. Without this,
    -- each job of a busy queue would rewrite the same row.
    perform from graphile_worker.jobs where key = v_key and locked_at is null
      and run_at > clock_timestamp() + interval '100 milliseconds';
    if found then return; end if;
  end if;
  -- add_job returns null when another transaction writes the same key. If all three tries fail, the jobs are late and
  -- not lost, because workers also poll.
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

-- Writes a wake-up of the task for each p_queues[i] at p_dues[i]. They should come by queue and time, the order in
-- which all functions lock the rows. The arrays may be null.
create or replace function jobferry_wake_all(p_task text, p_queues text[], p_dues timestamptz[]) returns void
language plpgsql
as $$
begin
  for i in 1..coalesce(cardinality(p_queues), 0) loop
    perform jobferry_wake(p_task, p_queues[i], p_dues[i]);
  end loop;
end
$$;
