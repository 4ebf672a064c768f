-- What the GraphQL API returns to dashboards beyond the first version. No column has an index: publish, claim and settle
-- write one or two values more, and maintain nothing more.
--
-- Tables are locked in the order in which settles and replays lock them, so that none of these can deadlock with this.

-- Start of the hold; kept like hold_job_id when the hold ends by itself.
alter table queue add column hold_since timestamptz(3);

-- started_at  start of the delivery; null if none started. In ack mode it cannot be derived from the end of the attempt.
-- next_at     earliest time of the job's next delivery, as decided when the attempt ended; null after the last attempt.
alter table attempt add column started_at timestamptz(3), add column next_at timestamptz(3);

-- The first line of the webhook's last answer, without ids and numbers (jobferry_answer_line). Null if there was no such
-- answer, or if it is stored encrypted.
alter table dead_letter add column answer text;

alter table bulk_action drop constraint bulk_action_kind_values;
alter table bulk_action add constraint bulk_action_kind_values
  check (kind in ('replay_dead_letters', 'cancel_jobs', 'purge_queue', 'run_jobs_now'));

-- The jobs that a bulk action created (a replay) or changed. No foreign keys: the sweep removes rows by the same range of
-- ids as the jobs.
create table bulk_action_job (
  job_id    text collate "C" not null,
  action_id text collate "C" not null,
  primary key (job_id, action_id)
);
create index bulk_action_job_action_id_job_id_idx on bulk_action_job (action_id, job_id);
