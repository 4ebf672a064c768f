-- Tables, indexes, constraints and sequences, and the two functions that defaults of columns need. All other functions
-- are files of `prisma/functions`, which are applied after the migrations (docs/decisions/0024).

-- Time and ids --------------------------------------------------------------------------------

-- The only clock (D35). In milliseconds, as in the API: a job that is read back must not look older or newer than it
-- is. Tests and development servers replace this function by one with a shifted clock.
create function jobferry_now() returns timestamptz
language sql volatile parallel safe
as $$ select date_trunc('milliseconds', clock_timestamp()) $$;

create sequence jobferry_id_seq cycle;

-- 24 hex digits that grow with time: 12 of milliseconds, 4 of a counter, 8 random. So the order of the primary key is
-- the order of creation, and a range of time is a range of ids.
create function jobferry_id(at timestamptz default jobferry_now()) returns text
language sql volatile
as $$
  select lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
      || lpad(to_hex(nextval('jobferry_id_seq') & 65535), 4, '0')
      || substr(replace(gen_random_uuid()::text, '-', ''), 1, 8)
$$;

-- One number per claim. Gaps are allowed, repeated numbers are not.
create sequence jobferry_claim_token_seq;
-- One number per running worker process. The process holds a session advisory lock on its number.
create sequence jobferry_worker_id_seq as integer cycle;

-- Which functions the database has: the last version of `prisma/functions` and the hash of its files.
create table schema_functions (
  version    integer not null primary key,
  hash       text not null,
  applied_at timestamptz(3) not null default jobferry_now()
);

-- Which release migrated the database last. It belongs to the database, and to no account.
-- version        the release
-- oldest_beside  the oldest release whose processes may run on the database of that one
create table schema_release (
  is_only_row   boolean not null default true primary key,
  version       text not null,
  oldest_beside text not null,
  noted_at      timestamptz(3) not null default jobferry_now(),
  -- When `backup --final` has moved the database to another place: no process serves from it any more. Null until then.
  moved_at      timestamptz(3),
  constraint schema_release_has_one_row check (is_only_row)
);

-- Which release of Jobferry began to run, and when: the newest hundred (docs/decisions/0054). It belongs to the database, and to no
-- account. A heartbeat writes it, so a release without a migration, and one that is taken back to, are there as well.
create table release_run (
  began_at timestamptz(3) not null default jobferry_now(),
  version  text not null,
  primary key (began_at, version)
);

-- Tables ----------------------------------------------------------------------------------------
-- Ids have the collation "C", which compares bytes: it is faster, and the order is the same under every database
-- locale.

create table account (
  id         text collate "C" not null default jobferry_id() primary key,
  name       text not null,
  plan       text not null,
  created_at timestamptz(3) not null default jobferry_now(),
  -- A suspended account publishes nothing, and its queues are paused by `operator (account suspended)`.
  suspended_at timestamptz(3),
  suspended_by text,
  -- The operator's account gets BOOTSTRAP_API_KEY and the members, sees the load of all accounts, and cannot be deleted.
  is_operator boolean not null default false,
  -- Limit of the account's requests to one process; null for that of the configuration.
  requests_per_second integer,
  constraint account_suspension_has_actor check ((suspended_at is null) = (suspended_by is null)),
  constraint account_requests_per_second_is_possible check (requests_per_second between 1 and 1000000)
);
create unique index account_is_operator_idx on account (is_operator) where is_operator;

