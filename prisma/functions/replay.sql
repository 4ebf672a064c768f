-- Publishes dead letters of a queue again, as new jobs (D19): the dead letters p_ids, or the oldest p_max that were not
-- replayed if p_ids is null, and of these as many as have p_bytes of payload together.
--
-- `outcome` is done, queue_deleted or limit_reached. `jobs` has the new jobs. `skipped` has those of p_ids that were
-- not replayed, with the reason: already_replayed, not_found, or postponed (p_bytes were used up). `remaining` counts
-- the dead letters of the queue that are left to replay, up to p_count.
create or replace function jobferry_replay(
  p_queue text, p_ids text[], p_max integer, p_limit bigint, p_retention interval, p_lifetime interval,
  p_count integer default 5000000, p_bytes integer default 33554432
) returns json
language plpgsql
set enable_seqscan = off -- as in jobferry_settle
as $$
declare
  v_now timestamptz := jobferry_now();
  -- Computed once: a cached plan would compute it for each row.
  v_first text := jobferry_first_id(v_now - p_retention);
  q queue%rowtype;
  v_taken text[];
  v_jobs json;
begin
  select * into q from queue where id = p_queue and deleted_at is null for key share;
  if q.id is null then return json_build_object('outcome', 'queue_deleted'); end if;
  if jobferry_limit_reached(q.account_id, p_limit, v_now) then
    return json_build_object('outcome', 'limit_reached');
  end if;
  v_taken := jobferry_take_letters(p_queue, p_ids, p_max, p_bytes, p_retention, p_lifetime, v_now);

  with source as materialized (
    select d.id as letter_id, jobferry_id(v_now) as new_id, j.id as job_id, j.account_id, j.payload, j.payload_key
      from dead_letter d join job j on j.id = d.job_id
     where d.id = any (v_taken) order by d.id
  ), created as (
    insert into job (id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, payload, payload_key,
                     scheduled_for, deliver_by, created_at, replay_of)
    select new_id, account_id, p_queue, q.max_attempts, q.backoff_type, q.backoff_delay, payload, payload_key,
           v_now, v_now + p_lifetime, v_now, job_id
      from source
  ), marked as (
    update dead_letter set replayed_at = v_now, replayed_job_id = s.new_id
      from source s where dead_letter.id = s.letter_id
  )
  select json_agg(json_build_object('id', letter_id, 'replayedJobId', new_id) order by letter_id)
    into v_jobs from source;
  if v_jobs is not null then perform jobferry_wake('deliver', p_queue, v_now); end if;

  return json_build_object(
    'outcome', 'done',
    'createdAt', extract(epoch from v_now) * 1000,
    'jobs', coalesce(v_jobs, '[]'),
    'skipped', (select coalesce(json_agg(json_build_object('id', asked.id, 'reason',
                   case when d.id is null then 'not_found' when d.replayed_at is null then 'postponed'
                        else 'already_replayed' end) order by asked.n), '[]')
                  from unnest(p_ids) with ordinality as asked(id, n)
                  left join dead_letter d on d.id = asked.id and d.queue_id = p_queue
                        and (d.job_id >= v_first
                             or d.dead_at >= greatest(jobferry_created_at(d.job_id) + p_retention, v_now - p_lifetime))
                 where not exists (select from unnest(v_taken) as taken(id) where taken.id = asked.id)),
    -- Those that were taken are marked by now. Not "id <> all (v_taken)": a cached plan compares each of the others
    -- with each of these.
    'remaining', (select count(*) from (
                    select from dead_letter
                     where queue_id = p_queue and replayed_at is null
                       and (job_id >= v_first
                            or dead_at >= greatest(jobferry_created_at(job_id) + p_retention, v_now - p_lifetime))
                     limit p_count) left_over));
end
$$;

-- Locks dead letters of the queue that can be replayed, and returns their ids: see jobferry_replay.
create or replace function jobferry_take_letters(
  p_queue text, p_ids text[], p_max integer, p_bytes integer, p_retention interval, p_lifetime interval, p_now timestamptz
) returns text[]
language plpgsql
as $$
declare
  v_first text := jobferry_first_id(p_now - p_retention);
  v_taken text[];
begin
  if p_ids is null then
    -- Skips the entries that another call is replaying.
    v_taken := array(
      select id from dead_letter
       where queue_id = p_queue and replayed_at is null
         and (job_id >= v_first or dead_at >= greatest(jobferry_created_at(job_id) + p_retention, p_now - p_lifetime))
       order by id limit p_max for no key update skip locked);
  else
    -- Waits for other calls instead: the later call then reports "already replayed".
    perform from dead_letter where queue_id = p_queue and id = any (p_ids) order by id for no key update;
    v_taken := array(
      select id from dead_letter
       where queue_id = p_queue and id = any (p_ids) and replayed_at is null
         and (job_id >= v_first or dead_at >= greatest(jobferry_created_at(job_id) + p_retention, p_now - p_lifetime))
       order by id);
  end if;
  return array(
    select sized.id
      from (select d.id, sum(octet_length(j.payload)) over (order by d.id) - octet_length(j.payload) as bytes_before
              from dead_letter d join job j on j.id = d.job_id where d.id = any (v_taken)) sized
     where sized.bytes_before < p_bytes order by sized.id);
end
$$;
