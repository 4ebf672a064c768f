-- A suspended account publishes nothing, and its queues are paused by `operator (account suspended)`.
-- suspended_at, suspended_by  time and actor of the suspension; null while the account is not suspended
alter table account
  add column suspended_at timestamptz(3), add column suspended_by text,
  add constraint account_suspension_has_actor check ((suspended_at is null) = (suspended_by is null));