create table api_key (
  id           text collate "C" not null default jobferry_id() primary key,
  account_id   text collate "C" not null,
  name         text,
  hash         text not null,
  prefix       text not null,
  last_four    text not null,
  created_at   timestamptz(3) not null default jobferry_now(),
  last_used_at timestamptz(3),
  revoked_at   timestamptz(3),
  -- Permissions of the key; empty for a key without limits.
  scopes       text[] not null default '{}',
  -- Names of the queues that the key is limited to; empty for all.
  queues       text[] not null default '{}',
  -- When the key stops being valid; null for never.
  expires_at   timestamptz(3),
  -- Actor that made the key, as in the audit log, which keeps its entries for a year only. Null if it is not known.
  created_by   text,
  constraint api_key_scopes_values check (scopes <@ array['publish', 'read', 'report', 'manage', 'admin']),
  constraint api_key_limits_have_scopes
    check (cardinality(scopes) > 0 or (cardinality(queues) = 0 and expires_at is null)),
  constraint api_key_admin_has_all_queues check (cardinality(queues) = 0 or not 'admin' = any (scopes)),
  constraint api_key_hash_is_sha256 check (hash ~ '^[0-9a-f]{64}$'),
  constraint api_key_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
);
create unique index api_key_hash_key on api_key (hash);
create index api_key_account_id_idx on api_key (account_id);
-- Keys that Jobferry did not create itself (BOOTSTRAP_API_KEY). Read once a second while clients send unknown keys.
create index api_key_foreign_idx on api_key (prefix) where revoked_at is null and prefix not like 'jf\_%';

create table queue (
  id                 text collate "C" not null default jobferry_id() primary key,
  account_id         text collate "C" not null,
  name               text not null,
  webhook_url        text not null,
  signing_secret     text not null,
  max_attempts       integer not null,
  max_defers         integer not null,
  concurrency        integer not null,
  dlq_enabled        boolean not null,
  mode               text not null,
  rate_limit_max     integer,
  rate_limit_window  double precision not null,
  ack_timeout        double precision not null,
  ack_timeout_action text not null,
  backoff_type       text not null,
  backoff_delay      double precision not null,
  created_at         timestamptz(3) not null default jobferry_now(),
  deleted_at         timestamptz(3),
  hold_until         timestamptz(3),
  probe_job_id       text collate "C",
  hold_job_id        text collate "C",
  hold_reason        text,
  paused_at          timestamptz(3),
  paused_by          text,
  lifetime_floor     timestamptz(3),
  next_signing_secret    text,
  next_signing_secret_at timestamptz(3),
  payloads_encrypted     boolean not null default false,
  -- Start of the hold; kept like hold_job_id when the hold ends by itself.
  hold_since             timestamptz(3),
  -- When the newest secret takes over or took over, and the one before it; null if the secret was never rotated. A claim
  -- replaces a secret whose time has come, and writes neither.
  signing_secret_since   timestamptz(3),
  former_secret_since    timestamptz(3),
  -- Whether deliveries also have the headers of Standard Webhooks (docs/decisions/0050). The claim does not read it: each worker
  -- process polls the ids of such queues.
  standard_webhooks      boolean not null default false,
  -- A tunnel to a queue for production has to be forced.
  production             boolean not null default false,
  -- The breaker (docs/decisions/0053): what opens it (null: never by this), and its state. jobferry_settle_holds writes the state
  -- under the lock of the row.
  breaker_failures       integer,
  breaker_seconds        integer,
  -- Answers in a row that have failed, and the time of the first of them.
  breaker_failed         integer not null default 0,
  breaker_failed_since   timestamptz(3),
  -- Set while it is open. The next probe is due at breaker_until, unless a receiver asked for a longer hold.
  breaker_opened_at      timestamptz(3),
  breaker_until          timestamptz(3),
  -- Probes that failed since it opened. They and the time of the end count for an opening soon after.
  breaker_probes         integer not null default 0,
  breaker_closed_at      timestamptz(3),
  -- Words by which people and programs group queues. An account has at most a thousand queues, so the index by account is enough.
  -- The column is the last, so the claims of a queue, which update its row, log nothing of it.
  tags                   text[] not null default '{}',
  constraint queue_name_form check (name ~ '^[a-z0-9_-]{1,64}$'),
  constraint queue_max_attempts_bounds check (max_attempts between 1 and 25),
  constraint queue_max_defers_bounds check (max_defers between 0 and 1000),
  constraint queue_concurrency_bounds check (concurrency between 1 and 500),
  constraint queue_mode_values check (mode in ('standard', 'ack')),
  constraint queue_rate_limit_max_bounds check (rate_limit_max >= 1),
  constraint queue_rate_limit_window_bounds check (rate_limit_window between 0.001 and 3600),
  constraint queue_ack_timeout_bounds check (ack_timeout between 0.001 and 86400),
  constraint queue_ack_timeout_action_values check (ack_timeout_action in ('retry', 'dead')),
  constraint queue_backoff_type_values check (backoff_type in ('fixed', 'exponential')),
  constraint queue_backoff_delay_bounds check (backoff_delay between 0 and 3600),
  constraint queue_pause_has_actor check ((paused_at is null) = (paused_by is null)),
  constraint queue_next_secret_has_time check ((next_signing_secret is null) = (next_signing_secret_at is null)),
  constraint queue_probe_only_while_held check (probe_job_id is null or hold_until is not null),
  constraint queue_breaker_failures_bounds check (breaker_failures between 2 and 1000),
  constraint queue_breaker_seconds_bounds check (breaker_seconds between 1 and 3600),
  constraint queue_tags_bounds check (cardinality(tags) <= 10),
  constraint queue_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
) with (fillfactor = 70); -- claims update the probe in place
create index queue_account_id_id_idx on queue (account_id, id);
-- A name is free again as soon as its queue is deleted (spec "Deleting a queue").
create unique index queue_live_name_key on queue (account_id, name) where deleted_at is null;
-- Tombstones, for the reconciler and the sweep: there can be many of them among the queues.
create index queue_deleted_idx on queue (id) where deleted_at is not null;
create index queue_live_idx on queue (id) where deleted_at is null;
-- Read every two seconds by each worker process; empty on most servers. No claim changes its columns, so claims still update the
-- row in place.
create index queue_followed_idx on queue (id)
  where (standard_webhooks or breaker_failures is not null or breaker_seconds is not null) and deleted_at is null;

