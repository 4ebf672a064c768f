-- Writes the outcomes of a batch of jobs, of any queues. Each item is the new state of a job, and the status and claim
-- token on which it was decided ("expected", "token"): it applies only if the job still has both. Returns the ids of
-- the items that applied; the others lost a race, which is normal. Waits are durations from this statement on, so no
-- retry starts before its wait is over. p_successes: every item is a delivery that completed its job and changes
-- nothing else; null: nothing else but the breaker of a queue.
--
-- Step by step: one statement changes the jobs and writes attempts and dead letters (jobferry_settle_outcomes, or
-- jobferry_settle_completed, which costs a quarter less); queues are held or released (jobferry_settle_holds); wake-ups
-- are written (jobferry_wake_waiting); the month's usage of deliveries that could not begin is taken back
-- (jobferry_take_back_attempts).
create or replace function jobferry_settle(p_items json, p_successes boolean) returns text[]
language plpgsql
-- A batch is small and the table is large. Without these settings the planner, which expects 100 rows from any JSON,
-- reads the whole table while it is still small enough to look cheap, and sorts all pending jobs, because few rows in a
-- small index look cheaper than the first one in a larger index that has the order. A session keeps the plans of its
-- first deliveries. The settings also apply to the functions that are called from here.
set plan_cache_mode = force_generic_plan -- the plan is the same for any arguments, and a custom one is made at each call
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  v_now timestamptz;
  v_applied text[];
  v_settled record;
begin
  -- The clock is read after waiting for a lock of the whole table, or that wait would count as part of the backoff.
  lock table job in row exclusive mode;
  v_now := jobferry_now();
  if p_successes is not false then
    v_applied := jobferry_settle_completed(p_items, v_now);
    if p_successes is null then perform jobferry_settle_alive(p_items, v_applied, v_now); end if;
    return coalesce(v_applied, '{}');
  end if;
  v_settled := jobferry_settle_outcomes(p_items, v_now);
  if v_settled.applied is null then return '{}'; end if;

  -- Rows of queues are locked before wake-ups, as a claim does.
  if v_settled.effects is not null then perform jobferry_settle_holds(v_settled.effects, v_now); end if;
  if v_settled.tasks is not null then perform jobferry_wake_waiting(v_settled.tasks, v_settled.queues, v_settled.dues); end if;
  -- Usage is locked last, as a claim does. The search saves parsing the items again: within a JSON string the quotes
  -- would be escaped.
  if strpos(p_items::text, '"unbilled":true') > 0 then
    perform jobferry_take_back_attempts(p_items, v_settled.applied);
  end if;
  return v_settled.applied;
end
$$;

-- Its steps ---------------------------------------------------------------------------------------

-- Completes the jobs of the items that apply, and writes their history.
-- What an item repeats of its job is left as it is.
create or replace function jobferry_settle_completed(p_items json, p_now timestamptz) returns text[]
language plpgsql
as $$
declare
  v_applied text[];
begin
  with item as materialized (
    select * from json_to_recordset(p_items) as i(
             id text, expected text, token bigint, "entryAttempt" integer, "entryCode" integer, "answerMs" integer,
             "answerBody" text)
     -- Nested loops keep this order, so jobs are locked by id, and two batches cannot deadlock.
     order by i.id
  ), settled as (
    update job set status = 'completed', completed_at = p_now, interruptions = 0, worker_id = null, deadline = null,
                   wait_reason = null, history_count = job.history_count + 1
      from item
     -- With 'processing' in place of item.expected, which is the same, the planner reads all jobs in flight of all
     -- queues by the index that has only these, if there were few when the table was analyzed.
     where job.id = item.id and job.status = item.expected and job.claim_token = item.token
    returning job.id, job.history_count, job.queue_id, job.claimed_at, job.scheduled_for, item."entryAttempt",
              item."entryCode", item."answerMs", item."answerBody"
  ), entries as (
    insert into attempt (job_id, ordinal, queue_id, attempt, status, webhook_status_code, "timestamp",
                         duration_ms, wait_ms, response_body, started_at)
    select s.id, s.history_count, s.queue_id, s."entryAttempt", 'success', s."entryCode", p_now, s."answerMs",
           jobferry_wait_ms(s.claimed_at, s.scheduled_for), s."answerBody", s.claimed_at
      from settled s
  )
  select array_agg(s.id) into v_applied from settled s;
  return v_applied;
end
$$;

-- Completes one job that was delivered, as jobferry_settle would: below some hundred jobs a second nearly every batch
-- is of one, and sets and JSON are half of the price (docs/decisions/0058). Returns false if another settlement came
-- first.
create or replace function jobferry_settle_one(
  p_id text, p_token bigint, p_attempt integer, p_code integer, p_duration_ms integer, p_body text
) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan -- as in jobferry_settle
set enable_seqscan = off
as $$
declare
  v_now timestamptz := jobferry_now();
  v_job record;
