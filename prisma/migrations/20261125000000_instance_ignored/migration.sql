-- address  where the process serves the dashboard, for people; null if it does not
-- ignored  queues to which many publishes with names that the API ignores came lately (`IgnoredNames`); null if there are none
alter table instance add column address text, add column ignored jsonb;
