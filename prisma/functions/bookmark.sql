-- Bookmarks of queues: where reads of their jobs begin (docs/decisions/0059).
--
-- Each job that leaves a state leaves an entry in the index of that state. Vacuum removes it, but not while any
-- transaction has an older snapshot. A read from the left end of the index then passes the entries of all jobs since
-- that snapshot. So reads begin at the bookmark of the queue, which follows its claims.

-- The bookmark of a queue. Without one, or for times if the clock has gone back behind it, reads begin at the left end.
create or replace function jobferry_bookmark(
  p_queue text, p_now timestamptz,
  out number bigint, out token bigint, out early text[], out due timestamptz, out ends timestamptz
)
language plpgsql stable
as $$
declare
  v_set_at timestamptz;
begin
  select b.number, b.token, b.early, b.due, b.ends, b.set_at into number, token, early, due, ends, v_set_at
    from queue_bookmark b where b.queue_id = p_queue order by b.number desc limit 1;
  if v_set_at is null then number := -1; token := -1; early := '{}'; end if;
  if v_set_at is null or v_set_at > p_now then due := '-infinity'; ends := '-infinity'; end if;
end
$$;

-- The early jobs of a bookmark that are in flight still, and were not claimed again. The expressions that change
-- nothing keep the planner from reading the whole index of jobs in flight, which it does while statistics say that it
-- is empty.
create or replace function jobferry_early(p_early text[], p_token bigint) returns table (
  id text, status text, claim_token bigint, deadline timestamptz, deliver_by timestamptz
)
language sql stable rows 10
as $$
  select job.id, job.status, job.claim_token, job.deadline, job.deliver_by from job
   where job.id = any (p_early) and job.status || '' in ('processing', 'awaiting_ack') and job.claim_token + 0 <= p_token
$$;

-- How many jobs of the queue are in flight, by its bookmark.
create or replace function jobferry_in_flight(p_queue text) returns bigint
language plpgsql
as $$
declare
  v_token bigint; v_early text[];
  v_in_flight bigint;
begin
  select token, early into v_token, v_early from queue_bookmark where queue_id = p_queue order by number desc limit 1;
  select count(*) into v_in_flight from job
   where job.queue_id = p_queue and job.status in ('processing', 'awaiting_ack') and job.claim_token > coalesce(v_token, -1);
  if v_early <> '{}' then
    select v_in_flight + count(*) into v_in_flight from jobferry_early(v_early, v_token);
  end if;
  return v_in_flight;
end
$$;

-- The jobs in flight of a queue, with their ids, claim tokens and the times that matter.
create or replace function jobferry_flying(p_queue text) returns table (
  id text, status text, claim_token bigint, deadline timestamptz, deliver_by timestamptz
)
language sql stable rows 10
as $$
  with b as materialized (select token, early from jobferry_bookmark(p_queue, '-infinity'))
  select job.id, job.status, job.claim_token, job.deadline, job.deliver_by from job
   where job.queue_id = p_queue and job.status in ('processing', 'awaiting_ack') and job.claim_token > (select token from b)
  union all
  select early.* from b cross join lateral jobferry_early(b.early, b.token) early
$$;

-- Whether the queue has a pending job whose delivery lifetime has ended.
create or replace function jobferry_has_ended_lifetime(p_queue text, p_ends timestamptz, p_now timestamptz) returns boolean
language sql stable
as $$
  select (select true from job
           where job.queue_id || '' = p_queue and job.status = 'pending' and job.deliver_by >= p_ends and job.deliver_by <= p_now
           order by job.queue_id || '', job.deliver_by limit 1) is not null
$$;

-- Whether a claim of so many jobs moves the bookmark of their queue:
-- one of some 256 jobs does, whichever process claims them.
create or replace function jobferry_moves_bookmark(p_jobs integer) returns boolean
language sql volatile
as $$ select random() * 256 < p_jobs $$;

-- Moves the bookmark of a queue. The caller holds the queue's claim lock, and has stored its claims.
--
-- Times: jobs that are stored or put back from now on are due now or later. A transaction may have begun before and
-- commit later. So the bookmark stays behind the clock by more than any statement of Jobferry takes, and behind the
-- begin of each transaction that writes jobs: one may wait for a standby or a disk in its commit, which no limit of
-- statements ends.
create or replace function jobferry_set_bookmark(p_queue text, p_now timestamptz) returns void
language plpgsql
as $$
declare
  b record := jobferry_bookmark(p_queue, p_now);
  v_settled timestamptz := p_now - greatest(interval '15 seconds', (
    select max(clock_timestamp() - a.xact_start) + interval '5 seconds'
      from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'relation' and l.relation = 'job'::regclass and l.mode = 'RowExclusiveLock'
       -- A copy of this database has the same number for its table.
       and l.database = (select oid from pg_database where datname = current_database()) and l.pid <> pg_backend_pid()));
  v_last bigint; v_token bigint; v_early text[]; v_due timestamptz; v_ends timestamptz;
  v_share float8; -- the part of all tokens since the last bookmark that this queue has, about
begin
  select last_value into v_last from jobferry_claim_token_seq;
  v_share := least(1, 256.0 / greatest(1, v_last - b.number));
  with flying as materialized (
    select * from jobferry_flying(p_queue)
  ), choice as materialized (
    -- All jobs before a token become early ones. Each of them costs as much as reading four entries of jobs that have
    -- ended.
    select t from (
      select f.claim_token as t, rank() over (order by f.claim_token) - 1 as n from flying f
      union all select v_last + 1, count(*) from flying) tokens
     order by 4 * n + v_share * (v_last - t), t limit 1
  )
  select (select t from choice) - 1, array(select f.id from flying f where f.claim_token < (select t from choice)),
         (select min(f.deliver_by) from flying f)
    into v_token, v_early, v_ends;
  select job.scheduled_for into v_due from job
   where job.queue_id = p_queue and job.status = 'pending' and job.scheduled_for >= b.due and job.scheduled_for < v_settled
   order by job.scheduled_for limit 1;
  select least(v_ends, v_settled, (
           select job.deliver_by from job
            where job.queue_id || '' = p_queue and job.status = 'pending' and job.deliver_by >= b.ends and job.deliver_by < v_settled
            order by job.queue_id || '', job.deliver_by limit 1)) into v_ends;
  -- All of them: the sequence is behind after an incomplete restore.
  delete from queue_bookmark where queue_id = p_queue and queue_bookmark.number >= least(b.number, v_last);
  insert into queue_bookmark (queue_id, number, token, early, due, ends, set_at)
  values (p_queue, v_last, v_token, v_early, coalesce(v_due, v_settled), v_ends, p_now);
end
$$;

-- Moves the bookmark of one of the queues, of which p_jobs[i] jobs were claimed at p_times[i]:
-- by chance, busy queues more often.
create or replace function jobferry_set_one_bookmark(p_queues text[], p_jobs integer[], p_times timestamptz[]) returns void
language sql
as $$
  select jobferry_set_bookmark(chosen.queue, chosen.at)
    from (select queue, at from unnest(p_queues, p_jobs, p_times) as claimed(queue, jobs, at)
           order by ln(1 - random()) / jobs desc limit 1) chosen
$$;
