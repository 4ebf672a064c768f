-- Filters of the dashboard under a name, for all people of an account. Only processes that know them write this table.
-- page   the list that is filtered
-- query  the query part of the page's address, without its question mark
create table saved_view (
  id         text collate "C" not null primary key default jobferry_id(),
  account_id text collate "C" not null,
  page       text not null,
  name       text not null,
  query      text not null,
  created_at timestamptz(3) not null default jobferry_now(),
  created_by text not null,
  constraint saved_view_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade,
  constraint saved_view_page_values check (page in ('jobs', 'dead_letters'))
);
create unique index saved_view_account_id_page_name_key on saved_view (account_id, page, name);
