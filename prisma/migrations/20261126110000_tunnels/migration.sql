-- The deliveries of a queue go to the clients of its tunnels, and not to its webhook, while it has a row here that has not
-- expired (docs/decisions/0051-tunnels.md).
create table tunnel (
  id         text collate "C" not null primary key,
  account_id text collate "C" not null references account (id) on delete cascade on update cascade,
  queue_id   text collate "C" not null,
  opened_by  text not null,
  forced     boolean not null,
  opened_at  timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
-- For the deletion of an account.
create index tunnel_account_id_idx on tunnel (account_id);

-- A tunnel to a queue for production has to be forced.
alter table queue add column production boolean not null default false;
