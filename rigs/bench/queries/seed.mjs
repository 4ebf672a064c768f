// Fills a migrated database with an account of many jobs, as a busy shop would have left them: ten queues
// of uneven size, three days, nearly all completed, some dead, the newest still waiting. For measuring what
// dashboards ask (docs/queries.md).
//
//   DATABASE_URL=postgresql://… node rigs/bench/queries/seed.mjs [jobs]     1000000 by default
//
// Prints one JSON object: the ids of the account and its queues. Statistics tables stay empty.
import pg from 'pg';

const jobs = Number(process.argv[2] ?? 1_000_000);
const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
await client.connect();

const rowsOf = async (text, values = []) => (await client.query(text, values)).rows;

// All or nothing: a seed that fails halfway must not leave the index dropped.
await client.query('begin');
const [account] = await rowsOf(`insert into account (name, plan) values ('seed', 'pro') returning id`);
const queues = await rowsOf(
  `insert into queue (account_id, name, webhook_url, signing_secret, max_attempts, max_defers, concurrency, dlq_enabled,
                      mode, rate_limit_window, ack_timeout, ack_timeout_action, backoff_type, backoff_delay)
   select $1, 'seed-' || n, 'http://127.0.0.1:9/', 'secret', 3, 50, 50, true, 'standard', 60, 300, 'retry', 'fixed', 30
     from generate_series(1, 10) n returning id`,
  [account.id],
);
const queueIds = queues.map(({ id }) => id);

// Building the large index at the end is several times faster than keeping it meanwhile.
const DOCUMENTS = 'job_search_doc_idx';
const [index] = await rowsOf(`select pg_get_indexdef($1::regclass) as definition`, [DOCUMENTS]);
await client.query(`drop index ${DOCUMENTS}`);

const BATCH = 100_000;
for (let from = 1; from <= jobs; from += BATCH) {
  await client.query(
    `with number as (
       -- Ids grow with n; the last tenth of a percent has not been delivered yet.
       select n, jobferry_now() - interval '10 s' - ($3::integer - n) * (interval '71 hours' / $3::integer) as at,
              random() as r1, random() as r2, random() as r3, random() as r4, n::float8 / $3::integer > 0.999 as is_new
         from generate_series($1::integer, least($2::integer, $3::integer)) n
     ), drawn as (
       select number.*, ($5::text[])[1 + floor(10 * r1 * r1)::integer] as queue_id,
              1 + floor(r2 * 50000)::integer as customer,
              case when is_new and r3 < 0.95 then 'pending' when r3 < 0.98 then 'completed' else 'dead' end as status
         from number
     )
     insert into job (id, account_id, queue_id, status, attempts, max_attempts, backoff_type, backoff_delay,
                      idempotency_key, payload, scheduled_for, deliver_by, last_error, created_at, completed_at,
                      dead_reason, mode, max_defers, ack_timeout_action, history_count, wait_reason, defer_count)
     select jobferry_id(at), $4, queue_id, status,
            case when status = 'completed' and n % 100 = 0 then 2 when status = 'completed' then 1 when status = 'dead' then 3
                 when r4 < 0.2 then 1 else 0 end,
            3, 'fixed', 30, case when n % 4 = 0 then 'order-' || n end,
            json_build_object(
              'event', (array['order.created', 'order.paid', 'order.shipped', 'order.refunded'])[1 + n % 4],
              'customer', json_build_object('id', customer, 'email', 'customer' || customer || '@example.com',
                'country', (array['DE', 'FR', 'IT', 'ES', 'PL', 'NL', 'SE', 'PT'])[1 + customer % 8]),
              'order', json_build_object('id', 'ord_' || n, 'status', case when r3 < 0.7 then 'paid' else 'open' end,
                'total', round((5 + 2000 * r4 * r4 * r4)::numeric, 2), 'currency', 'EUR'),
              'items', json_build_array(
                json_build_object('sku', 'SKU-' || floor(r1 * 5000), 'quantity', 1 + n % 3, 'price', round((r4 * 90)::numeric, 2)),
                json_build_object('sku', 'SKU-' || floor(r3 * 5000), 'quantity', 1, 'price', round((r2 * 90)::numeric, 2))),
              'tags', json_build_array(case when n % 5 = 0 then 'gift' else 'standard' end, 'web'),
              'note', case when n % 1000 = 7 then 'call before delivery' end)::text,
            case when status = 'pending' and r4 > 0.6 then jobferry_now() + interval '6 hours' * r2 else at end,
            at + interval '72 hours', case when status = 'dead' then 'HTTP 500' end, at,
            case when status = 'completed' then at + interval '200 ms' end,
            case when status = 'dead' then 'attempts_exhausted' end,
            case when status <> 'pending' then 'standard' end, case when status <> 'pending' then 50 end,
            case when status <> 'pending' then 'retry' end,
            case when status = 'pending' and r4 >= 0.2 then 0 when status = 'completed' and n % 100 = 0 then 2 else 1 end,
            case when status = 'pending' and r4 < 0.2 then 'backoff' end, case when n % 5000 = 0 then 3 else 0 end
       from drawn order by n`,
    [from, from + BATCH - 1, jobs, account.id, queueIds],
  );
}
const later = [queueIds, 'attempts_exhausted'];
// One completed job in a hundred failed once before. What is wrong is in the text of the answer.
await client.query(
  `insert into attempt (job_id, ordinal, queue_id, attempt, status, error, webhook_status_code, "timestamp", duration_ms,
                        wait_ms, response_body, started_at)
   select id, ordinal, queue_id, least(ordinal, attempts), case when is_success then 'success' else 'failed' end,
          case when not is_success then 'HTTP 500' end, case when is_success then 200 else 500 end,
          created_at + ordinal * interval '200 ms', 20 + 400 * random() * random(), 30 * random(),
          case when is_success then '{"ok":true}'
               else (array['deadlock detected in row ' || right(id, 6), 'out of stock', '{"error":"no such order"}'])[1 + abs(hashtext(id)) % 3] end,
          created_at
     from (select j.*, n.ordinal, j.status = 'completed' and n.ordinal = j.history_count as is_success
             from job j cross join lateral generate_series(1, j.history_count) n(ordinal)
            where j.queue_id = any ($1) and j.history_count > 0) a
    order by created_at, ordinal`,
  [queueIds],
);
await client.query(
  `insert into dead_letter (id, job_id, queue_id, reason, error, webhook_status_code, fingerprint, answer, dead_at)
   select jobferry_id(j.created_at), j.id, j.queue_id, $2, j.last_error, 500, jobferry_fingerprint($2, 500, j.last_error),
          jobferry_answer_line(500, a.response_body), j.created_at
     from job j join attempt a on a.job_id = j.id and a.ordinal = j.history_count
    where j.queue_id = any ($1) and j.status = 'dead' order by j.id`,
  [queueIds, 'attempts_exhausted'],
);
await client.query(
  `insert into job_search (job_id, queue_id, doc)
   select id, queue_id, jsonb_build_object(queue_id, payload::jsonb) from job where queue_id = any ($1) order by id`,
  [queueIds],
);
await client.query(`update follower set position = (select max(id) from job) where name = 'search'`);
await client.query(`set maintenance_work_mem = '512MB'`);
await client.query(index.definition);
await client.query('commit');
await client.query('vacuum (analyze) job, attempt, dead_letter, job_search');
console.log(JSON.stringify({ accountId: account.id, queueIds, jobs }));
await client.end();
