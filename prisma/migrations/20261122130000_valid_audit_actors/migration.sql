-- Checks the entries that were there before the constraint. This reads the whole table, under a lock that reads and writes do
-- not wait for; in the migration that added the constraint, all would have waited.
alter table audit_entry validate constraint audit_entry_actor_type_values;
