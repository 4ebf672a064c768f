-- Locks a running bulk action for the rest of the transaction. Returns `ours`; `ended` if it no longer runs; or `taken` if
-- another process has done a batch since the caller read p_processed: the caller's batch is already done, and must not be
-- counted again.
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
         position = p_position, updated_at = jobferry_now(), looked_at = jobferry_now()
   where id = p_action
$$;

-- Replays a batch of dead letters of a bulk action and counts it, in one transaction. Returns the result of
-- jobferry_replay, or an outcome of jobferry_bulk_take.
create or replace function jobferry_bulk_replay(
  p_action text, p_processed integer, p_queue text, p_ids text[], p_limit bigint, p_retention interval, p_lifetime interval
) returns json
language plpgsql
as $$
declare
  v_turn text := jobferry_bulk_take(p_action, p_processed);
  v_answer json;
begin
  if v_turn <> 'ours' then return json_build_object('outcome', v_turn); end if;
  -- The number of dead letters that are left is not used.
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

-- Cancels a batch of jobs of a bulk action and counts it, in one transaction: p_ids are the jobs that were read, p_items the
-- transitions of those that can be cancelled. Returns `done` with the ids that applied, or an outcome of jobferry_bulk_take.
create or replace function jobferry_bulk_settle(p_action text, p_processed integer, p_ids text[], p_items json) returns json
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
