-- Whether an account has used up its plan's attempts of this month. Null means no limit.
create or replace function jobferry_limit_reached(p_account text, p_limit bigint, p_at timestamptz) returns boolean
language sql stable
as $$
  select p_limit is not null and coalesce(
    (select attempts from usage where account_id = p_account and month = jobferry_month(p_at)), 0) >= p_limit
$$;
