-- People who sign in to the dashboard.

-- A person of an OpenID provider. The access is that of the last sign-in.
create table member (
  id                text collate "C" not null default jobferry_id() primary key,
  account_id        text collate "C" not null,
  issuer            text not null,
  subject           text not null,
  name              text,
  email             text,
  role              text not null,
  may_view_payloads boolean not null,
  created_at        timestamptz(3) not null default jobferry_now(),
  last_signed_in_at timestamptz(3) not null default jobferry_now(),
  constraint member_role_values check (role in ('viewer', 'operator', 'admin')),
  constraint member_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
);
create unique index member_account_id_issuer_subject_key on member (account_id, issuer, subject);
create index member_account_id_id_idx on member (account_id, id);

-- Sign-ins to the dashboard. An ended session has no row.
create table session (
  id           text collate "C" not null default jobferry_id() primary key,
  account_id   text collate "C" not null,
  hash         text not null,
  member_id    text collate "C",
  api_key_id   text collate "C",
  user_agent   text,
  created_at   timestamptz(3) not null default jobferry_now(),
  last_used_at timestamptz(3) not null default jobferry_now(),
  expires_at   timestamptz(3) not null,
  constraint session_hash_is_sha256 check (hash ~ '^[0-9a-f]{64}$'),
  constraint session_has_one_holder check (member_id is null or api_key_id is null),
  constraint session_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade,
  constraint session_member_id_fkey foreign key (member_id) references member (id) on delete cascade on update cascade,
  constraint session_api_key_id_fkey foreign key (api_key_id) references api_key (id) on delete cascade on update cascade
);
create unique index session_hash_key on session (hash);
create index session_account_id_id_idx on session (account_id, id);
create index session_member_id_idx on session (member_id);
create index session_api_key_id_idx on session (api_key_id);
create index session_expires_at_idx on session (expires_at);

-- Links that sign in once. A used link has no row.
create table sign_in_link (
  hash       text not null primary key,
  account_id text collate "C" not null,
  expires_at timestamptz(3) not null,
  constraint sign_in_link_hash_is_sha256 check (hash ~ '^[0-9a-f]{64}$'),
  constraint sign_in_link_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
);
create index sign_in_link_account_id_idx on sign_in_link (account_id);

alter table audit_entry drop constraint audit_entry_actor_type_values;
alter table audit_entry add constraint audit_entry_actor_type_values
  check (actor_type in ('api_key', 'member', 'operator')) not valid;
