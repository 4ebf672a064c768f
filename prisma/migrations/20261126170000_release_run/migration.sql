-- Which release of Jobferry began to run, and when: the newest hundred (docs/decisions/0054). It belongs to the database, and to no
-- account. A heartbeat writes it, so a release without a migration, and one that is taken back to, are there as well.
create table release_run (
  began_at timestamptz(3) not null default jobferry_now(),
  version  text not null,
  primary key (began_at, version)
);