-- Where reads of the jobs of a queue begin (docs/decisions/0059). jobferry_set_bookmark writes it, under the claim lock of the queue.
-- A row is replaced by one with a later number and never updated, so the newest is found at once, however many dead ones are before it.
create table queue_bookmark (
  queue_id text collate "C" not null,
  -- The last claim token, of any queue, when it was set.
  number   bigint not null,
  -- A job in flight has a later claim token, or is in `early`.
  token    bigint not null,
  early    text[] collate "C" not null,
  -- No pending job is due before.
  due      timestamptz(3) not null,
  -- No pending job, and no job in flight, has a delivery lifetime that ends before.
  ends     timestamptz(3) not null,
  set_at   timestamptz(3) not null,
  primary key (queue_id, number),
  constraint queue_bookmark_queue_id_fkey foreign key (queue_id) references queue (id) on delete cascade on update cascade
);

-- The part of its window that a queue with a rate limit has used. As with bookmarks, the newest part counts; a new window is a new part.
create table rate_window (
  queue_id text collate "C" not null,
  part     integer not null,
  starts   timestamptz(3) not null,
  used     integer not null,
  primary key (queue_id, part),
  constraint rate_window_queue_id_fkey foreign key (queue_id) references queue (id) on delete cascade on update cascade
) with (fillfactor = 50);

-- The deliveries of a queue go to the clients of its tunnels, and not to its webhook, while it has a row here that has not
-- expired (docs/decisions/0051-tunnels.md).
create table tunnel (
  id             text collate "C" not null primary key,
  account_id     text collate "C" not null,
  queue_id       text collate "C" not null,
  -- The actor that opened it, as in the audit log. People may have one label, so type and id tell them apart.
  opened_by      text not null,
  opened_by_type text not null,
  opened_by_id   text,
  forced         boolean not null,
  opened_at      timestamptz(3) not null,
  expires_at     timestamptz(3) not null,
  -- When the audit log got the opening by which this client came first, or came back.
  audited_at     timestamptz(3),
  constraint tunnel_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
);
-- For the deletion of an account.
create index tunnel_account_id_idx on tunnel (account_id);

