-- signing_secret_since  when the newest secret takes over or took over; null if the secret was never rotated
-- former_secret_since   the same of the secret before it
-- A claim replaces a secret whose time has come, and writes neither.
alter table queue
  add column signing_secret_since timestamptz(3), add column former_secret_since timestamptz(3);
