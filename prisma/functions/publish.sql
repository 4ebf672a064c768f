-- Publishes a batch of items of any accounts and queues. p_payloads: their payloads, in the same order; inside the JSON
-- each byte of them would be escaped and read twice. p_keyed and p_limited: whether any item has an idempotency key or
-- a limit. `answers` has an outcome for each item:
--   created          `ids` has the new job, at the position of the item
--   existing         the queue has a job with this key. `differs`: whether its payload is another one. Where one of the
--                    two is encrypted and their sizes fit, `differs` is null, and `stored` is the payload of the job.
--                    So the result is at most about twice as large as the batch, however large the stored payloads are
--   queue_not_found  the account has no queue of this name
--   limit_reached    the plan's attempts of this month are used up
--   must_encrypt, must_not_encrypt
--                    the payload has to come encrypted for the queue that `queueIds` names, or not encrypted: the queue
--                    was switched, or is another one of the same name
--   retry            another publish with the same key came in between, in this batch or in another process; published
--                    again, the item finds that job (D18)
-- Its `ids` has null for items that created no job; `others` has their outcomes.
--
-- p_worker claims new jobs at once, as jobferry_claim would right afterwards, at most p_wanted[i] of p_queues[i] (with
-- p_since[i] as there): the items with "claimable". It gets all or none of a queue (jobferry_free_for_new). Such a job
-- is stored once and not twice, and is delivered without another commit. `claims` is null if it got none. Without a
-- worker p_queues is null.
--
-- Step by step: keys past retention are freed; queues with room are locked (jobferry_free_for_new); the jobs are stored
-- (jobferry_store_plain_jobs, or jobferry_store_jobs if an item has a key or a limit); wake-ups are written; claims are
-- counted. Locks are taken in the order of jobferry_claim. The locks of queues are only tried. But a publish that has
-- one may wait for another publish of the same key, and if a settle of the very job that this one has just stored waits
-- for the queue, PostgreSQL ends one of the two; both are repeated.
create or replace function jobferry_publish_and_claim(
  p_items json, p_payloads text[], p_keyed boolean, p_limited boolean, p_retention interval, p_lifetime interval,
  p_queues text[], p_wanted integer[], p_since timestamptz[], p_worker integer, p_lease interval,
  out answers json, out claims json
)
language plpgsql
set enable_seqscan = off -- as in jobferry_settle
set plan_cache_mode = force_generic_plan -- as in jobferry_claim
as $$
declare
  v_now timestamptz := jobferry_now();
  v_open text[] := '{}'; v_full text[] := '{}'; -- queues from which p_worker may claim, and those of them that it fills
  v_free integer;
  v_token bigint;
  v_claimed_at timestamptz;
  v_stored record;
begin
  if p_keyed then perform jobferry_free_old_keys(p_items, v_now - p_retention); end if;
  for i in 1..coalesce(cardinality(p_queues), 0) loop
    v_free := jobferry_free_for_new(p_queues[i], p_since[i]);
    if v_free >= p_wanted[i] then v_open := v_open || p_queues[i]; end if;
    if v_free = p_wanted[i] then v_full := v_full || p_queues[i]; end if;
  end loop;
  if cardinality(v_open) > 0 then
    v_token := nextval('jobferry_claim_token_seq');
    v_claimed_at := jobferry_now();
  end if;
  if p_keyed or p_limited then
    v_stored := jobferry_store_jobs(
      p_items, p_payloads, v_now, p_lifetime, v_open, p_worker, v_token, v_claimed_at, p_lease);
  else
    v_stored := jobferry_store_plain_jobs(
      p_items, p_payloads, v_now, p_lifetime, v_open, p_worker, v_token, v_claimed_at, p_lease);
  end if;
  answers := v_stored.answers;
  perform jobferry_wake_all('deliver', v_stored.queues, v_stored.dues);
  if v_stored.claimed is null then return; end if;
  if jobferry_moves_bookmark(cardinality(v_stored.claimed)) then
    perform jobferry_set_one_bookmark(v_open, array_fill(1, array[cardinality(v_open)]), array_fill(v_claimed_at, array[cardinality(v_open)]));
  end if;
  perform jobferry_count_attempts(v_stored.claimed, array_fill(v_claimed_at, array[cardinality(v_stored.claimed)]),
                                  array_fill(1, array[cardinality(v_stored.claimed)]));
  claims := jobferry_new_claims(v_claimed_at, v_token, (
    select json_agg(jobferry_claimed_queue(queue, id = any (v_full))) from queue where id = any (v_open)));
end
$$;

