-- Rights and the end of an API key. Processes of the release before know neither, so the hash of a key with limits is made in
-- another way: these processes do not find the key, and refuse it.
-- scopes      what the key may do; empty for a key without limits
-- queues      names of the queues that the key is limited to; empty for all
-- expires_at  when the key stops being valid; null for never
alter table api_key
  add column scopes text[] not null default '{}', add column queues text[] not null default '{}',
  add column expires_at timestamptz(3),
  add constraint api_key_scopes_values check (scopes <@ array['publish', 'read', 'report', 'manage', 'admin']),
  add constraint api_key_limits_have_scopes
    check (cardinality(scopes) > 0 or (cardinality(queues) = 0 and expires_at is null)),
  add constraint api_key_admin_has_all_queues check (cardinality(queues) = 0 or not 'admin' = any (scopes));