begin
  update job set status = 'completed', completed_at = v_now, interruptions = 0, worker_id = null, deadline = null,
                 wait_reason = null, history_count = job.history_count + 1
   -- As in jobferry_settle_completed: with the status itself, the planner may read all jobs in flight.
   where job.id = p_id and job.status || '' = 'processing' and job.claim_token = p_token
  returning job.queue_id, job.history_count, job.claimed_at, job.scheduled_for into v_job;
  if not found then return false; end if;
  insert into attempt (job_id, ordinal, queue_id, attempt, status, webhook_status_code, "timestamp",
                       duration_ms, wait_ms, response_body, started_at)
  values (p_id, v_job.history_count, v_job.queue_id, p_attempt, 'success', p_code, v_now,
          p_duration_ms, jobferry_wait_ms(v_job.claimed_at, v_job.scheduled_for), p_body, v_job.claimed_at);
  return true;
end
$$;

-- How late the delivery of a job began, for any reason.
create or replace function jobferry_wait_ms(p_claimed_at timestamptz, p_scheduled_for timestamptz) returns integer
language sql immutable
as $$ select least(greatest(extract(epoch from p_claimed_at - p_scheduled_for) * 1000, 0), 2147483647)::integer $$;

-- Changes the jobs of the items that apply, writes their history and their dead letters,
-- and returns what is left to do.
--   applied              ids of the jobs
--   effects              for jobferry_settle_holds
--   tasks, queues, dues  jobs that wait again: for a delivery (pending) or the end of an ack deadline (awaiting_ack)
create or replace function jobferry_settle_outcomes(
  p_items json, p_now timestamptz,
  out applied text[], out effects json, out tasks text[], out queues text[], out dues timestamptz[]
)
language plpgsql
as $$
begin
  with decided as materialized (
    -- A job must not go back to a queue that is deleted (D17).
    select item.*, j.queue_id, q.dlq_enabled and q.deleted_at is null as keeps_dead_letters, j.answer_ms, j.answer_body,
           case when item.status = 'pending' and q.deleted_at is not null then 'dead' else item.status end as final,
           case when item.status = 'pending' and q.deleted_at is not null then 'queue_deleted'
                else item."deadReason" end as reason,
           jobferry_wait_ms(j.claimed_at, j.scheduled_for) as wait_ms
      from json_to_recordset(p_items) as item(
             id text, expected text, token bigint, status text, attempts integer, "deferCount" integer,
             "shortHolds" integer, interruptions integer, "waitMs" float8, "lastError" text, "deadReason" text,
             "entryAttempt" integer, "entryStatus" text, "entryError" text, "entryCode" integer,
             "answerCode" integer, "answerMs" integer, "answerBody" text, effect text, "effectMs" float8)
      join job j on j.id = item.id and j.status = item.expected and j.claim_token = item.token
      join queue q on q.id = j.queue_id
     -- Nested loops keep this order, so jobs are locked by id, and two batches cannot deadlock.
     order by item.id
  ), settled as (
    update job set
      status = d.final, attempts = d.attempts, defer_count = d."deferCount", short_holds = coalesce(d."shortHolds", 0),
      interruptions = d.interruptions, dead_reason = d.reason, worker_id = null,
      last_error = case when d.reason = 'queue_deleted' then d.reason else d."lastError" end,
      scheduled_for = case when d.final = 'pending' then p_now + d."waitMs" * interval '1 millisecond'
                           else job.scheduled_for end,
      deadline = case when d.final = 'awaiting_ack' then p_now + d."waitMs" * interval '1 millisecond' end,
      completed_at = case when d.final = 'completed' then p_now end,
      dead_at = case when d.final = 'dead' then p_now end,
      wait_reason = case when d.final <> 'pending' then null
                         when d."entryStatus" = 'deferred' then 'hold'
                         -- Without an entry if the delivery could not begin.
                         when d."entryStatus" is not null or d."waitMs" > 0 then 'backoff' end,
      history_count = job.history_count + case when d."entryStatus" is null then 0 else 1 end,
      answer_status_code = case when d.final = 'awaiting_ack' then d."answerCode" end,
      answer_ms = case when d.final = 'awaiting_ack' then d."answerMs" end,
      answer_body = case when d.final = 'awaiting_ack' then d."answerBody" end
    from decided d
    where job.id = d.id and job.status = d.expected and job.claim_token = d.token
    returning job.id, job.queue_id, job.status, job.last_error, job.history_count, job.claimed_at, job.payload_key,
              d.keeps_dead_letters, d.reason,
              case job.status when 'pending' then job.scheduled_for when 'awaiting_ack' then job.deadline end as waits_until,
              d.effect, d."effectMs", d."entryAttempt", d."entryStatus", d."entryError", d."entryCode", d.wait_ms,
              coalesce(d."answerMs", d.answer_ms) as duration_ms, coalesce(d."answerBody", d.answer_body) as body
  ), entries as (
    insert into attempt (job_id, ordinal, queue_id, attempt, status, error, webhook_status_code, "timestamp",
                         duration_ms, wait_ms, response_body, started_at, next_at)
    select s.id, s.history_count, s.queue_id, s."entryAttempt", s."entryStatus", s."entryError", s."entryCode", p_now,
           s.duration_ms, s.wait_ms, s.body, s.claimed_at, case s.status when 'pending' then s.waits_until end
      from settled s where s."entryStatus" is not null
  ), letters as (
    insert into dead_letter (id, job_id, queue_id, reason, error, webhook_status_code, fingerprint, answer, dead_at)
    select jobferry_id(p_now), s.id, s.queue_id, s.reason, s.last_error, s."entryCode",
           jobferry_fingerprint(s.reason, s."entryCode", s.last_error),
           -- The answer is encrypted if the payload is. Its text proves nothing: a receiver chooses it.
           jobferry_answer_line(s."entryCode", case when s.payload_key is null then s.body end), p_now
      from settled s
     -- A cancelled job is what its owner wanted, and no delivery that failed.
     where s.status = 'dead' and s.keeps_dead_letters and s.reason <> 'cancelled' order by s.id
  )
  select array_agg(s.id),
         json_agg(json_build_object('queue_id', s.queue_id, 'id', s.id, 'effect', s.effect, 'ms', s."effectMs",
                                    'error', s."entryError")) filter (where s.effect is not null),
         array_agg(case s.status when 'pending' then 'deliver' else 'timeout' end) filter (where s.waits_until is not null),
         array_agg(s.queue_id) filter (where s.waits_until is not null),
         array_agg(s.waits_until) filter (where s.waits_until is not null)
    into applied, effects, tasks, queues, dues from settled s;
