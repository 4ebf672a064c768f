-- What two errors have in common when only ids and numbers differ; the status code is kept apart. Ids are
-- hexadecimal with digits and letters (a UUID has dashes in it), or long. They and numbers become the same
-- mark, because an id may consist of digits only.
create or replace function jobferry_normalised(p_error text) returns text
language sql immutable
as $$
  select left(regexp_replace(regexp_replace(lower(left(coalesce(p_error, ''), 1000)),
                '(?<![0-9a-z])((?=[0-9a-f-]*[0-9])(?=[0-9a-f-]*[a-f])[0-9a-f]{4,}(-?[0-9a-f]{4,})*|(?=[a-z]*[0-9])[0-9a-z]{16,})(?![0-9a-z])',
                '<n>', 'g'),
              '[0-9]+(\.[0-9]+)?', '<n>', 'g'), 200)
$$;

-- Dead letters with the same fingerprint form an error group.
create or replace function jobferry_fingerprint(p_reason text, p_code integer, p_error text) returns text
language sql immutable
as $$ select left(md5(p_reason || '|' || coalesce(p_code::text, '') || '|' || jobferry_normalised(p_error)), 16) $$;
