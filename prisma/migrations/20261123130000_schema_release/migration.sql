-- Which release migrated the database last. It belongs to the database, and to no account.
-- version        the release
-- oldest_beside  the oldest release whose processes may run on the database of that one
create table schema_release (
  is_only_row   boolean not null default true primary key,
  version       text not null,
  oldest_beside text not null,
  noted_at      timestamptz(3) not null default jobferry_now(),
  constraint schema_release_has_one_row check (is_only_row)
);
