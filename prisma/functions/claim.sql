-- Takes due jobs of each of the queues for a worker: at most p_capacities[i] jobs of p_queues[i]. It stops after the
-- job that brings the payloads to p_bytes[i]; that job is still taken. The lease of the jobs ends after p_lease.
--
-- p_since[i]: the caller has claimed all jobs of the queue that were due before, as far as it knows; null if it does
-- not. The claim begins there, and looks at all jobs if it finds none. Entries of claimed jobs stay in the index until
-- the next vacuum: behind 15 000 of them, four seconds of a busy queue, a claim of 30 jobs costs half as much again.
--
-- Returns the claimed jobs in any order, and one row without a job for each queue that gave none. wait_ms is the time
-- in milliseconds until another claim of the queue can take a job:
--   0 in a row without a job   another transaction has locked the queue or its due jobs
--   null                       only an event (a settle, an edit) can make room
--   infinity                   no job is left
--
-- Step by step: jobferry_pick_usual selects and locks jobs of all queues at once that only their slots limit, and
-- jobferry_pick those of each other queue; one UPDATE claims all of them; wake-ups for the next claim are written; the
-- account's monthly usage is counted. The end of a lease has no wake-up: a worker that dies is seen, and the reconciler
-- finds what else is overdue within 5 s (docs/decisions/0058).
--
-- A claim skips rows of queues and jobs that are locked. It waits only for wake-ups (by task, queue and time, as
-- jobferry_settle and jobferry_publish do) and then, last, for the accounts' usage, by id. So they cannot deadlock. The
-- usage is last, because the claims of all queues of an account wait for each other there.
--
-- A claim reads few rows. Without the settings below, the planner may read or sort the whole table, here and in the
-- functions that are called from here.
create or replace function jobferry_claim(
  p_queues text[], p_capacities integer[], p_bytes integer[], p_since timestamptz[], p_worker integer, p_lease interval
)
returns table (
  queue_id text, claimed_at timestamptz, wait_ms float8, queue_deleted boolean,
  id text, claim_token bigint, account_id text, queue_name text, webhook_url text, signing_secret text,
  payload text, created_at timestamptz, scheduled_for timestamptz, deliver_by timestamptz, last_error text,
  attempts integer, max_attempts integer, defer_count integer, short_holds integer, interruptions integer,
  backoff_type text, backoff_delay float8,
  mode text, max_defers integer, ack_timeout float8, ack_timeout_action text, is_probe boolean,
  next_signing_secret text, trace_context text
)
language plpgsql
set plan_cache_mode = force_generic_plan -- the plan is the same for any arguments, and a custom one is made at each call
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_asked record; v_pick record; v_ids text[];
  -- Facts about the queues that gave jobs, at the same positions.
  v_queues text[]; v_times timestamptz[]; v_waits float8[]; v_probes boolean[]; v_accounts text[]; v_counts integer[];
  v_waking text[]; v_wakes timestamptz[]; -- the wake-ups that jobferry_pick wants
begin
  for v_asked in
    select * from unnest(p_queues, p_capacities, p_bytes) as asked(queue, jobs, bytes)
           left join jobferry_pick_usual(p_queues, p_capacities, p_bytes, p_since) usual on usual.of_queue = asked.queue
     order by asked.queue collate "C"
  loop
    v_pick := v_asked;
    if v_asked.of_queue is null then v_pick := jobferry_pick(v_asked.queue, v_asked.jobs, v_asked.bytes); end if;
    if v_pick.wakes_at is not null then
      v_waking := v_waking || v_asked.queue;
      v_wakes := v_wakes || v_pick.wakes_at;
    end if;
    if cardinality(v_pick.ids) = 0 then
      queue_id := v_asked.queue;
      claimed_at := v_pick.picked_at;
      wait_ms := v_pick.wait_ms;
      queue_deleted := v_pick.is_deleted;
      return next;
    else
      v_ids := v_ids || v_pick.ids;
      v_queues := v_queues || v_asked.queue;
      v_times := v_times || v_pick.picked_at;
      v_waits := v_waits || v_pick.wait_ms;
      v_probes := v_probes || v_pick.is_probe;
      v_accounts := v_accounts || v_pick.account_id;
      v_counts := v_counts || cardinality(v_pick.ids);
    end if;
  end loop;

  if v_ids is not null then
    return query
      update job set status = 'processing', attempts = job.attempts + 1,
                     claim_token = nextval('jobferry_claim_token_seq'), worker_id = p_worker,
                     claimed_at = v_times[array_position(v_queues, job.queue_id)],
                     deadline = v_times[array_position(v_queues, job.queue_id)] + p_lease,
                     mode = q.mode, max_defers = q.max_defers, ack_timeout_action = q.ack_timeout_action,
                     wait_reason = null, progress = null, progress_at = null
        from queue q
       where job.id = any (v_ids) and q.id = job.queue_id
      returning job.queue_id, job.claimed_at::timestamptz, v_waits[array_position(v_queues, job.queue_id)], false,
                job.id, job.claim_token, job.account_id, q.name, q.webhook_url, q.signing_secret,
                job.payload, job.created_at::timestamptz, job.scheduled_for::timestamptz,
                greatest(job.deliver_by, q.lifetime_floor)::timestamptz, job.last_error,
                job.attempts, job.max_attempts, job.defer_count, job.short_holds, job.interruptions,
                job.backoff_type, job.backoff_delay,
                job.mode, job.max_defers, q.ack_timeout, job.ack_timeout_action,
                v_probes[array_position(v_queues, job.queue_id)], q.next_signing_secret, job.trace_context;
  end if;
  if v_waking is not null then perform jobferry_wake_all('deliver', v_waking, v_wakes); end if;
  if v_ids is null then return; end if;
  if jobferry_moves_bookmark(cardinality(v_ids)) then perform jobferry_set_one_bookmark(v_queues, v_counts, v_times); end if;
  perform jobferry_count_attempts(v_accounts, v_times, v_counts);
