-- The payload as jsonb for searches; null if it cannot be searched: too large, or encrypted. Never fails. jsonb cannot
-- hold NUL and lone surrogates, which become U+FFFD, and numbers beyond `numeric`, which become null.
create or replace function jobferry_searchable(p_payload text) returns jsonb
language plpgsql immutable strict
as $$
declare
  v_text text;
begin
  if octet_length(p_payload) > 65536 or starts_with(p_payload, 'enc:') then return null; end if;
  begin
    return p_payload::jsonb;
  exception when others then null;
  end;
  -- After this, each backslash that is left begins an escape.
  v_text := replace(p_payload, '\\', '\u005c');
  v_text := replace(v_text, '\u0000', '\ufffd');
  -- Pairs of surrogates are marked by a character that JSON has nowhere unescaped; halves that are left are lone.
  -- No look-behind: PostgreSQL's takes time that is quadratic in the length of the text.
  v_text := regexp_replace(v_text, '\\(u[dD][89abAB][0-9a-fA-F]{2})\\(u[dD][c-fC-F][0-9a-fA-F]{2})', E'\x01\\1\x01\\2', 'g');
  v_text := regexp_replace(v_text, '\\u[dD][89a-fA-F][0-9a-fA-F]{2}', '\\ufffd', 'g');
  v_text := replace(v_text, E'\x01', '\');
  -- A string that contains the same characters is changed, too, which only affects searches for it.
  v_text := regexp_replace(v_text, '([:,[]\s*)-?[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]{5,}(?=\s*[],}])', '\1null', 'g');
  begin
    return v_text::jsonb;
  exception when others then return null;
  end;
end
$$;

-- Makes the next batch of payloads searchable. Returns the number of jobs for which it wrote a row; 0 if nothing is
-- left, or another process does it now or did it less than p_pause ago.
--
-- Each account has a share of a batch: p_max jobs and 1 MiB. If the batch continues after an account's share, for the
-- sake of other accounts, the rest of that account waits for its turn (jobferry_index_waiting). With p_parse false
-- every payload of the batch waits, so the position can move past a payload that makes a batch fail.
--
-- The id of a job has the time of its creation, but the job becomes visible when its transaction ends. So the index
-- stays p_lag behind, which is longer than a statement may take, and behind every transaction that writes, because a
-- commit can stall. It stays at most a minute behind, so a forgotten session cannot stop it.
--
-- When the clock goes back, new jobs get ids below the position. The position, which is never ahead of the clock less
-- p_lag, then is, and goes back by a minute more than that, for the jobs that were created before this was noticed.
-- Jobs that are indexed already are read again and change nothing.
create or replace function jobferry_index_payloads(
  p_max integer, p_pause interval default '0', p_lag interval default '5 s', p_parse boolean default true
) returns integer
language plpgsql
as $$
declare
  v_after text;
  v_updated timestamptz;
  v_oldest interval;
  v_until text;
  v_last text;
  v_count integer;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('jobferry search', 0)) then return 0; end if;
  -- A later statement than the lock, so that it sees what the previous holder committed.
  select position, updated_at into v_after, v_updated from follower where name = 'search';
  if clock_timestamp() - v_updated between -p_pause and p_pause then return 0; end if;
  if v_after > jobferry_first_id(jobferry_now() - p_lag + interval '1 ms') then
    v_after := jobferry_first_id(jobferry_now() - p_lag - interval '60 s');
    update follower set position = v_after where name = 'search';
  end if;
  select max(clock_timestamp() - xact_start) into v_oldest from pg_stat_activity
   where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid();
  v_until := jobferry_first_id(
    jobferry_now() - least(greatest(p_lag, v_oldest + interval '10 ms'), interval '60 s'));

  with next as materialized (
    select id, account_id, queue_id, payload, least(octet_length(payload), 65536) as bytes from job
     where id > v_after and id < v_until order by id limit 4 * p_max
  ), shared as (
    select *, row_number() over own = 1 or row_number() over own <= p_max and sum(bytes) over own <= 1048576 as in_share
      from next window own as (partition by account_id order by id)
  ), counted as materialized (
    select *, count(*) filter (where in_share) over before as n, sum(bytes) filter (where in_share) over before as sum_bytes
      from shared window before as (order by id)
  ), batch as materialized (
    select id, queue_id, payload, account_id, not (in_share and p_parse) as waits from counted
     where id <= (select max(id) from counted where in_share and n <= 2 * p_max and sum_bytes <= 2097152)
  ), parsed as materialized (
    -- Materialized, because the document is used twice and would be parsed twice.
    select id, queue_id, case when waits then account_id end as waiting_account,
           case when not waits then jobferry_searchable(payload) end as document from batch
  ), written as (
    insert into job_search (job_id, queue_id, doc, waiting_account)
    select id, queue_id, case when document is not null then jsonb_build_object(queue_id, document) end, waiting_account
      from parsed
     order by id
        on conflict (job_id) do nothing
  )
  select count(*), max(id) into v_count, v_last from batch;
  if v_last is not null then
    update follower set position = v_last, updated_at = clock_timestamp() where name = 'search';
  end if;
  return v_count;
end
$$;

-- Makes payloads searchable that wait for their account's turn: up to p_max jobs and p_bytes of one account; the next
-- call takes the next account. Returns their number. p_give_up: they become unsearchable, because indexing failed
-- repeatedly.
create or replace function jobferry_index_waiting(
  p_max integer, p_bytes integer, p_pause interval default '0', p_give_up boolean default false
) returns integer
language plpgsql
as $$
declare
  v_before text;
  v_updated timestamptz;
  v_account text;
  v_count integer;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('jobferry search', 0)) then return 0; end if;
  select position, updated_at into v_before, v_updated from follower where name = 'search-turn';
  if clock_timestamp() - v_updated between -p_pause and p_pause then return 0; end if;
  select waiting_account into v_account from job_search
   where waiting_account > v_before order by waiting_account limit 1;
  if v_account is null then
    select waiting_account into v_account from job_search where waiting_account is not null order by waiting_account limit 1;
  end if;
  if v_account is null then return 0; end if;

  with next as (
    select job_id, queue_id from job_search
     where waiting_account = v_account order by queue_id, job_id limit p_max
  ), sized as (
    select next.job_id, job.payload, row_number() over before as n,
           sum(least(octet_length(job.payload), 65536)) over before as bytes
      from next left join job on job.id = next.job_id
    window before as (order by next.queue_id, next.job_id)
  ), parsed as materialized (
    select job_id, case when not p_give_up then jobferry_searchable(payload) end as document
      from sized where n = 1 or bytes <= p_bytes
  )
  update job_search s
     set waiting_account = null, doc = case when document is not null then jsonb_build_object(s.queue_id, document) end
    from parsed where s.job_id = parsed.job_id;
  get diagnostics v_count = row_count;
  update follower set position = v_account, updated_at = clock_timestamp() where name = 'search-turn';
  return v_count;
end
$$;
