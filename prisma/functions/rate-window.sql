-- The rate window of p_length seconds that contains p_at. Windows are fixed and aligned to the epoch (D16).
-- numeric, because a float would put the first instant of a window into the window before it.
create or replace function jobferry_rate_window(
  p_length float8, p_at timestamptz, out starts timestamptz, out ends timestamptz
)
language plpgsql immutable -- and not sql: plpgsql keeps its plan between calls
as $$
declare
  v_length numeric := p_length::numeric;
  v_start numeric := floor(extract(epoch from p_at) / v_length) * v_length;
begin
  starts := to_timestamp(v_start::float8)::timestamptz(3);
  ends := to_timestamp(ceil((v_start + v_length) * 1000)::float8 / 1000);
end
$$;
