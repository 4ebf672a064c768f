-- The receipt of a deleted account, which is all that stays of it. While finished_at is null, the deletion can be continued.
-- removed  number of removed rows by kind
create table account_deletion (
  account_id   text collate "C" not null primary key,
  name         text not null,
  requested_at timestamptz(3) not null default jobferry_now(),
  requested_by text not null,
  finished_at  timestamptz(3),
  removed      jsonb not null default '{}'
);
