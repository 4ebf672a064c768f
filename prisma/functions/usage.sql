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

-- Adds p_counts[i] attempts that began at p_times[i] to the account p_accounts[i]. Locks the rows in the order of accounts.
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