-- queue_id and attempt.job_id are not foreign keys: checking them took a sixth of the database's time for a job
-- (docs/decisions/0008). jobferry_publish and jobferry_replay insert jobs, and read the queue in the same transaction.
-- jobferry_settle inserts attempts, and locks the job. Only the sweep removes rows of either.
create table job (
  id                 text collate "C" not null default jobferry_id() primary key,
  account_id         text collate "C" not null,
  queue_id           text collate "C" not null,
  status             text not null default 'pending',
  attempts           integer not null default 0,
  max_attempts       integer not null,
  backoff_type       text not null,
  backoff_delay      double precision not null,
  defer_count        integer not null default 0,
  -- Number of consecutive holds of less than a second that the job has got.
  short_holds        integer not null default 0,
  idempotency_key    text collate "C",
  payload            text not null,
  scheduled_for      timestamptz(3) not null,
  deliver_by         timestamptz(3) not null,
  last_error         text,
  created_at         timestamptz(3) not null,
  completed_at       timestamptz(3),
  dead_at            timestamptz(3),
  dead_reason        text,
  replay_of          text collate "C",
  claim_token        bigint not null default 0,
  worker_id          integer,
  claimed_at         timestamptz(3),
  deadline           timestamptz(3),
  interruptions      integer not null default 0,
  history_count      integer not null default 0,
  mode               text,
  max_defers         integer,
  ack_timeout_action text,
  answer_status_code integer,
  answer_ms          integer,
  answer_body        text,
  wait_reason        text,
  progress           text,
  progress_at        timestamptz(3),
  payload_key        text collate "C",
  -- Where the trace of the job began: `traceparent` and, after a space, `tracestate` (src/domain/trace.ts). Null for most.
  trace_context      text,
  constraint job_wait_reason_values check (wait_reason in ('backoff', 'hold')),
  constraint job_status_values check (status in ('pending', 'processing', 'awaiting_ack', 'completed', 'dead')),
  constraint job_attempts_bounds check (attempts between 0 and max_attempts),
  constraint job_defer_count_bounds check (defer_count between 0 and 1000),
  constraint job_idempotency_key_length check (char_length(idempotency_key) <= 255),
  constraint job_completed_has_time check ((status = 'completed') = (completed_at is not null)),
  constraint job_dead_has_reason check ((status = 'dead') = (dead_reason is not null)),
  constraint job_in_flight_has_deadline check ((status in ('processing', 'awaiting_ack')) = (deadline is not null)),
  constraint job_processing_has_worker check ((status = 'processing') = (worker_id is not null))
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- A queue's job list, newest first.
create index job_queue_id_id_idx on job (queue_id, id);
-- For claims: the due jobs of a queue in order.
create index job_due_idx on job (queue_id, scheduled_for, id) where status = 'pending';
-- For claims, which count the jobs in flight from the bookmark on.
create index job_in_flight_token_idx on job (queue_id, claim_token) where status in ('processing', 'awaiting_ack');
-- For dashboards: jobs that wait for a retry or the end of a hold, and dead jobs. A job that succeeds at once never
-- changes these indexes.
create index job_wait_reason_idx on job (queue_id, wait_reason, scheduled_for, id)
  where status = 'pending' and wait_reason is not null;
create index job_dead_idx on job (queue_id, id) where status = 'dead';
create index job_replay_of_idx on job (replay_of) where replay_of is not null;
-- Pending jobs of a queue in the order in which their lifetimes end (D8). Only queries with `queue_id || ''` use it:
-- with the column itself, the planner chose this index for other queries for pending jobs, too, while the table was
-- small or new, and sorted all jobs of the queue.
create index job_deliver_by_idx on job ((queue_id || ''), deliver_by) where status = 'pending';
-- For the keys that encrypted payloads still need, and until when (docs/decisions/0007).
create index job_payload_key_idx on job (payload_key, id) where payload_key is not null;
-- For jobferry_dated_ahead: jobs that wait again without an attempt, because they were interrupted, or could not be sent for a failure of
-- our own. Nothing else tells when they came back, and they may be behind a million that are delayed. There are few of them, so the
-- index is nearly empty.
create index job_came_back_idx on job (scheduled_for)
  where status = 'pending' and claimed_at is not null
    and (wait_reason is null or wait_reason = 'backoff' and last_error in (
           'proxy_unreachable', 'resolver_unreachable', 'no_descriptors', 'no_local_port'));
create unique index job_idempotency_key_key on job (queue_id, idempotency_key) where idempotency_key is not null;

create table attempt (
  job_id              text collate "C" not null,
  ordinal             integer not null,
  queue_id            text collate "C" not null,
  attempt             integer not null,
  status              text not null,
  error               text,
  webhook_status_code integer,
  "timestamp"         timestamptz(3) not null,
  duration_ms         integer,
  wait_ms             integer,
  response_body       text,
  -- Start of the delivery; null if none started. In ack mode it cannot be derived from the end of the attempt.
  started_at          timestamptz(3),
  -- Earliest time of the job's next delivery, as decided when the attempt ended; null after the last attempt.
  next_at             timestamptz(3),
  primary key (job_id, ordinal),
  constraint attempt_number_bounds check (attempt >= 1),
  constraint attempt_status_values check (status in ('success', 'failed', 'nacked', 'deferred'))
);
-- Attempts are written in the order of time, so block ranges find recent attempts at almost no cost.
create index attempt_timestamp_idx on attempt using brin ("timestamp") with (pages_per_range = 16);

create table dead_letter (
  id              text collate "C" not null default jobferry_id() primary key,
  job_id          text collate "C" not null,
  queue_id        text collate "C" not null,
  reason          text not null,
  error           text,
  webhook_status_code integer,
  fingerprint     text collate "C" not null,
  dead_at         timestamptz(3) not null,
  replayed_at     timestamptz(3),
  replayed_job_id text collate "C",
  -- The first line of the webhook's last answer, without ids and numbers (jobferry_answer_line). Null if there was no such
  -- answer, or if it is stored encrypted.
  answer          text,
  constraint dead_letter_replayed_together check ((replayed_at is null) = (replayed_job_id is null)),
  constraint dead_letter_job_id_fkey foreign key (job_id) references job (id) on delete cascade on update cascade,
  constraint dead_letter_queue_id_fkey foreign key (queue_id) references queue (id) on delete cascade on update cascade
);
create unique index dead_letter_job_id_key on dead_letter (job_id);
-- The index includes the job's id and the time of death, so an index-only scan can count: a dead letter is removed with
-- its job.
create index dead_letter_queue_id_id_idx on dead_letter (queue_id, id) include (job_id, dead_at);
-- For error groups.
create index dead_letter_fingerprint_idx on dead_letter (queue_id, fingerprint, id);
-- For a replay with `all: true`, which takes the oldest dead letters that were not replayed.
create index dead_letter_open_idx on dead_letter (queue_id, id) include (job_id, dead_at) where replayed_at is null;

-- A row is replaced by the next part after some hundred updates. The newest part is found at once, however many dead ones are before
-- it. There is one row for each account and month, but no index without the part: the planner would take it.
create table usage (
  account_id text collate "C" not null,
  month      text not null,
  attempts   bigint not null default 0,
  part       integer not null default 0,
  primary key (account_id, month, part),
  constraint usage_month_form check (month ~ '^\d{4}-\d{2}$'),
  constraint usage_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
) with (fillfactor = 50); -- every claim updates the row of the account

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

-- Dashboards ------------------------------------------------------------------------------------
-- Tables that only dashboards and bulk actions need. The delivery path does not use them.

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
  -- `service`: Jobferry itself, which opens and closes breakers.
  constraint audit_entry_actor_type_values check (actor_type in ('api_key', 'member', 'operator', 'service')),
  constraint audit_entry_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
);
create index audit_entry_account_id_id_idx on audit_entry (account_id, id);
-- Changes of a kind, and changes of an object, newest first: without these indexes a rare one is searched among all entries of
-- the account.
create index audit_entry_account_id_action_id_idx on audit_entry (account_id, action, id);
create index audit_entry_account_id_target_id_id_idx on audit_entry (account_id, target_id, id);

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
  canary_completed_at timestamptz(3),
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
  -- The knowledge that a process needs to run the action (src/db/bulk/actions.ts).
  revision        integer not null default 1,
  -- When a worker last worked on the action. If that is long ago, another worker takes it over.
  kept_at         timestamptz(3) not null default jobferry_now(),
  -- The present pause. A paused action has no worker.
  paused_at       timestamptz(3),
  paused_by       text,
  -- Length of all earlier pauses, which do not count for its pace.
  paused_seconds  double precision not null default 0,
  constraint bulk_action_kind_values check (kind in ('replay_dead_letters', 'cancel_jobs', 'purge_queue', 'run_jobs_now')),
  constraint bulk_action_status_values check (status in ('running', 'paused', 'completed', 'cancelled', 'failed')),
  constraint bulk_action_finished_has_time check ((status in ('running', 'paused')) = (finished_at is null)),
  constraint bulk_action_pause_has_time
    check ((status = 'paused') = (paused_at is not null) and (paused_at is null) = (paused_by is null)),
  constraint bulk_action_rate_bounds check (rate_per_second >= 1),
  constraint bulk_action_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade
);
create index bulk_action_account_id_id_idx on bulk_action (account_id, id);
-- For the workers, which poll for running actions.
create index bulk_action_running_idx on bulk_action (id) where status = 'running';
-- For the limit on the actions of an account that have not ended.
create index bulk_action_open_idx on bulk_action (account_id) where finished_at is null;

