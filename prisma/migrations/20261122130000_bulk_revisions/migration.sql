-- Workers of builds without these columns run each running action that their task `bulk` names, or whose looked_at is old.
-- They do not know later kinds of actions and members of filters, and would cancel or replay more than was asked for. So
-- actions of a later revision have another task, and a looked_at that is never old.
--
-- revision  what a process must know to run the action; 1: what the builds without these columns know
-- kept_at   when a worker last worked on an action of a later revision
alter table bulk_action add column revision integer not null default 1, add column kept_at timestamptz(3);
alter table bulk_action add constraint bulk_action_later_revision_is_hidden
  check (revision = 1 or (kept_at is not null and looked_at = '9999-12-31 00:00:00+00'));
