-- The actor that opened a tunnel, by type and id: people may have one label. Null in the rows of a release before, and the id for the
-- operator as well. `audited_at` is when the audit log got the opening by which this client came first, or came back.
alter table tunnel add column opened_by_type text, add column opened_by_id text, add column audited_at timestamptz(3);
