-- Locks a running bulk action for the rest of the transaction. Returns `ours`; `ended` if it no longer runs; or `taken`
-- if another process has done a batch since the caller read p_processed: the caller's batch is already done, and must
-- not be counted again.
create or replace function jobferry_bulk_take(p_action text, p_processed integer) returns text
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

-- Adds the counts of a batch to a bulk action, and moves its position behind the batch.
create or replace function jobferry_bulk_count(p_action text, p_processed integer, p_succeeded integer, p_position text)
returns void
language sql
as $$
  update bulk_action
     set processed = processed + p_processed, succeeded = succeeded + p_succeeded,
         skipped = skipped + p_processed - p_succeeded, matched = greatest(matched, processed + p_processed),
         position = p_position, updated_at = jobferry_now(), kept_at = jobferry_now()
   where id = p_action
$$;

-- Replays a batch of dead letters of a bulk action, of any queues, and counts it, in one transaction. Returns `done`
-- with the new jobs and their queues; `limit_reached`; or an outcome of jobferry_bulk_take. Dead letters of a deleted
-- queue, and those after which the limit is reached, count as skipped. Queues are taken in the order of ids, as their
-- wake-ups must be.
create or replace function jobferry_bulk_replay_letters(
  p_action text, p_processed integer, p_letters text[], p_position text, p_limit bigint, p_retention interval,
  p_lifetime interval
) returns json
language plpgsql
as $$
declare
  v_turn text := jobferry_bulk_take(p_action, p_processed);
  v_part record;
  v_answer json;
  v_jobs text[] := '{}';
  v_queues text[] := '{}';
begin
  if v_turn <> 'ours' then return json_build_object('outcome', v_turn); end if;
  for v_part in
    select queue_id, array_agg(id order by id) as letters from dead_letter where id = any (p_letters)
     group by queue_id order by queue_id
  loop
    -- The number of dead letters that are left is not used.
    v_answer := jobferry_replay(v_part.queue_id, v_part.letters, 0, p_limit, p_retention, p_lifetime, p_count => 0);
    if v_answer ->> 'outcome' = 'limit_reached' then
      if cardinality(v_queues) = 0 then return v_answer; end if;
      exit;
    end if;
    if v_answer ->> 'outcome' = 'done' then
      v_jobs := v_jobs || array(select job ->> 'replayedJobId' from json_array_elements(v_answer -> 'jobs') as job);
      v_queues := v_queues || v_part.queue_id;
    end if;
  end loop;
  perform jobferry_bulk_count(p_action, cardinality(p_letters), cardinality(v_jobs), p_position);
  perform jobferry_bulk_note(p_action, v_jobs);
  update bulk_action set canary_job_id = v_jobs[1] where id = p_action and canary and canary_job_id is null;
  return json_build_object('outcome', 'done', 'jobs', v_jobs, 'queues', v_queues);
end
$$;

-- Stores that a bulk action created or changed these jobs.
create or replace function jobferry_bulk_note(p_action text, p_jobs text[]) returns void
language sql
as $$
  insert into bulk_action_job (job_id, action_id) select job, p_action from unnest(p_jobs) job on conflict do nothing
$$;

-- Cancels a batch of jobs of a bulk action and counts it, in one transaction: p_ids are the jobs that were read,
-- p_items the transitions of those that can be cancelled. Returns `done` with the ids that applied, or an outcome of
-- jobferry_bulk_take.
create or replace function jobferry_bulk_settle(p_action text, p_processed integer, p_ids text[], p_items json) returns json
language plpgsql
as $$
declare
  v_turn text := jobferry_bulk_take(p_action, p_processed);
  v_applied text[] := '{}';
begin
  if v_turn <> 'ours' then return json_build_object('outcome', v_turn); end if;
  if json_array_length(p_items) > 0 then v_applied := jobferry_settle(p_items, false); end if;
  perform jobferry_bulk_count(p_action, cardinality(p_ids), cardinality(v_applied), p_ids[cardinality(p_ids)]);
  perform jobferry_bulk_note(p_action, v_applied);
  return json_build_object('outcome', 'done', 'applied', v_applied);
end
$$;

-- Makes those jobs of a batch due now that are pending and not yet due, and counts the batch, in one transaction.
-- Returns `done` with the queues of the jobs, or an outcome of jobferry_bulk_take.
create or replace function jobferry_bulk_run_now(p_action text, p_processed integer, p_ids text[]) returns json
language plpgsql
set enable_seqscan = off -- as in jobferry_settle
as $$
declare
  v_turn text := jobferry_bulk_take(p_action, p_processed);
  v_now timestamptz;
  v_moved text[];
  v_queues text[];
  v_queue text;
begin
  if v_turn <> 'ours' then return json_build_object('outcome', v_turn); end if;
  -- By id, as a settle locks jobs. Claims skip locked jobs.
  perform from job where id = any (p_ids) and status = 'pending' order by id for no key update;
  v_now := jobferry_now();
  with moved as (
    update job set scheduled_for = v_now, wait_reason = null
     where id = any (p_ids) and status = 'pending' and scheduled_for > v_now
    returning id, queue_id
  )
  select coalesce(array_agg(id), '{}'), coalesce(array_agg(distinct queue_id), '{}') into v_moved, v_queues from moved;
  for v_queue in select queue from unnest(v_queues) queue order by queue collate "C" loop
    perform jobferry_wake('deliver', v_queue, v_now);
  end loop;
  perform jobferry_bulk_count(p_action, cardinality(p_ids), cardinality(v_moved), p_ids[cardinality(p_ids)]);
  perform jobferry_bulk_note(p_action, v_moved);
  return json_build_object('outcome', 'done', 'queues', v_queues);
end
$$;
