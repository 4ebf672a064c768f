-- The smallest id that a row created at this moment can have.
create or replace function jobferry_first_id(at timestamptz) returns text
language sql immutable
as $$ select rpad(lpad(to_hex(greatest(0, extract(epoch from at) * 1000)::bigint), 12, '0'), 24, '0') $$;

-- The moment at which the row with this id was created: the first 12 digits of an id are milliseconds.
create or replace function jobferry_created_at(p_id text) returns timestamptz
language sql immutable parallel safe
as $$ select to_timestamp(('x' || left(p_id, 12))::bit(48)::bigint::float8 / 1000)::timestamptz(3) $$;

-- A moment as the API writes it.
create or replace function jobferry_iso(at timestamptz) returns text
language sql stable
as $$ select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;
