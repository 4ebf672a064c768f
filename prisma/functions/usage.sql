-- Attempts of an account per calendar month (UTC), which plans limit.

create or replace function jobferry_month(at timestamptz) returns text
language sql stable
as $$ select to_char(at at time zone 'UTC', 'YYYY-MM') $$;

-- Whether an account has used up its plan's attempts of this month. A limit of null is no limit.
create or replace function jobferry_limit_reached(p_account text, p_limit bigint, p_at timestamptz) returns boolean
language sql stable
as $$
  select p_limit is not null and coalesce(
    (select attempts from usage where account_id = p_account and month = jobferry_month(p_at) order by part desc limit 1), 0) >= p_limit
$$;

-- Adds p_counts[i] attempts (negative: takes back) that began at p_times[i] to the account p_accounts[i].
-- Locks the rows in the order of accounts.
create or replace function jobferry_count_attempts(p_accounts text[], p_times timestamptz[], p_counts integer[]) returns void
language plpgsql
as $$
begin
  -- Nearly always.
  if p_accounts[1] = all (p_accounts) and p_times[1] = all (p_times) then
    perform jobferry_count_attempt(p_accounts[1], p_times[1], (select sum(jobs) from unnest(p_counts) jobs)::integer);
    return;
  end if;
  perform jobferry_count_attempt(grouped.account_id, grouped.at, grouped.jobs)
     from (select taken.account_id, min(taken.at) as at, sum(taken.jobs)::integer as jobs
             from unnest(p_accounts, p_times, p_counts) as taken(account_id, at, jobs)
            group by taken.account_id, jobferry_month(taken.at) order by 1, 2) grouped;
end
$$;

-- Adds the attempts of one account that began at p_at. Each update leaves a dead version of the row, which the next one
-- passes until a vacuum may remove it. So one of some 200 updates replaces the row by the next part
-- (docs/decisions/0059).
create or replace function jobferry_count_attempt(p_account text, p_at timestamptz, p_count integer) returns void
language plpgsql
as $$
declare
  -- Not the collation of the caller, which is that of ids: the index has another.
  v_month text collate "default" := jobferry_month(p_at);
  v_part integer; v_attempts bigint;
begin
  loop
    update usage set attempts = attempts + p_count
     where account_id = p_account and month = v_month
       and part = (select newest.part from usage newest where newest.account_id = p_account and newest.month = v_month
                    order by newest.part desc limit 1)
    returning part into v_part;
    exit when found;
    -- It is the first of the month, or another transaction has replaced the row in the meantime.
    perform pg_advisory_xact_lock(hashtextextended('jobferry usage ' || p_account || v_month, 0));
    insert into usage (account_id, month, attempts)
    select p_account, v_month, p_count
     where not exists (select from usage where account_id = p_account and month = v_month);
    if found then return; end if;
  end loop;
  if random() < 0.005 then
    delete from usage where account_id = p_account and month = v_month and part = v_part returning attempts into v_attempts;
    insert into usage (account_id, month, part, attempts) values (p_account, v_month, v_part + 1, v_attempts);
  end if;
end
$$;

-- Takes back the attempts of deliveries that could not begin (D38): those of the items with "unbilled" whose ids are in
-- p_applied. The claim has counted them in the month in which it was.
create or replace function jobferry_take_back_attempts(p_items json, p_applied text[]) returns void
language plpgsql
as $$
begin
  perform jobferry_count_attempts(array_agg(j.account_id), array_agg(j.claimed_at::timestamptz), array_agg(-1))
     from json_to_recordset(p_items) as item(id text, unbilled boolean)
     join job j on j.id = item.id
    where item.unbilled and item.id = any (p_applied)
   having count(*) > 0;
end
$$;
