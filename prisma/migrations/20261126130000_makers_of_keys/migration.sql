-- Actor that made a key, as in the audit log, which keeps its entries for a year only. Null for keys from before.
alter table api_key add column created_by text;