end
$$;

-- Takes due jobs of one queue, as jobferry_claim would: below some hundred jobs a second nearly every claim is of one
-- queue, and sets are half of the price (docs/decisions/0058). What is not usual goes the other way: another
-- transaction has the queue, more than its slots limits it, a lifetime has ended, or no job has become due since
-- p_since.
create or replace function jobferry_claim_one(
  p_queue text, p_capacity integer, p_bytes integer, p_since timestamptz, p_worker integer, p_lease interval
)
returns table (
  queue_id text, claimed_at timestamptz, wait_ms float8, queue_deleted boolean,
  id text, claim_token bigint, account_id text, queue_name text, webhook_url text, signing_secret text,
  payload text, created_at timestamptz, scheduled_for timestamptz, deliver_by timestamptz, last_error text,
  attempts integer, max_attempts integer, defer_count integer, short_holds integer, interruptions integer,
  backoff_type text, backoff_delay float8,
  mode text, max_defers integer, ack_timeout float8, ack_timeout_action text, is_probe boolean,
  next_signing_secret text, trace_context text
)
language plpgsql
set plan_cache_mode = force_generic_plan -- as in jobferry_claim
set enable_seqscan = off
set enable_sort = off
as $$
#variable_conflict use_column
declare
  q queue%rowtype;
  v_now timestamptz; v_first timestamptz := p_since; v_ends timestamptz;
  v_slots integer; v_most integer; v_ids text[]; v_next timestamptz; v_wait_ms float8;
begin
  if pg_try_advisory_xact_lock(hashtextextended('jobferry claim ' || p_queue, 0)) then
    select * into q from queue where queue.id = p_queue for no key update skip locked;
  end if;
  v_now := jobferry_now();
  if p_since is null then select b.due, b.ends into v_first, v_ends from jobferry_bookmark(p_queue, v_now) b; end if;
  if q.id is not null and jobferry_is_usual(q) and (p_since is not null or not (
       coalesce(q.lifetime_floor <= v_now, true) and jobferry_has_ended_lifetime(p_queue, v_ends, v_now))) then
    v_slots := q.concurrency - jobferry_in_flight(p_queue);
    v_most := greatest(0, least(v_slots, p_capacity, p_bytes));
    -- Mostly one job is due. The sizes of several, which jobferry_pick_due_since adds up, are a tenth of this claim.
    v_ids := array(
      select job.id from job
       where job.queue_id = p_queue and job.status = 'pending' and job.scheduled_for between v_first and v_now
         and greatest(job.deliver_by, q.lifetime_floor) > v_now
       order by job.scheduled_for, job.id limit least(v_most, 2) for no key update skip locked);
    if cardinality(v_ids) > 1 then
      v_ids := jobferry_pick_due_since(p_queue, v_now, v_first, q.lifetime_floor, v_most, p_bytes);
    end if;
  end if;
  if v_ids is null or (p_since is not null and v_ids = '{}') then
    return query select * from jobferry_claim(array[p_queue], array[p_capacity], array[p_bytes], array[p_since], p_worker, p_lease);
    return;
  end if;

  if cardinality(v_ids) < v_slots then
    select job.scheduled_for into v_next from job
     where job.queue_id = p_queue and job.status = 'pending' and job.id <> all (v_ids) and job.scheduled_for >= v_first
     order by job.scheduled_for limit 1;
    v_wait_ms := case when v_next is null then 'infinity' else greatest(0, extract(epoch from v_next - v_now) * 1000) end;
  end if;
  if v_ids = '{}' then
    queue_id := p_queue; claimed_at := v_now; wait_ms := v_wait_ms; queue_deleted := false;
    return next;
    return;
  end if;
  return query
    update job set status = 'processing', attempts = job.attempts + 1,
                   claim_token = nextval('jobferry_claim_token_seq'), worker_id = p_worker,
                   claimed_at = v_now, deadline = v_now + p_lease,
                   mode = q.mode, max_defers = q.max_defers, ack_timeout_action = q.ack_timeout_action,
                   wait_reason = null, progress = null, progress_at = null
     where job.id = any (v_ids)
    returning job.queue_id, job.claimed_at::timestamptz, v_wait_ms, false,
              job.id, job.claim_token, job.account_id, q.name, q.webhook_url, q.signing_secret,
              job.payload, job.created_at::timestamptz, job.scheduled_for::timestamptz,
              greatest(job.deliver_by, q.lifetime_floor)::timestamptz, job.last_error,
              job.attempts, job.max_attempts, job.defer_count, job.short_holds, job.interruptions,
              job.backoff_type, job.backoff_delay,
              job.mode, job.max_defers, q.ack_timeout, job.ack_timeout_action, false, null::text, job.trace_context;
  if jobferry_moves_bookmark(cardinality(v_ids)) then perform jobferry_set_bookmark(p_queue, v_now); end if;
  perform jobferry_count_attempt(q.account_id, v_now, cardinality(v_ids));
end
$$;
