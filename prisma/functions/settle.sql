-- Writes a batch of transitions of any queues. Each applies only where status and claim token are
-- still what the decision was based on; the answer is the list of ids that were applied. An id that
-- is missing lost a race, which is normal. Waits are relative, so that nothing is ever early.
create or replace function jobferry_settle(p_items json) returns text[]
language plpgsql
-- A batch is small and the table is not: without this the planner, which guesses 100 rows for any
-- JSON, reads the whole table while that is still small enough to look cheap. A session keeps the plans of its first
-- deliveries; those of a new database sorted all pending jobs, because few rows in a small index looked cheaper than
-- the first one in a larger index that has the order.
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  v_now timestamptz;
  v_applied text[];
  v_effects json;
  v_freed text[];
  v_returned json;
  v_row record;
begin
  -- The clock comes after the wait for whoever holds the whole table, or that wait would count as backoff.
  lock table job in row exclusive mode;
  v_now := jobferry_now();
  with item as materialized (
    select * from json_to_recordset(p_items) as i(
      id text, expected text, token bigint,
      status text, attempts integer, "deferCount" integer, "shortHolds" integer, interruptions integer, "waitMs" float8,
      "lastError" text, "deadReason" text,
      "entryAttempt" integer, "entryStatus" text, "entryError" text, "entryCode" integer,
      "answerCode" integer, "answerMs" integer, "answerBody" text,
      effect text, "effectMs" float8)
  ), decided as materialized (
    -- A job must not go back to a queue that is gone (D17).
    select item.*, j.queue_id,
           q.dlq_enabled and q.deleted_at is null as keeps_dead_letters,
           case when item.status = 'pending' and q.deleted_at is not null then 'dead' else item.status end as final,
           case when item.status = 'pending' and q.deleted_at is not null then 'queue_deleted'
                else item."deadReason" end as reason,
           j.answer_ms, j.answer_body,
           -- How late the delivery began, whatever the reason.
           least(greatest(extract(epoch from j.claimed_at - j.scheduled_for) * 1000, 0), 2147483647)::integer as wait_ms
      from item
      join job j on j.id = item.id and j.status = item.expected and j.claim_token = item.token
      join queue q on q.id = j.queue_id
     -- Nested loops keep this order, so rows are locked by id, and two batches cannot deadlock.
     order by item.id
  ), settled as (
    update job set
      status = d.final, attempts = d.attempts, defer_count = d."deferCount", short_holds = coalesce(d."shortHolds", 0),
      interruptions = d.interruptions,
      last_error = case when d.reason = 'queue_deleted' then d.reason else d."lastError" end,
      dead_reason = d.reason,
      scheduled_for = case when d.final = 'pending' then v_now + d."waitMs" * interval '1 millisecond'
                           else job.scheduled_for end,
      deadline = case when d.final = 'awaiting_ack' then v_now + d."waitMs" * interval '1 millisecond' end,
      completed_at = case when d.final = 'completed' then v_now end,
      dead_at = case when d.final = 'dead' then v_now end,
      wait_reason = case when d.final <> 'pending' then null
                         when d."entryStatus" = 'deferred' then 'hold'
                         when d."entryStatus" is not null then 'backoff' end,
      worker_id = null,
      history_count = job.history_count + case when d."entryStatus" is null then 0 else 1 end,
      answer_status_code = case when d.final = 'awaiting_ack' then d."answerCode" end,
      answer_ms = case when d.final = 'awaiting_ack' then d."answerMs" end,
      answer_body = case when d.final = 'awaiting_ack' then d."answerBody" end
    from decided d
    where job.id = d.id and job.status = d.expected and job.claim_token = d.token
    returning job.id, job.queue_id, job.status, job.last_error, job.scheduled_for, job.deadline, job.history_count,
              d.expected, d.keeps_dead_letters, d.reason, d.effect, d."effectMs",
              d."entryAttempt", d."entryStatus", d."entryError", d."entryCode", d.wait_ms,
              coalesce(d."answerMs", d.answer_ms) as duration_ms, coalesce(d."answerBody", d.answer_body) as body
  ), entries as (
    insert into attempt (job_id, ordinal, queue_id, attempt, status, error, webhook_status_code, "timestamp",
                         duration_ms, wait_ms, response_body)
    select s.id, s.history_count, s.queue_id, s."entryAttempt", s."entryStatus", s."entryError", s."entryCode", v_now,
           s.duration_ms, s.wait_ms, s.body
      from settled s
     where s."entryStatus" is not null
  ), letters as (
    insert into dead_letter (id, job_id, queue_id, reason, error, webhook_status_code, fingerprint, dead_at)
    select jobferry_id(v_now), s.id, s.queue_id, s.reason, s.last_error, s."entryCode",
           jobferry_fingerprint(s.reason, s."entryCode", s.last_error), v_now
      from settled s
     -- A dead letter is a delivery that failed; a cancelled job is what somebody asked for.
     where s.status = 'dead' and s.keeps_dead_letters and s.reason <> 'cancelled'
     order by s.id
  )
  select array_agg(s.id),
         json_agg(json_build_object('queueId', s.queue_id, 'id', s.id, 'effect', s.effect, 'ms', s."effectMs",
                                    'error', s."entryError")) filter (where s.effect is not null),
         array_agg(distinct s.queue_id) filter (where s.expected <> 'pending' and s.status <> 'awaiting_ack'),
         json_agg(json_build_object(
           'task', case s.status when 'pending' then 'deliver' else 'timeout' end, 'queueId', s.queue_id,
           'due', case s.status when 'pending' then s.scheduled_for else s.deadline end))
           filter (where s.status in ('pending', 'awaiting_ack'))
    into v_applied, v_effects, v_freed, v_returned
    from settled s;
  if v_applied is null then return '{}'; end if;

  -- All queue rows before any wake-up: a claim holds a queue row and then asks for wake-ups.
  if v_effects is not null then
    for v_row in
      select "queueId" as queue_id, id, effect, ms, error
        from json_to_recordset(v_effects) as a(id text, "queueId" text, effect text, ms float8, error text)
       order by 1, 2
    loop
      if v_row.effect = 'hold' then
        update queue set hold_until = greatest(hold_until, v_now + v_row.ms * interval '1 millisecond'),
                         hold_job_id = case when v_now + v_row.ms * interval '1 millisecond' < hold_until
                                            then hold_job_id else v_row.id end,
                         hold_reason = case when v_now + v_row.ms * interval '1 millisecond' < hold_until
                                            then hold_reason else v_row.error end,
                         probe_job_id = nullif(probe_job_id, v_row.id)
         where id = v_row.queue_id;
      else
        update queue set hold_until = case when hold_until > v_now then hold_until end, probe_job_id = null
         where id = v_row.queue_id and probe_job_id = v_row.id;
      end if;
    end loop;
  end if;

  -- A freed slot may let a waiting job go. Jobs that are due within a wake-up's lead may have used up theirs
  -- while the queue was full.
  for v_row in
    select task, queue_id, min(due) as due
      from (select task, "queueId" as queue_id, due
              from json_to_recordset(v_returned) as returned(task text, "queueId" text, due timestamptz)
            union all
            -- "The first one" and not "exists": that may read all jobs that the queue ever had.
            select 'deliver', freed.queue_id, v_now
              from unnest(v_freed) as freed(queue_id), lateral (
                select job.scheduled_for from job where job.queue_id = freed.queue_id and job.status = 'pending'
                 order by job.scheduled_for, job.id limit 1) first
             where first.scheduled_for <= v_now + interval '2 seconds') waking
     group by 1, 2, date_trunc('second', due) order by 1, 2, 3
  loop
    perform jobferry_wake(v_row.task, v_row.queue_id, v_row.due);
  end loop;
  return v_applied;
end
$$;
