-- When a member was here last. The sessions say so only until they end.
alter table member add column last_seen_at timestamptz(3) not null default jobferry_now();
update member
   set last_seen_at = greatest(last_signed_in_at,
                               (select max(session.last_used_at) from session where session.member_id = member.id));