-- The jobs that a bulk action created (a replay) or changed. No foreign keys: the sweep removes rows by the same range of
-- ids as the jobs.
create table bulk_action_job (
  job_id    text collate "C" not null,
  action_id text collate "C" not null,
  primary key (job_id, action_id)
);
create index bulk_action_job_action_id_job_id_idx on bulk_action_job (action_id, job_id);

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

-- Filters of the dashboard under a name, for all people of an account.
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

create table instance (
  id           text collate "C" not null default jobferry_id() primary key,
  role         text not null,
  version      text not null,
  started_at   timestamptz(3) not null default jobferry_now(),
  last_seen_at timestamptz(3) not null default jobferry_now(),
  in_flight    integer not null default 0,
  capacity     integer not null default 0,
  -- How far the clock of the database is ahead of that of the process; null if it does not know.
  clock_offset_seconds double precision,
  -- Where the process serves the dashboard, for people; null if it does not.
  address      text,
  -- Queues to which many publishes with names that the API ignores came lately (`IgnoredNames`); null if there are none.
  ignored      jsonb,
  -- How the process runs, which it writes with each heartbeat: its host and process id, its commit, the ids of its keys, and a hash of
  -- its plans. So `doctor` can compare processes, and no key encrypts before all of them have it.
  settings     jsonb,
  constraint instance_role_values check (role in ('all', 'api', 'worker'))
);

