-- Causes of dead letters that people know about: dead letters with this fingerprint that died until then are dismissed.
create table dismissal (
  account_id   text collate "C" not null,
  fingerprint  text not null,
  until        timestamptz(3) not null,
  dismissed_at timestamptz(3) not null default jobferry_now(),
  dismissed_by text not null,
  primary key (account_id, fingerprint),
  constraint dismissal_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
);
create index dismissal_until_idx on dismissal (until);
