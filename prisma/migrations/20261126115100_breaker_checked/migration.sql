-- Reads the table, which can be large, under a lock that lets everything else go on.
alter table audit_entry validate constraint audit_entry_actor_type_values;