-- As jobferry_publish_and_claim, for callers that claim nothing.
create or replace function jobferry_publish(
  p_items json, p_payloads text[], p_keyed boolean, p_limited boolean, p_retention interval, p_lifetime interval,
  out answers json
)
language sql
as $$
  select answers from jobferry_publish_and_claim(p_items, p_payloads, p_keyed, p_limited, p_retention, p_lifetime, null, null, null,
                                                 null, null)
$$;

-- Publishes one item that has no key, as jobferry_publish would: below some hundred publishes a second nearly every
-- batch has one item, and sets and JSON are half of the price (docs/decisions/0058).
--
-- outcome: created, queue_not_found, limit_reached, must_encrypt or must_not_encrypt. p_worker claims the new job at
-- once if p_reserved, the queue for which it has room, is that of the job; null: no worker does. claims is that of
-- jobferry_publish_and_claim.
create or replace function jobferry_publish_one(
  p_account text, p_queue text, p_payload text, p_delay float8, p_limit bigint, p_encrypted_for text, p_trace text,
  p_lifetime interval, p_reserved text, p_since timestamptz, p_worker integer, p_lease interval,
  out outcome text, out id text, out queue_id text, out created_at timestamptz, out claims json
)
language plpgsql
set enable_seqscan = off -- as in jobferry_settle
set plan_cache_mode = force_generic_plan -- as in jobferry_claim
as $$
declare
  q queue%rowtype;
  v_due timestamptz; v_claimed_at timestamptz; v_token bigint := 0;
  v_free integer; -- slots of the reserved queue; null: p_worker may not claim
begin
  created_at := jobferry_now();
  if p_reserved is not null then v_free := jobferry_free_for_new(p_reserved, p_since); end if;
  select * into q from queue where queue.account_id = p_account and queue.name = p_queue and queue.deleted_at is null;
  queue_id := q.id;
  outcome := case when q.id is null then 'queue_not_found'
                  when jobferry_limit_reached(p_account, p_limit, created_at) then 'limit_reached'
                  when p_encrypted_for is not distinct from case when q.payloads_encrypted then q.id end then 'created'
                  when q.payloads_encrypted then 'must_encrypt' else 'must_not_encrypt' end;
  if outcome <> 'created' then return; end if;
  id := jobferry_id(created_at);
  v_due := created_at + p_delay * interval '1 millisecond';
  if v_free > 0 and p_reserved = q.id then
    v_token := nextval('jobferry_claim_token_seq');
    v_claimed_at := jobferry_now();
  end if;
  insert into job (id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, payload, payload_key, trace_context,
                   scheduled_for, deliver_by, created_at, status, attempts, claim_token, worker_id, claimed_at, deadline,
                   mode, max_defers, ack_timeout_action)
  values (id, p_account, q.id, q.max_attempts, q.backoff_type, q.backoff_delay, p_payload,
          case when q.payloads_encrypted then split_part(left(p_payload, 32), ':', 3) end, p_trace,
          v_due, v_due + p_lifetime, created_at,
          case when v_claimed_at is null then 'pending' else 'processing' end, (v_claimed_at is not null)::integer,
          v_token, case when v_claimed_at is not null then p_worker end, v_claimed_at, v_claimed_at + p_lease,
          case when v_claimed_at is not null then q.mode end, case when v_claimed_at is not null then q.max_defers end,
          case when v_claimed_at is not null then q.ack_timeout_action end);
  if v_claimed_at is null then
    perform jobferry_wake('deliver', q.id, v_due);
    return;
  end if;
  claims := jobferry_new_claims(v_claimed_at, v_token, json_build_array(jobferry_claimed_queue(q, v_free <= 1)));
  if jobferry_moves_bookmark(1) then perform jobferry_set_bookmark(q.id, v_claimed_at); end if;
  perform jobferry_count_attempt(p_account, v_claimed_at, 1);
end
$$;

-- Its steps ---------------------------------------------------------------------------------------

-- The claims of a publish, for the worker.
create or replace function jobferry_new_claims(p_at timestamptz, p_token bigint, p_queues json) returns json
language sql stable
as $$ select json_build_object('claimedAt', extract(epoch from p_at) * 1000, 'token', p_token::text, 'queues', p_queues) $$;

-- The columns of the queue of its new jobs that a worker needs.
create or replace function jobferry_claimed_queue(q queue, p_is_full boolean) returns json
language sql stable
as $$
  select json_build_object(
    'id', q.id, 'webhookUrl', q.webhook_url, 'signingSecret', q.signing_secret, 'nextSigningSecret', q.next_signing_secret,
    'maxAttempts', q.max_attempts, 'backoffType', q.backoff_type, 'backoffDelay', q.backoff_delay, 'mode', q.mode,
    'maxDefers', q.max_defers, 'ackTimeout', q.ack_timeout, 'ackTimeoutAction', q.ack_timeout_action, 'isFull', p_is_full)
