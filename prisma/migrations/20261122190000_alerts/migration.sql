-- Alerts (docs/decisions/0036). Only processes that know them write these tables.

-- What an account wants to be told, and where.
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
  constraint alert_rule_account_id_fkey foreign key (account_id) references account (id) on delete cascade on update cascade,
  constraint alert_rule_queue_id_fkey foreign key (queue_id) references queue (id) on delete cascade on update cascade,
  constraint alert_rule_kind_values check (kind in ('oldest_due', 'dead_letters', 'failure_share', 'hold',
    'signature_rejected', 'slow_receiver', 'no_worker', 'usage')),
  constraint alert_rule_format_values check (format in ('jobferry', 'slack')),
  constraint alert_rule_silence_has_actor check ((silenced_until is null) = (silenced_by is null))
);
create index alert_rule_account_id_id_idx on alert_rule (account_id, id);
-- For the removal of queues.
create index alert_rule_queue_id_idx on alert_rule (queue_id) where queue_id is not null;

-- What was sent, or is to be sent, to the webhook of a rule.
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
-- What was never tried goes first.
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
