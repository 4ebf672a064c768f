-- requests_per_second  limit of the requests of this account to one process; null for that of the configuration
alter table account
  add column requests_per_second integer,
  add constraint account_requests_per_second_is_possible check (requests_per_second between 1 and 1000000);
