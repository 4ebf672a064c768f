-- Changes of a kind, and changes of an object, newest first: without these indexes a rare one is searched among all entries of
-- the account.
create index audit_entry_account_id_action_id_idx on audit_entry (account_id, action, id);
create index audit_entry_account_id_target_id_id_idx on audit_entry (account_id, target_id, id);
