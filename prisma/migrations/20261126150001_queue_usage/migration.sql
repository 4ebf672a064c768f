-- Attempts that ended, by queue and month (UTC), kept after the statistics of five minutes and the queue itself are gone. The
-- retention sweep adds the statistics to it; no publish and no delivery writes here.
-- counted_until  start of the five minutes that are not in the sums of this row yet
create table queue_usage (
  account_id    text collate "C" not null,
  month         text not null,
  queue_id      text collate "C" not null,
  queue_name    text not null,
  success       bigint not null,
  failed        bigint not null,
  deferred      bigint not null,
  counted_until timestamptz(3) not null,
  primary key (account_id, month, queue_id),
  constraint queue_usage_month_form check (month ~ '^\d{4}-\d{2}$'),
  constraint queue_usage_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
);
-- For the removal of old months.
create index queue_usage_month_idx on queue_usage (month);