-- The time at which the server last confirmed a worker's lease lock to that worker (docs/decisions/0011). The table is
-- unlogged, because it is written twice a second. A crash or a failover empties it, but also ends all lease locks.
create unlogged table lease_confirmation (
  worker_id    integer not null primary key,
  confirmed_at timestamptz(3) not null
) with (fillfactor = 20);

create table follower (
  name       text collate "C" not null primary key,
  position   text collate "C" not null,
  updated_at timestamptz(3) not null default jobferry_now()
);

-- People ---------------------------------------------------------------------------------------------
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
  -- The sessions say when the member was here last only until they end.
  last_seen_at      timestamptz(3) not null default jobferry_now(),
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

-- Alerts (docs/decisions/0036) -----------------------------------------------------------------------

-- Conditions that an account wants to be told about, and where.
-- queue_id        the queue that is watched; null for all queues of the account, and for kinds that have none
-- threshold       seconds, a number of dead letters, or a percentage, by kind; 0 for kinds without one
-- window_seconds  the time before now that is counted
-- for_seconds     how long the condition must hold before the alert fires, and be over before it resolves
-- evaluated_at    time of the last evaluation; null before the first
-- problem         why the last evaluation could not decide; null if it could
create table alert_rule (
  id             text collate "C" not null primary key default jobferry_id(),
  account_id     text collate "C" not null,
  queue_id       text collate "C",
  kind           text not null,
  threshold      double precision not null,
  window_seconds integer not null,
  for_seconds    integer not null,
  webhook_url    text not null,
  format         text not null,
  signing_secret text not null,
  silenced_until timestamptz(3),
  silenced_by    text,
  created_at     timestamptz(3) not null default jobferry_now(),
  evaluated_at   timestamptz(3),
  problem        text,
  -- Where the notifications go: {"type": "webhook"}, to webhook_url; {"type": "email", "to": […]}; or {"type": "pagerduty",
  -- "severity": …, "keyEnd": …}, whose routing key is in signing_secret.
  target         jsonb not null default '{"type": "webhook"}',
  constraint alert_rule_target_values check (target ->> 'type' in ('webhook', 'email', 'pagerduty')),
  constraint alert_rule_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade,
  constraint alert_rule_queue_id_fkey foreign key (queue_id) references queue (id) on delete cascade on update cascade,
  constraint alert_rule_kind_values check (kind in ('oldest_due', 'dead_letters', 'failure_share', 'hold', 'breaker',
    'signature_rejected', 'slow_receiver', 'no_worker', 'usage')),
  constraint alert_rule_format_values check (format in ('jobferry', 'slack')),
  constraint alert_rule_silence_has_actor check ((silenced_until is null) = (silenced_by is null))
);
create index alert_rule_account_id_id_idx on alert_rule (account_id, id);
-- For the removal of queues.
create index alert_rule_queue_id_idx on alert_rule (queue_id) where queue_id is not null;