$$;

-- The items with their queues (null without one) and the columns of the jobs that they become. The planner joins its
-- query to those that use it.
create or replace function jobferry_items(
  p_items json, p_payloads text[], p_now timestamptz, p_lifetime interval,
  p_open text[], p_worker integer, p_token bigint, p_claimed_at timestamptz, p_lease interval
) returns table (
  n bigint, "limit" bigint, encrypted_for text, is_encrypting boolean, has_right_form boolean, is_claimed boolean,
  account_id text, queue_id text, max_attempts integer, backoff_type text, backoff_delay float8, key text, payload text,
  payload_key text, trace text, scheduled_for timestamptz, deliver_by timestamptz, status text, attempts integer,
  claim_token bigint, worker_id integer, claimed_at timestamptz, deadline timestamptz,
  mode text, max_defers integer, ack_timeout_action text
)
language sql stable
as $$
  select n, "limit", "encryptedFor", payloads_encrypted,
         -- Computed here and not where it is compared: there the planner expects it to be rare, and joins row by row.
         "encryptedFor" is not distinct from case when payloads_encrypted then id end,
         is_claimed, "accountId", id, max_attempts, backoff_type, backoff_delay, "key", "payload",
         case when payloads_encrypted then split_part(left("payload", 32), ':', 3) end, "trace", due, due + p_lifetime,
         case when is_claimed then 'processing' else 'pending' end, is_claimed::integer,
         case when is_claimed then p_token else 0 end, case when is_claimed then p_worker end,
         case when is_claimed then p_claimed_at end, case when is_claimed then p_claimed_at + p_lease end,
         case when is_claimed then mode end, case when is_claimed then max_defers end,
         case when is_claimed then ack_timeout_action end
    from (select i.*, q.*, p_now + coalesce("delayMs", 0) * interval '1 millisecond' as due,
                 "claimable" is true and q.id = any (p_open) as is_claimed
            from rows from (
                   json_to_recordset(p_items)
                     as ("accountId" text, "queue" text, "key" text, "delayMs" float8, "limit" bigint,
                         "encryptedFor" text, "trace" text, "claimable" boolean),
                   unnest(p_payloads)
                 ) with ordinality as i(
                   "accountId", "queue", "key", "delayMs", "limit", "encryptedFor", "trace", "claimable", "payload", n)
            left join queue q on q.account_id = "accountId" and q.name = "queue" and q.deleted_at is null) item
   order by n
$$;

-- Stores items that have neither a key nor a limit.
--   queues, dues  jobs that wait, for jobferry_wake_all
--   claimed       an account for each job that p_worker has claimed; null if it has none
create or replace function jobferry_store_plain_jobs(
  p_items json, p_payloads text[], p_now timestamptz, p_lifetime interval,
  p_open text[], p_worker integer, p_token bigint, p_claimed_at timestamptz, p_lease interval,
  out answers json, out queues text[], out dues timestamptz[], out claimed text[]
)
language plpgsql
as $$
begin
  with item as materialized (
    select i.*, queue_id is not null and has_right_form as is_new, jobferry_id(p_now) as id
      from jobferry_items(p_items, p_payloads, p_now, p_lifetime, p_open, p_worker, p_token, p_claimed_at, p_lease) i
  ), created as (
    insert into job (id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, payload, payload_key, trace_context,
                     scheduled_for, deliver_by, created_at, status, attempts, claim_token, worker_id, claimed_at, deadline,
                     mode, max_defers, ack_timeout_action)
    select id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, payload, payload_key, trace,
           scheduled_for, deliver_by, p_now, status, attempts, claim_token, worker_id, claimed_at, deadline,
           mode, max_defers, ack_timeout_action
      from item where is_new
  )
  select a.answers, a.claimed, w.queues, w.dues
    into answers, claimed, queues, dues
    from (select json_build_object(
                   'createdAt', extract(epoch from p_now) * 1000,
                   'ids', json_agg(case when is_new then id end), 'queueIds', json_agg(queue_id),
                   'others', json_agg(json_build_object(
                     'index', n - 1, 'outcome', case when queue_id is null then 'queue_not_found'
                                                     when is_encrypting then 'must_encrypt'
                                                     else 'must_not_encrypt' end)) filter (where not is_new)) as answers,
                 array_agg(account_id) filter (where is_new and is_claimed) as claimed
            from (select * from item order by n) item) a,
         (select array_agg(queue_id order by queue_id, due) as queues, array_agg(due order by queue_id, due) as dues
            from (select queue_id, min(scheduled_for) as due
                    from item where is_new and not is_claimed group by queue_id, date_trunc('second', scheduled_for)) s) w;
