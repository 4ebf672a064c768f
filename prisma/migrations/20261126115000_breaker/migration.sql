-- The breaker of a queue (docs/decisions/0053): what opens it (null: never by this), and its state. jobferry_settle_holds writes
-- the state under the lock of the queue's row.
alter table queue
  add column breaker_failures     integer,
  add column breaker_seconds      integer,
  -- Answers in a row that have failed, and the time of the first of them.
  add column breaker_failed       integer not null default 0,
  add column breaker_failed_since timestamptz(3),
  -- Set while it is open. The next probe is due at breaker_until, unless a receiver asked for a longer hold.
  add column breaker_opened_at    timestamptz(3),
  add column breaker_until        timestamptz(3),
  -- Probes that failed since it opened. They and the time of the end count for an opening soon after.
  add column breaker_probes       integer not null default 0,
  add column breaker_closed_at    timestamptz(3),
  add constraint queue_breaker_failures_bounds check (breaker_failures between 2 and 1000),
  add constraint queue_breaker_seconds_bounds check (breaker_seconds between 1 and 3600);

-- Read every two seconds by each worker process, as before, now for both settings; empty on most servers.
drop index queue_standard_webhooks_idx;
create index queue_followed_idx on queue (id)
  where (standard_webhooks or breaker_failures is not null or breaker_seconds is not null) and deleted_at is null;

-- Jobferry itself opens and closes breakers.
alter table audit_entry
  drop constraint audit_entry_actor_type_values,
  add constraint audit_entry_actor_type_values check (actor_type in ('api_key', 'member', 'operator', 'service')) not valid;

-- A small table: an account has at most 50 rules.
alter table alert_rule
  drop constraint alert_rule_kind_values,
  add constraint alert_rule_kind_values check (kind in ('oldest_due', 'dead_letters', 'failure_share', 'hold', 'breaker',
    'signature_rejected', 'slow_receiver', 'no_worker', 'usage'));