-- Notifications that were sent, or are to be sent, to the webhook of a rule.
-- content  what it says, without its id (src/domain/alert-message.ts)
-- place    order within the rule. Ids have the time of their creation, and so another order when the clock was set back
-- next_at  time of the next attempt, or when an attempt under way counts as lost; null after the last one
create table alert_notification (
  id                  text collate "C" not null primary key default jobferry_id(),
  account_id          text collate "C" not null,
  rule_id             text collate "C" not null,
  content             jsonb not null,
  place               bigint not null default nextval('jobferry_id_seq'),
  attempts            integer not null default 0,
  next_at             timestamptz(3) default jobferry_now(),
  sent_at             timestamptz(3),
  failed_at           timestamptz(3),
  webhook_status_code integer,
  error               text,
  constraint alert_notification_rule_id_fkey foreign key (rule_id) references alert_rule (id) on delete cascade on update cascade,
  constraint alert_notification_has_one_end
    check ((next_at is not null)::integer + (sent_at is not null)::integer + (failed_at is not null)::integer = 1)
);
create index alert_notification_account_id_id_idx on alert_notification (account_id, id);
create index alert_notification_rule_id_id_idx on alert_notification (rule_id, id);
create index alert_notification_open_idx on alert_notification (rule_id, place) where next_at is not null;
-- Notifications that were never tried go first.
create index alert_notification_first_idx on alert_notification (next_at) where next_at is not null and attempts = 0;
create index alert_notification_again_idx on alert_notification (next_at) where next_at is not null and attempts > 0;

