-- Takes due jobs of each of the queues for a worker: at most p_capacities[i] jobs of p_queues[i]. It stops after the job
-- that brings the payloads to p_bytes[i]; that job is still taken. The lease of the jobs ends after p_lease.
--
-- p_since[i]: the caller has claimed all jobs of the queue that were due before, as far as it knows; null if it does not. The
-- claim begins there, and looks at all jobs if it finds none. Entries of claimed jobs stay in the index until the next vacuum:
-- behind 15 000 of them, four seconds of a busy queue, a claim of 30 jobs costs half as much again.
--
-- Returns the claimed jobs in any order, and one row without a job for each queue that gave none. wait_ms is the time in
-- milliseconds until another claim of the queue can take a job:
--   0 in a row without a job   another transaction has locked the queue or its due jobs
--   null                       only an event (a settle, an edit) can make room
--   infinity                   no job is left
--
-- Step by step: jobferry_pick_usual selects and locks jobs of all queues at once that only their slots limit, and
-- jobferry_pick those of each other queue; one UPDATE claims all of them; wake-ups for the next claim and for the end of the
-- leases are written; the account's monthly usage is counted.
--
-- A claim skips rows of queues and jobs that are locked. It waits only for wake-ups (by task, queue and time, as
-- jobferry_settle and jobferry_publish do) and then, last, for the accounts' usage, by id. So they cannot deadlock. The
-- usage is last, because the claims of all queues of an account wait for each other there.
--
-- A claim reads few rows. Without the settings below, the planner may read or sort the whole table, here and in the functions
-- that are called from here.
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
  if v_ids is not null then
    perform jobferry_wake_all('timeout', v_queues, array(select at + p_lease from unnest(v_times) at));
    perform jobferry_count_attempts(v_accounts, v_times, v_counts);
  end if;
end
$$;
