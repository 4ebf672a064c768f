-- Takes a running action for the rest of the transaction. `taken` means that since it was read somebody
-- else has gone on with it: the batch that the caller has in hand is already done, and must not be
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

-- A batch of a bulk replay, with its counts: both or neither, whenever the process dies. The answer is
-- that of jobferry_replay, or `ended` or `taken`.
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
