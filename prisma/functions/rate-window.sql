-- The present window of a rate limit, as jobferry_pick has it: aligned to the epoch (D16).
create or replace function jobferry_rate_window(p_length float8, p_at timestamptz, out starts timestamptz, out ends timestamptz)
language sql immutable
as $$
  select to_timestamp(start::float8)::timestamptz(3), to_timestamp(ceil((start + p_length::numeric) * 1000)::float8 / 1000)
    from (select floor(extract(epoch from p_at) / p_length::numeric) * p_length::numeric as start) w
$$;
