-- Completes the jobs of a batch of ordinary acks: each has been delivered in ack mode, awaits its report, and is no
-- probe. The result is what the transition "acked" and jobferry_settle would write, without reading the jobs before and
-- their documents afterwards. What is not ordinary is left as it is, and the caller takes the full way.
--
-- p_items: objects with id, accountId and attempt (any number; null: the one in flight).
--   acked   the jobs that are completed now, as documents if they have no earlier history, and a payload of at most
--           p_max_bytes; otherwise the payload is null
--   coming  ids of jobs whose delivery has not been settled yet: their receivers may have reported at once
create or replace function jobferry_ack(p_items json, p_max_bytes integer, out acked json, out coming text[])
language plpgsql
-- As for jobferry_settle.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  v_now timestamptz;
begin
  lock table job in row exclusive mode;
  v_now := jobferry_now();
  with found as materialized (
    select j.id, j.status, j.status = 'awaiting_ack' as is_due, j.claim_token, j.answer_status_code, j.answer_ms, j.answer_body,
           q.name as queue
      from json_to_recordset(p_items) as item(id text, "accountId" text, attempt float8)
      -- "offset 0", and no constant status below: otherwise the planner may read all jobs in flight by their index.
      cross join lateral (select * from job where job.id = item.id offset 0) j
      join queue q on q.id = j.queue_id
     where j.account_id = item."accountId" and j.attempts = coalesce(item.attempt, j.attempts)
       and (j.status = 'awaiting_ack' and q.probe_job_id is distinct from j.id or j.status = 'processing' and j.mode = 'ack')
     -- Nested loops keep this order, so jobs are locked by id, and two batches cannot deadlock.
     order by item.id
  ), settled as (
    update job set status = 'completed', completed_at = v_now, interruptions = 0, deadline = null,
                   history_count = job.history_count + 1, answer_status_code = null, answer_ms = null, answer_body = null
      from found f
     where job.id = f.id and f.is_due and job.status = f.status and job.claim_token = f.claim_token
    returning job.*, f.queue, f.answer_status_code as code, f.answer_ms as duration_ms, f.answer_body as body
  ), entries as (
    insert into attempt (job_id, ordinal, queue_id, attempt, status, webhook_status_code, "timestamp",
                         duration_ms, wait_ms, response_body, started_at)
    select s.id, s.history_count, s.queue_id, s.attempts, 'success', s.code, v_now,
           s.duration_ms, jobferry_wait_ms(s.claimed_at, s.scheduled_for), s.body, s.claimed_at
      from settled s
  )
  select json_agg(json_build_object(
           'id', s.id, 'queueId', s.queue_id, 'queue', s.queue, 'attempts', s.attempts, 'maxAttempts', s.max_attempts,
           'deferCount', s.defer_count, 'idempotencyKey', s.idempotency_key, 'lastError', s.last_error, 'code', s.code,
           'payload', case when s.history_count = 1 and octet_length(s.payload) <= p_max_bytes then s.payload end,
           'scheduledFor', extract(epoch from s.scheduled_for) * 1000, 'createdAt', extract(epoch from s.created_at) * 1000,
           'completedAt', extract(epoch from s.completed_at) * 1000)),
         (select array_agg(f.id) from found f where not f.is_due)
    into acked, coming from settled s;
end
$$;
