-- An error text in which ids and numbers are replaced by the same mark, so that texts that differ in these only become
-- equal. An id is hexadecimal with digits and letters (a UUID with dashes, too), or long. It may also consist of digits only,
-- so numbers get the same mark.
create or replace function jobferry_normalised(p_error text) returns text
language sql immutable
as $$
  select left(regexp_replace(regexp_replace(lower(left(coalesce(p_error, ''), 1000)),
                '(?<![0-9a-z])((?=[0-9a-f-]*[0-9])(?=[0-9a-f-]*[a-f])[0-9a-f]{4,}(-?[0-9a-f]{4,})*|(?=[a-z]*[0-9])[0-9a-z]{16,})(?![0-9a-z])',
                '<n>', 'g'),
              '[0-9]+(\.[0-9]+)?', '<n>', 'g'), 200)
$$;

-- Dead letters with the same fingerprint form an error group: same reason, status code and error text but for ids and numbers.
create or replace function jobferry_fingerprint(p_reason text, p_code integer, p_error text) returns text
language sql immutable
as $$ select left(md5(p_reason || '|' || coalesce(p_code::text, '') || '|' || jobferry_normalised(p_error)), 16) $$;