-- A rule's condition that holds, or held, for one queue or for the account.
-- since        when an evaluation first found the condition
-- clear_since  since when the condition of a firing alert is over; null while it holds
-- resolution   why the alert has ended; null before
-- firing_notification_id, resolved_notification_id  what told the receiver; null if it was not told
create table alert (
  id          text collate "C" not null primary key default jobferry_id(),
  account_id  text collate "C" not null,
  rule_id     text collate "C" not null,
  queue_id    text collate "C",
  queue_name  text,
  state       text not null default 'pending',
  since       timestamptz(3) not null,
  fired_at    timestamptz(3),
  clear_since timestamptz(3),
  resolved_at timestamptz(3),
  value       double precision not null,
  cause       text not null,
  resolution  text,
  firing_notification_id   text collate "C",
  resolved_notification_id text collate "C",
  constraint alert_rule_id_fkey foreign key (rule_id) references alert_rule (id) on delete cascade on update cascade,
  constraint alert_state_values check (state in ('pending', 'firing', 'resolved')),
  constraint alert_fired check ((fired_at is not null) = (state <> 'pending')),
  constraint alert_resolved check ((resolved_at is not null) = (state = 'resolved') and (resolution is not null) = (state = 'resolved'))
);
create index alert_account_id_id_idx on alert (account_id, id);
create index alert_rule_id_id_idx on alert (rule_id, id);
-- One open alert for each rule and queue, whatever two processes do at once.
create unique index alert_open_idx on alert (rule_id, coalesce(queue_id, '')) where state <> 'resolved';
create index alert_resolved_at_idx on alert (resolved_at) where state = 'resolved';

-- Payload search -----------------------------------------------------------------------------------
-- Payloads as documents, for conditions on their paths. jobferry_index_payloads writes them outside of the delivery
-- path, so a new job has no row yet, and searches parse its payload instead.
-- doc              an object with the payload as its only member, named after the queue. So each entry of the index
--                  begins with the queue, and a value that is frequent in one queue does not slow down searches in
--                  others. Null for a payload that is too large or that jsonb cannot hold.
-- waiting_account  set while the payload waits for its account's turn (jobferry_index_waiting). Until then searches
--                  parse the payload.
-- No foreign key: the sweep removes rows by the same range of ids as the jobs, and a job that is removed while it is
-- being indexed must not fail its batch.
create table job_search (
  job_id          text collate "C" not null primary key,
  queue_id        text collate "C" not null,
  doc             jsonb,
  waiting_account text collate "C"
);
create index job_search_waiting_idx on job_search (waiting_account, queue_id, job_id) where waiting_account is not null;
create index job_search_queue_id_job_id_idx on job_search (queue_id, job_id);
-- Every search reads the whole list of pending entries, so the list is kept short.
create index job_search_doc_idx on job_search using gin (doc jsonb_path_ops) with (gin_pending_list_limit = 1024);

insert into follower (name, position) values ('search', ''), ('search-turn', '');

-- Statistics ---------------------------------------------------------------------------------------
-- Sums of the attempts of a queue in five minutes, so that a chart of a day does not read a million rows.
-- jobferry_roll_up adds new attempts some seconds later, outside of the delivery path. Readers add the attempts since
-- then themselves (jobferry_stats_until), so their results are current. No foreign keys: the sweep removes queues and
-- statistics independently.
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
create index queue_completed_created_bucket_idx on queue_completed (created_bucket);
