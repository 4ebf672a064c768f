-- First, so that a try fails before it has cost anything while another session reads these tables.
lock table job, usage in access exclusive mode;

-- Where reads of the jobs of a queue begin (docs/decisions/0059). jobferry_set_bookmark writes it, under the claim lock of the queue.
-- A row is replaced by one with a later number and never updated, so the newest is found at once, however many dead ones are before it.
create table queue_bookmark (
  queue_id text collate "C" not null,
  -- The last claim token, of any queue, when it was set.
  number   bigint not null,
  -- A job in flight has a later claim token, or is in `early`.
  token    bigint not null,
  early    text[] collate "C" not null,
  -- No pending job is due before.
  due      timestamptz(3) not null,
  -- No pending job, and no job in flight, has a delivery lifetime that ends before.
  ends     timestamptz(3) not null,
  set_at   timestamptz(3) not null,
  primary key (queue_id, number),
  constraint queue_bookmark_queue_id_fkey foreign key (queue_id) references queue (id) on delete cascade on update cascade
);

-- For claims, which count the jobs in flight from the bookmark on. Where the table is large, an operator has made it before
-- (CHANGELOG). If that was interrupted, it cannot be used.
do $$
begin
  if exists (select from pg_index where indexrelid = to_regclass('job_in_flight_token_idx') and not indisvalid) then
    drop index job_in_flight_token_idx;
  end if;
end
$$;
create index if not exists job_in_flight_token_idx on job (queue_id, claim_token) where status in ('processing', 'awaiting_ack');
drop index job_in_flight_idx;

-- The part of its window that a queue with a rate limit has used. As with bookmarks, the newest part counts; a new window is a new part.
-- The columns of queue are those of the release before.
create table rate_window (
  queue_id text collate "C" not null,
  part     integer not null,
  starts   timestamptz(3) not null,
  used     integer not null,
  primary key (queue_id, part),
  constraint rate_window_queue_id_fkey foreign key (queue_id) references queue (id) on delete cascade on update cascade
) with (fillfactor = 50);
insert into rate_window (queue_id, part, starts, used)
select id, 0, rate_window_start, rate_window_used from queue where rate_window_start is not null;

-- A row of usage is replaced by the next part after some hundred updates. The newest part is found at once, however many dead ones
-- are before it. There is one row for each account and month, but no index without the part: the planner would take it.
alter table usage
  add column part integer not null default 0,
  drop constraint usage_pkey,
  add primary key (account_id, month, part);
-- For processes that claim before the functions of this release are there, which is some milliseconds later.
create or replace function jobferry_count_attempts(p_accounts text[], p_times timestamptz[], p_counts integer[]) returns void
language plpgsql
as $$
begin
  insert into usage as u (account_id, month, part, attempts)
  select taken.account_id, jobferry_month(taken.at), 0, sum(taken.jobs)
    from unnest(p_accounts, p_times, p_counts) as taken(account_id, at, jobs) group by 1, 2 order by 1, 2
  on conflict (account_id, month, part) do update set attempts = u.attempts + excluded.attempts;
end
$$;
