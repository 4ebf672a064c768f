-- Start of the five minutes, aligned to the epoch, that contain a moment.
create or replace function jobferry_bucket(at timestamptz) returns timestamptz
language sql immutable parallel safe
as $$ select date_bin('300 s', at, to_timestamp(0)) $$;

-- The element of a histogram that counts a value: floor(4 * log2(max(value, 1))) (src/domain/histogram). 1e-12 is added
-- because the computed logarithm of a power of two may be slightly too small.
create or replace function jobferry_histogram_element(p_value integer) returns integer
language sql immutable parallel safe
as $$
  select case when p_value is not null
              then floor(4 * ln(greatest(p_value, 1)::float8) / ln(2::float8) + 1e-12)::integer end
$$;

-- The histogram of values that are given by their elements (null: no value) and how many values each element stands
-- for. An element may occur several times.
create or replace function jobferry_histogram(p_elements integer[], p_counts integer[]) returns integer[]
language sql immutable parallel safe
as $$
  with counted as materialized (
    select e as n, sum(amount)::integer as amount
      from unnest(p_elements, p_counts) as u(e, amount) where e is not null group by 1)
  select array(select coalesce(c.amount, 0)
                 from generate_series(0, (select max(n) from counted)) s(n) left join counted c on c.n = s.n
                order by s.n)
$$;

-- The sum of two histograms.
create or replace function jobferry_histogram_sum(a integer[], b integer[]) returns integer[]
language sql immutable parallel safe
as $$
  select array(select coalesce(x, 0) + coalesce(y, 0)
                 from rows from (unnest(a), unnest(b)) with ordinality as u(x, y, n) order by n)
$$;