end
$$;

-- Holds queues that a receiver has asked to slow down, releases queues whose probe has ended, and tells breakers of
-- answers. p_effects: objects with queue_id, id of the job, effect, ms and error. Queues are locked in the order of
-- their ids.
create or replace function jobferry_settle_holds(p_effects json, p_now timestamptz) returns void
language plpgsql
as $$
declare
  v_row record;
  v_until timestamptz;
begin
  for v_row in
    select e.queue_id, e.effect, min(e.id) as id, array_agg(e.id order by e.id) as jobs, max(e.ms) as ms,
           (array_agg(e.error order by e.id))[1] as error,
           bool_or(bool_or(e.effect in ('alive', 'accepted'))) over (partition by e.queue_id) as is_alive
      from json_to_recordset(p_effects) as e(queue_id text, id text, effect text, ms float8, error text)
     group by 1, 2, case when e.effect in ('hold', 'resume') then e.id end
     -- The order of answers that are settled together is not known:
     -- an accepted one comes last, and no row of failures is without it.
     order by 1, e.effect not in ('hold', 'resume'), e.effect <> 'failing', 3
  loop
    if v_row.effect = 'failing' then
      perform jobferry_breaker_failing(v_row.queue_id, v_row.jobs, not v_row.is_alive, v_row.ms, v_row.error, p_now);
    elsif v_row.effect in ('alive', 'accepted') then
      perform jobferry_breaker_alive(v_row.queue_id, v_row.jobs, v_row.effect = 'alive', p_now);
    elsif v_row.effect = 'hold' then
      v_until := p_now + v_row.ms * interval '1 millisecond';
      -- The hold that ends last counts.
      update queue set hold_until = greatest(hold_until, v_until),
                       hold_since = case when hold_until is null then p_now else hold_since end,
                       hold_job_id = case when v_until < hold_until then hold_job_id else v_row.id end,
                       hold_reason = case when v_until < hold_until then hold_reason else v_row.error end,
                       probe_job_id = nullif(probe_job_id, v_row.id)
       where id = v_row.queue_id;
    else
      -- The hold of an open breaker ends when it closes: another probe follows.
      update queue set hold_until = case when hold_until > p_now or breaker_opened_at is not null then hold_until end,
                       probe_job_id = null
       where id = v_row.queue_id and probe_job_id = v_row.id;
    end if;
  end loop;
end
$$;

-- Writes wake-ups for jobs that wait again: p_tasks[i] of p_queues[i] at p_dues[i].
create or replace function jobferry_wake_waiting(p_tasks text[], p_queues text[], p_dues timestamptz[]) returns void
language plpgsql
as $$
declare
  v_row record;
begin
  for v_row in
    select task, queue_id, min(due) as due from unnest(p_tasks, p_queues, p_dues) as waiting(task, queue_id, due)
     group by 1, 2, date_trunc('second', due) order by 1, 2, 3
  loop
    perform jobferry_wake(v_row.task, v_row.queue_id, v_row.due);
  end loop;
end
$$;
