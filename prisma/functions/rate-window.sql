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

-- How much a queue has used of its rate window that starts at p_starts;
-- null if that is not the window that it used last.
create or replace function jobferry_rate_used(p_queue text, p_starts timestamptz) returns integer
language sql stable
as $$
  select case when last.starts = p_starts then last.used end
    from (select w.starts, w.used from rate_window w where w.queue_id = p_queue order by w.part desc limit 1) last
$$;

-- Stores it. The caller holds the claim lock of the queue. As with usage, one of some 200 updates replaces the row
-- (docs/decisions/0059), and so does each new window.
create or replace function jobferry_use_rate(p_queue text, p_starts timestamptz, p_used integer) returns void
language plpgsql
as $$
declare
  w rate_window%rowtype;
begin
  select * into w from rate_window where rate_window.queue_id = p_queue order by part desc limit 1;
  if w.starts = p_starts and random() > 0.005 then
    update rate_window set used = p_used where queue_id = p_queue and part = w.part;
    return;
  end if;
  delete from rate_window where queue_id = p_queue and part = w.part;
  insert into rate_window (queue_id, part, starts, used) values (p_queue, coalesce(w.part, 0) + 1, p_starts, p_used);
end
$$;
