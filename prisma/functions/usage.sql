-- Attempts of an account per calendar month (UTC), which plans limit.

create or replace function jobferry_month(at timestamptz) returns text
language sql stable
as $$ select to_char(at at time zone 'UTC', 'YYYY-MM') $$;

-- Whether an account has used up its plan's attempts of this month. A limit of null is no limit.
create or replace function jobferry_limit_reached(p_account text, p_limit bigint, p_at timestamptz) returns boolean
language sql stable
as $$
  select p_limit is not null and coalesce(
    (select attempts from usage where account_id = p_account and month = jobferry_month(p_at)), 0) >= p_limit
$$;

-- Adds p_counts[i] attempts (negative: takes back) that began at p_times[i] to the account p_accounts[i]. Locks the rows in the order of accounts.
create or replace function jobferry_count_attempts(p_accounts text[], p_times timestamptz[], p_counts integer[]) returns void
language plpgsql
as $$
begin
  insert into usage as u (account_id, month, attempts)
  select taken.account_id, jobferry_month(taken.at), sum(taken.jobs)
    from unnest(p_accounts, p_times, p_counts) as taken(account_id, at, jobs) group by 1, 2 order by 1, 2
  on conflict (account_id, month) do update set attempts = u.attempts + excluded.attempts;
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
