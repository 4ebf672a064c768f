-- A paused action has no worker. Workers of the previous version continue running actions only, so they leave it alone, too.
-- paused_at, paused_by  the present pause
-- paused_seconds        length of all earlier pauses, which do not count for its pace
alter table bulk_action
  add column paused_at timestamptz(3), add column paused_by text,
  add column paused_seconds double precision not null default 0;
alter table bulk_action drop constraint bulk_action_status_values;
alter table bulk_action add constraint bulk_action_status_values
  check (status in ('running', 'paused', 'completed', 'cancelled', 'failed'));
alter table bulk_action drop constraint bulk_action_finished_has_time;
alter table bulk_action add constraint bulk_action_finished_has_time
  check ((status in ('running', 'paused')) = (finished_at is null));
alter table bulk_action add constraint bulk_action_pause_has_time
  check ((status = 'paused') = (paused_at is not null) and (paused_at is null) = (paused_by is null));
-- For the limit on the actions of an account that have not ended.
create index bulk_action_open_idx on bulk_action (account_id) where finished_at is null;
