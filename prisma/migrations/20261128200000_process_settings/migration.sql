-- How a process runs, which it writes with each heartbeat: its host and process id, its commit, the ids of its keys, and a hash of
-- its plans. So `doctor` can compare processes, and no key encrypts before all of them have it. Null for a process of an earlier release.
alter table instance add column settings jsonb;
