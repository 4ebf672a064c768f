import pg from 'pg';

const HOUR = 3_600_000;
/** The default of JOB_RETENTION_SECONDS. What is older is removed, so this is how far back a table reaches. */
export const RETENTION_MS = 72 * HOUR;
const BATCH = 250_000;
const QUEUES = 10;

/** Fast and without durability: what is seeded need not survive a power cut. */
const SEEDING = '-c jit=off -c synchronous_commit=off -c maintenance_work_mem=512MB -c statement_timeout=0';

export async function connect(url, options = '-c jit=off') {
  const client = new pg.Client({ connectionString: url, options });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/**
 * Fills job and attempt with completed jobs, evenly over the time of retention up to now, in the order of their ids;
 * and job_search, if asked to. Returns the history: when its jobs were made, and the queues to publish to.
 */
export async function seedHistory(url, { jobs, documents = false, prepare = async () => undefined }) {
  const clients = [await connect(url, SEEDING), await connect(url, SEEDING)];
  const [first, second] = clients;
  const startedAt = Date.now() - RETENTION_MS;
  const stepMs = RETENTION_MS / jobs;
  try {
    const queues = await seedQueues(first);
    // Building indexes at the end is several times faster than keeping them meanwhile. The primary keys stay:
    // ids come in order, so keeping these costs little.
    const indexes = await dropIndexes(first, documents ? ['job', 'attempt', 'job_search'] : ['job', 'attempt']);
    await prepare(first, startedAt);
    const values = [queues.map(({ id }) => id), queues[0].account_id, startedAt, stepMs];
    await Promise.all([
      inBatches(jobs, (from, to) => first.query(JOBS, [...values, from, to])),
      inBatches(jobs, async (from, to) => {
        await second.query(ATTEMPTS, [values[0], startedAt, stepMs, from, to]);
        if (documents) await second.query(DOCUMENTS, [values[0], startedAt, stepMs, from, to]);
      }),
    ]);
    const ofJobs = indexes.filter(({ table }) => table === 'job');
    const ofOthers = indexes.filter(({ table }) => table !== 'job');
    await Promise.all([createIndexes(first, ofJobs), createIndexes(second, ofOthers)]);
    await first.query(`vacuum (analyze) job, attempt${documents ? ', job_search' : ''}`);
    return { jobs, startedAt, stepMs, queues };
  } finally {
    for (const client of clients) await client.end();
  }
}

async function seedQueues(client) {
  const { rows } = await client.query(`insert into account (name, plan) values ('retention', 'enterprise') returning id`);
  const queues = await client.query(
    `insert into queue (account_id, name, webhook_url, signing_secret, max_attempts, max_defers, concurrency, dlq_enabled,
                        mode, rate_limit_window, ack_timeout, ack_timeout_action, backoff_type, backoff_delay)
     select $1, 'queue-' || n, 'http://127.0.0.1:9/', 'secret', 3, 50, 100, true, 'standard', 60, 300, 'retry', 'fixed', 30
       from generate_series(1, ${QUEUES}) n returning id, account_id, name`,
    [rows[0].id],
  );
  return queues.rows;
}

async function dropIndexes(client, tables) {
  const { rows } = await client.query(
    `select c.relname as name, t.relname as table, pg_get_indexdef(c.oid) as definition
       from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
      where t.relname = any ($1) and t.relnamespace = 'public'::regnamespace and not i.indisprimary`,
    [tables],
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  return rows;
}

/** On the tables as they are now: a partitioned one cannot have what is unique over other columns than its key. */
async function createIndexes(client, indexes) {
  for (const { table, definition } of indexes) {
    const { rows } = await client.query(`select relkind = 'p' as is_partitioned from pg_class where oid = $1::regclass`, [table]);
    if (!rows[0].is_partitioned || !definition.startsWith('CREATE UNIQUE')) await client.query(definition);
  }
}

async function inBatches(jobs, insert) {
  for (let from = 0; from < jobs; from += BATCH) await insert(from, Math.min(from + BATCH, jobs) - 1);
}

// Ids as jobferry_id makes them, but such that each table can be filled by itself.
const numbered = (startedAt, stepMs, from, to) => `
  select n, at, queue_id, lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') ||
                          lpad(to_hex(n & 65535), 4, '0') || left(md5(n::text), 8) as id
    from (select n, to_timestamp((${startedAt}::float8 + n * ${stepMs}::float8) / 1000)::timestamptz(3) as at,
                 ($1::text[])[1 + n % ${QUEUES}] as queue_id
            from generate_series(${from}::integer, ${to}::integer) n) numbered`;

// About 200 bytes, as in the other scenarios.
const PAYLOAD = `'{"n":' || n || ',"event":"order.paid","customer":{"id":' || n % 50000 || ',"country":"DE"},"total":129.95,"note":"' ||
  repeat('x', 100) || '"}'`;

const JOBS = `
  insert into job (id, account_id, queue_id, status, attempts, max_attempts, backoff_type, backoff_delay, idempotency_key,
                   payload, scheduled_for, deliver_by, created_at, completed_at, mode, max_defers, ack_timeout_action,
                   claim_token, claimed_at, history_count)
  select id, $2, queue_id, 'completed', 1, 3, 'fixed', 30, case when n % 4 = 0 then 'order-' || n end,
         ${PAYLOAD}, at, at + interval '24 hours', at, at + interval '200 ms', 'standard', 50, 'retry', n, at, 1
    from (${numbered('$3', '$4', '$5', '$6')}) job order by n`;

const ATTEMPTS = `
  insert into attempt (job_id, ordinal, queue_id, attempt, status, webhook_status_code, "timestamp", duration_ms, wait_ms,
                       response_body)
  select id, 1, queue_id, 1, 'success', 200, at + interval '200 ms', 20 + n % 300, n % 30, '{"ok":true}'
    from (${numbered('$2', '$3', '$4', '$5')}) job order by n`;

const DOCUMENTS = `
  insert into job_search (job_id, queue_id, doc)
  select id, queue_id, jsonb_build_object(queue_id, (${PAYLOAD})::jsonb)
    from (${numbered('$2', '$3', '$4', '$5')}) job order by n`;
