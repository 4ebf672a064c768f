-- What dashboards need beyond the jobs themselves. Nothing here is on the delivery path.

create table audit_entry (
  id          text collate "C" not null default jobferry_id() primary key,
  account_id  text collate "C" not null,
  at          timestamptz(3) not null default jobferry_now(),
  actor_type  text not null,
  actor_id    text collate "C",
  actor_label text not null,
  action      text not null,
  target_type text not null,
  target_id   text collate "C" not null,
  target_name text,
  before      jsonb,
  after       jsonb,
  constraint audit_entry_actor_type_values check (actor_type in ('api_key', 'operator')),
  constraint audit_entry_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
);
create index audit_entry_account_id_id_idx on audit_entry (account_id, id);

create table bulk_action (
  id              text collate "C" not null default jobferry_id() primary key,
  account_id      text collate "C" not null,
  queue_id        text collate "C",
  kind            text not null,
  status          text not null default 'running',
  selection       jsonb not null,
  rate_per_second integer,
  canary          boolean not null default false,
  canary_job_id   text collate "C",
  matched         integer not null,
  processed       integer not null default 0,
  succeeded       integer not null default 0,
  skipped         integer not null default 0,
  position        text collate "C",
  error           text,
  requested_by    text not null,
  created_at      timestamptz(3) not null default jobferry_now(),
  updated_at      timestamptz(3) not null default jobferry_now(),
  finished_at     timestamptz(3),
  constraint bulk_action_kind_values check (kind in ('replay_dead_letters', 'cancel_jobs', 'purge_queue')),
  constraint bulk_action_status_values check (status in ('running', 'completed', 'cancelled', 'failed')),
  constraint bulk_action_finished_has_time check ((status = 'running') = (finished_at is null)),
  constraint bulk_action_rate_bounds check (rate_per_second >= 1),
  constraint bulk_action_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
);
create index bulk_action_account_id_id_idx on bulk_action (account_id, id);
-- What the workers look for.
create index bulk_action_running_idx on bulk_action (id) where status = 'running';

create table instance (
  id           text collate "C" not null default jobferry_id() primary key,
  role         text not null,
  version      text not null,
  started_at   timestamptz(3) not null default jobferry_now(),
  last_seen_at timestamptz(3) not null default jobferry_now(),
  in_flight    integer not null default 0,
  capacity     integer not null default 0,
  constraint instance_role_values check (role in ('all', 'api', 'worker'))
);

create table follower (
  name       text collate "C" not null primary key,
  position   text collate "C" not null,
  updated_at timestamptz(3) not null default jobferry_now()
);

-- Payload search -----------------------------------------------------------------------------------
-- Without a foreign key: the sweep removes rows by the same range of ids as the jobs, and a job that
-- is swept while it is being indexed must not fail its batch.
create table job_search (
  job_id   text collate "C" not null primary key,
  queue_id text collate "C" not null,
  doc      jsonb
);
create index job_search_doc_idx on job_search using gin (doc jsonb_path_ops);

-- Statistics ---------------------------------------------------------------------------------------
create table queue_stats (
  queue_id     text collate "C" not null,
  bucket       timestamptz(3) not null,
  success      integer not null default 0,
  failed       integer not null default 0,
  nacked       integer not null default 0,
  deferred     integer not null default 0,
  dead         integer not null default 0,
  answered_2xx integer not null default 0,
  answered_3xx integer not null default 0,
  answered_4xx integer not null default 0,
  answered_5xx integer not null default 0,
  unauthorized integer not null default 0,
  backpressure integer not null default 0,
  unanswered   integer not null default 0,
  durations    integer[] not null default '{}',
  waits        integer[] not null default '{}',
  primary key (queue_id, bucket)
);
create index queue_stats_bucket_idx on queue_stats (bucket);

create table queue_completed (
  queue_id       text collate "C" not null,
  created_bucket timestamptz(3) not null,
  completed      integer not null default 0,
  primary key (queue_id, created_bucket)
);
