-- For jobferry_dated_ahead: jobs that wait again without an attempt, because they were interrupted, or could not be sent for a failure of
-- our own. Nothing else tells when they came back, and they may be behind a million that are delayed. There are few of them, so the
-- index is nearly empty. Where the table is large, an operator has made it before (CHANGELOG). If that was interrupted, it cannot be used.
do $$
begin
  if exists (select from pg_index where indexrelid = to_regclass('job_came_back_idx') and not indisvalid) then
    drop index job_came_back_idx;
  end if;
end
$$;
create index if not exists job_came_back_idx on job (scheduled_for)
  where status = 'pending' and claimed_at is not null
    and (wait_reason is null or wait_reason = 'backoff' and last_error in (
           'proxy_unreachable', 'resolver_unreachable', 'no_descriptors', 'no_local_port'));
