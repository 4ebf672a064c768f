-- Writes an entry into the audit log, in the transaction of the change that the entry is about, and returns its id.
-- p_actor has type, id and label.
create or replace function jobferry_audit(
  p_account text, p_actor json, p_action text, p_target_type text, p_target_id text,
  p_target_name text default null, p_before jsonb default null, p_after jsonb default null
) returns text
language plpgsql
as $$
declare
  v_now timestamptz := jobferry_now();
  v_id text := jobferry_id(v_now);
begin
  insert into audit_entry (id, account_id, at, actor_type, actor_id, actor_label, action, target_type, target_id,
                           target_name, before, after)
  values (v_id, p_account, v_now, p_actor ->> 'type', p_actor ->> 'id', p_actor ->> 'label', p_action, p_target_type,
          p_target_id, p_target_name, p_before, p_after);
  return v_id;
end
$$;
