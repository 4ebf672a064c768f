-- An error text in which ids and numbers are replaced by the same mark, so that texts that differ in these only become
-- equal. An id is hexadecimal with digits and letters (a UUID with dashes, too), or long. It may also consist of digits
-- only, so numbers get the same mark. The look-ahead is limited to 40 characters: settles of all accounts use this
-- function, and without a limit a receiver could make it quadratic.
create or replace function jobferry_normalised(p_error text) returns text
language sql immutable
as $$
  select left(regexp_replace(regexp_replace(lower(left(coalesce(p_error, ''), 1000)),
                '(?<![0-9a-z])((?=[0-9a-f-]{0,40}[0-9])(?=[0-9a-f-]{0,40}[a-f])[0-9a-f]{4,}(-?[0-9a-f]{4,})*|(?=[a-z]*[0-9])[0-9a-z]{16,})(?![0-9a-z])',
                '<n>', 'g'),
              '[0-9]+(\.[0-9]+)?', '<n>', 'g'), 200)
$$;

-- Dead letters with the same fingerprint form an error group:
-- same reason, status code and error text but for ids and numbers.
create or replace function jobferry_fingerprint(p_reason text, p_code integer, p_error text) returns text
language sql immutable
as $$ select left(md5(p_reason || '|' || coalesce(p_code::text, '') || '|' || jobferry_normalised(p_error)), 16) $$;

-- The first line of a webhook's answer that has a letter or a digit, without ids and numbers. Null for a 2xx answer,
-- which is not why a job died. p_body: null for an answer that is stored encrypted.
create or replace function jobferry_answer_line(p_code integer, p_body text) returns text
language sql immutable
as $$
  select case when p_code between 200 and 299 then null
              else nullif(jobferry_normalised(btrim(substring(left(p_body, 1000) from '[^\n\r]*[[:alnum:]][^\n\r]*'))), '') end
$$;