end
$$;

-- Stores items of any kind. Returns the same as jobferry_store_plain_jobs.
create or replace function jobferry_store_jobs(
  p_items json, p_payloads text[], p_now timestamptz, p_lifetime interval,
  p_open text[], p_worker integer, p_token bigint, p_claimed_at timestamptz, p_lease interval,
  out answers json, out queues text[], out dues timestamptz[], out claimed text[]
)
language plpgsql
as $$
begin
  with item as materialized (
    select i.*, jobferry_id(p_now) as id
      from jobferry_items(p_items, p_payloads, p_now, p_lifetime, p_open, p_worker, p_token, p_claimed_at, p_lease) i
  ), existing as materialized (
    select item.n, j.id, j.status, j.created_at,
           case when is_plain then j.payload <> item.payload when not may_equal then true end as differs,
           case when not is_plain and may_equal then j.payload end as stored
      from item join job j on j.queue_id = item.queue_id and j.idempotency_key = item.key
           cross join lateral (
             select j.payload_key is null and item.encrypted_for is null as is_plain,
                    -- Encryption makes a text of n bytes one of about 4/3 n + 74 (src/db/connection/cipher).
                    octet_length(j.payload) <= 2 * octet_length(item.payload) + 200 as may_equal) p
  ), refused as materialized (
    select n from item where "limit" is not null and queue_id is not null and jobferry_limit_reached(account_id, "limit", p_now)
  ), created as (
    insert into job (id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, idempotency_key,
                     payload, payload_key, trace_context, scheduled_for, deliver_by, created_at,
                     status, attempts, claim_token, worker_id, claimed_at, deadline, mode, max_defers, ack_timeout_action)
    select id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, key,
           payload, payload_key, trace, scheduled_for, deliver_by, p_now,
           status, attempts, claim_token, worker_id, claimed_at, deadline, mode, max_defers, ack_timeout_action
      from item
     where queue_id is not null and n not in (select n from existing) and n not in (select n from refused)
       and has_right_form
     order by queue_id, key, n
        on conflict (queue_id, idempotency_key) where idempotency_key is not null do nothing
    returning id, account_id, queue_id, scheduled_for, status
  )
  select (select json_build_object(
                   'createdAt', extract(epoch from p_now) * 1000,
                   'ids', json_agg(answer.created_id), 'queueIds', json_agg(answer.queue_id),
                   'others', json_agg(json_build_object(
                     'outcome', case when queue_id is null then 'queue_not_found'
                                     when existing_id is not null then 'existing'
                                     when is_refused then 'limit_reached'
                                     when has_right_form then 'retry'
                                     when is_encrypting then 'must_encrypt'
                                     else 'must_not_encrypt' end,
                     'index', n - 1, 'id', existing_id, 'status', status, 'differs', differs, 'stored', stored,
                     'createdAt', extract(epoch from created_at) * 1000)) filter (where created_id is null))
            from (select item.n, item.queue_id, item.is_encrypting, item.has_right_form, created.id as created_id,
                         existing.id as existing_id, existing.status, existing.created_at,
                         existing.differs, existing.stored, refused.n is not null as is_refused
                    from item
                    left join existing on existing.n = item.n
                    left join refused on refused.n = item.n
                    left join created on created.id = item.id
                   order by item.n) answer),
         w.queues, w.dues, (select array_agg(account_id) from created where status = 'processing')
    into answers, queues, dues, claimed
    from (select array_agg(queue_id order by queue_id, due) as queues, array_agg(due order by queue_id, due) as dues
            from (select queue_id, min(scheduled_for) as due
                    from created where status = 'pending' group by queue_id, date_trunc('second', scheduled_for)) s) w;
end
$$;

-- Frees the keys of the items that jobs created before p_before have: a key past retention is outside the window of
-- deduplication, whether its job was removed or not (D31).
create or replace function jobferry_free_old_keys(p_items json, p_before timestamptz) returns void
language plpgsql
as $$
begin
  update job set idempotency_key = null
   where id in (
     select j.id from json_to_recordset(p_items) as i("accountId" text, "queue" text, "key" text)
       join queue q on q.account_id = i."accountId" and q.name = i."queue" and q.deleted_at is null
       join job j on j.queue_id = q.id and j.idempotency_key = i."key"
      where i."key" is not null and j.created_at <= p_before
      order by j.id for update of j);
end
$$;
