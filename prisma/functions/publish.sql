-- Publishes a batch of items of any accounts and queues. p_keyed: whether any item has an idempotency key. Each item gets an
-- outcome of its own:
--   created          `ids` has the new job, at the position of the item
--   existing         the queue has a job with this key. `differs`: whether its payload is another one. Where one of the two
--                    is encrypted and their sizes fit, `differs` is null, and `stored` is the payload of the job. So the
--                    result is at most about twice as large as the batch, however large the stored payloads are
--   queue_not_found  the account has no queue of this name
--   limit_reached    the plan's attempts of this month are used up
--   must_encrypt, must_not_encrypt
--                    the payload has to come encrypted for the queue that `queueIds` names, or not encrypted: the queue
--                    was switched, or is another one of the same name
--   retry            another publish with the same key came in between, in this batch or in another process; published
--                    again, the item finds that job (D18)
-- `ids` has null for items that created no job; `others` has their outcomes.
--
-- Step by step: keys past retention are freed; one statement inserts the jobs and collects the outcomes; wake-ups are written.
create or replace function jobferry_publish(p_items json, p_keyed boolean, p_retention interval, p_lifetime interval) returns json
language plpgsql
set enable_seqscan = off -- as in jobferry_settle
as $$
declare
  v_now timestamptz := jobferry_now();
  v_result json;
  v_queues text[];
  v_dues timestamptz[];
begin
  if p_keyed then perform jobferry_free_old_keys(p_items, v_now - p_retention); end if;
  with item as materialized (
    select i.*, jobferry_id(v_now) as id, q.id as queue_id, q.payloads_encrypted, q.max_attempts,
           q.backoff_type, q.backoff_delay,
           -- Computed here and not where it is compared: there the planner expects it to be rare, and joins row by row.
           "encryptedFor" is not distinct from case when q.payloads_encrypted then q.id end as has_right_form,
           v_now + coalesce(i."delayMs", 0) * interval '1 millisecond' as scheduled_for
      from rows from (
             json_to_recordset(p_items)
               as ("accountId" text, "queue" text, "payload" text, "key" text, "delayMs" float8, "limit" bigint,
                   "encryptedFor" text, "trace" text)
           ) with ordinality as i("accountId", "queue", "payload", "key", "delayMs", "limit", "encryptedFor", "trace", n)
      left join queue q on q.account_id = i."accountId" and q.name = i."queue" and q.deleted_at is null
     order by i.n
  ), existing as materialized (
    select item.n, j.id, j.status, j.created_at,
           case when is_plain then j.payload <> item."payload" when not may_equal then true end as differs,
           case when not is_plain and may_equal then j.payload end as stored
      from item join job j on j.queue_id = item.queue_id and j.idempotency_key = item."key"
           cross join lateral (
             select j.payload_key is null and item."encryptedFor" is null as is_plain,
                    -- Encryption makes a text of n bytes one of about 4/3 n + 74 (src/db/connection/cipher).
                    octet_length(j.payload) <= 2 * octet_length(item."payload") + 200 as may_equal) p
  ), refused as materialized (
    select n from item where "limit" is not null and queue_id is not null and jobferry_limit_reached("accountId", "limit", v_now)
  ), created as (
    insert into job (id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, idempotency_key,
                     payload, payload_key, trace_context, scheduled_for, deliver_by, created_at)
    select id, "accountId", queue_id, max_attempts, backoff_type, backoff_delay, "key",
           "payload", case when payloads_encrypted then split_part(left("payload", 32), ':', 3) end,
           "trace", scheduled_for, scheduled_for + p_lifetime, v_now
      from item
     where queue_id is not null and n not in (select n from existing) and n not in (select n from refused)
       and has_right_form
     order by queue_id, "key", n
        on conflict (queue_id, idempotency_key) where idempotency_key is not null do nothing
    returning id, queue_id, scheduled_for
  )
  select (select json_build_object(
                   'createdAt', extract(epoch from v_now) * 1000,
                   'ids', json_agg(answer.created_id), 'queueIds', json_agg(answer.queue_id),
                   'others', json_agg(json_build_object(
                     'outcome', case when queue_id is null then 'queue_not_found'
                                     when existing_id is not null then 'existing'
                                     when is_refused then 'limit_reached'
                                     when has_right_form then 'retry'
                                     when payloads_encrypted then 'must_encrypt'
                                     else 'must_not_encrypt' end,
                     'index', n - 1, 'id', existing_id, 'status', status, 'differs', differs, 'stored', stored,
                     'createdAt', extract(epoch from created_at) * 1000)) filter (where created_id is null))
            from (select item.n, item.queue_id, item.payloads_encrypted, item.has_right_form, created.id as created_id,
                         existing.id as existing_id, existing.status, existing.created_at,
                         existing.differs, existing.stored, refused.n is not null as is_refused
                    from item
                    left join existing on existing.n = item.n
                    left join refused on refused.n = item.n
                    left join created on created.id = item.id
                   order by item.n) answer),
         w.queues, w.dues
    into v_result, v_queues, v_dues
    from (select array_agg(queue_id order by queue_id, due) as queues, array_agg(due order by queue_id, due) as dues
            from (select queue_id, min(scheduled_for) as due
                    from created group by queue_id, date_trunc('second', scheduled_for)) s) w;

  perform jobferry_wake_all('deliver', v_queues, v_dues);
  return v_result;
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
