/**
 * One row for each resource that accounts share in a process. `attack` names one of attacks.mjs; `accounts` are the
 * attacker's, one of plan `pro` by default; `seed` puts rows into the database that would take long to come about.
 */
export const TABLE = [
  { name: 'slots', resource: 'delivery slots', attack: 'hangingReceiver' },
  {
    name: 'slots-of-many',
    resource: 'delivery slots, five accounts',
    attack: 'hangingReceiver',
    accounts: Array.from({ length: 5 }, () => ({ plan: 'pro' })),
  },
  { name: 'slow-receiver', resource: 'delivery slots, a receiver that takes a second', attack: 'slowReceiver' },
  { name: 'flooding-receiver', resource: 'memory of answers, endless bodies', attack: 'floodingReceiver' },
  { name: 'payload-bytes', resource: 'payload bytes in flight', attack: 'largePayloads', accounts: [{ plan: 'free' }] },
  {
    name: 'names',
    resource: 'name look-ups',
    attack: 'namesWithoutAnswer',
    accounts: [{ plan: 'free' }],
    quiet: { hostName: 'quiet.fast.test' },
  },
  { name: 'ready-queues', resource: 'ready list and claims, 900 queues', attack: 'manyQueues' },
  { name: 'publish-rest', resource: 'publish queue, REST', attack: 'publishFlood' },
  { name: 'publish-bulk', resource: 'publish queue, 1000 jobs a call', attack: 'bulkPublish' },
  { name: 'publish-bytes', resource: 'publish queue, 1 MiB payloads', attack: 'largePublishes' },
  { name: 'backlog', resource: 'claims, deliveries and settle batches', attack: 'backlog', seed: pendingJobs(40_000) },
  { name: 'reports', resource: 'reports of ack mode', attack: 'reports' },
  { name: 'reports-graphql', resource: 'reports of ack mode, 30 a request', attack: 'reportsByGraphql' },
  { name: 'searches', resource: 'searches, 30 aliases over 300 000 jobs', attack: 'searches', seed: completedJobs(300_000) },
  { name: 'event-loop', resource: 'event loop, payload samples', attack: 'payloadSamples' },
  { name: 'lists', resource: 'list pages of 300 000 jobs', attack: 'deepLists', seed: completedJobs(300_000) },
  { name: 'dlq-lists', resource: 'pages of 300 000 dead letters', attack: 'deepDeadLetters', seed: deadLetters(300_000) },
  { name: 'error-groups', resource: 'groups of 300 000 dead letters', attack: 'errorGroups', seed: deadLetters(300_000) },
  { name: 'statistics', resource: 'charts of a queue', attack: 'statistics', seed: attempts(300_000) },
  { name: 'large-documents', resource: 'single jobs of 1 MiB', attack: 'largeDocuments' },
  { name: 'unread-answers', resource: 'memory of answers that the client does not read', attack: 'unreadLists' },
  { name: 'subscriptions', resource: 'subscriptions', attack: 'subscriptions' },
  { name: 'watches', resource: 'announcements of what is watched', attack: 'watches' },
  { name: 'unread-streams', resource: 'live streams that the client does not read', attack: 'unreadStreams' },
  { name: 'bulk-actions', resource: 'bulk actions', attack: 'bulkActions', seed: deadLetters(50_000) },
  { name: 'large-replays', resource: 'replays of 1 MiB payloads', attack: 'largeReplays', seed: deadLetters(4000, 2 ** 20 - 20) },
  { name: 'edits', resource: 'queue edits and the audit log', attack: 'queueEdits' },
  { name: 'tombstones', resource: 'tombstones, a million', attack: 'deletedQueues', seed: tombstones(1_000_000) },
  { name: 'payload-index', resource: 'payload index, hostile payloads', attack: 'hostilePayloads' },
  { name: 'junk-keys', resource: 'look-ups of API keys', attack: 'junkKeys' },
  { name: 'readiness', resource: '/readyz, without a key', attack: 'readiness' },
  { name: 'sockets', resource: 'connections that say nothing', attack: 'idleSockets' },
  { name: 'paused-backlog', resource: 'a paused queue with 300 000 expired jobs', attack: 'none', seed: expiredJobs(300_000) },
];

const JOBS = `insert into job (id, account_id, queue_id, status, attempts, max_attempts, backoff_type, backoff_delay, payload,
                               scheduled_for, deliver_by, created_at, completed_at, dead_reason, last_error)`;

async function queueOf(query, accountId) {
  const [{ id }] = await query('select id from queue where account_id = $1 order by id limit 1', [accountId]);
  return id;
}

/** Payloads count as indexed, or the service would be busy with that. */
function indexed(query) {
  return query(`update follower set position = (select max(id) from job) where name = 'search'`);
}

function completedJobs(count) {
  return async ({ accounts: [{ id: account }], query }) => {
    await query(
      `${JOBS} select jobferry_id(), $1, $2, 'completed', 1, 3, 'fixed', 1, '{"n":' || n || '}', now(), now() + interval '1 day',
                      now(), now(), null, null from generate_series(1, $3::integer) n`,
      [account, await queueOf(query, account), count],
    );
    await indexed(query);
  };
}

/** In both queues of the attacker. */
function pendingJobs(count) {
  return async ({ accounts: [{ id: account }], query }) => {
    await query(
      `${JOBS} select jobferry_id(), $1, queue.id, 'pending', 0, 3, 'fixed', 1, '{"n":' || n || '}', now(),
                      now() + interval '1 day', now(), null, null, null
                 from generate_series(1, $2::integer) n, queue where queue.account_id = $1`,
      [account, count],
    );
    await indexed(query);
  };
}

function attempts(count) {
  return async ({ accounts: [{ id: account }], query }) => {
    const queue = await queueOf(query, account);
    await query(
      `insert into attempt (job_id, ordinal, queue_id, attempt, status, webhook_status_code, "timestamp", duration_ms, wait_ms)
       select jobferry_id(), 1, $1, 1, 'success', 200, now(), n % 500, n % 700 from generate_series(1, $2::integer) n`,
      [queue, count],
    );
  };
}

/** @param bytes of each payload */
function deadLetters(count, bytes = 2) {
  return async ({ accounts: [{ id: account }], query }) => {
    await query(
      `with died as (
         ${JOBS} select jobferry_id(), $1, $2, 'dead', 3, 3, 'fixed', 1, $4, now(), now() + interval '1 day', now(), null,
                        'attempts_exhausted', 'HTTP 500' from generate_series(1, $3::integer) n returning id, queue_id)
       insert into dead_letter (job_id, queue_id, reason, error, webhook_status_code, fingerprint, dead_at)
       select id, queue_id, 'attempts_exhausted', 'HTTP 500', 500, 'same', now() from died`,
      [account, await queueOf(query, account), count, bytes === 2 ? '{}' : `{"text":"${'x'.repeat(bytes - 11)}"}`],
    );
    await indexed(query);
  };
}

function expiredJobs(count) {
  return async ({ accounts: [{ id: account }], query }) => {
    const queue = await queueOf(query, account);
    await query(`update queue set paused_at = now() - interval '30 hours', paused_by = 'seed' where id = $1`, [queue]);
    await query(
      `${JOBS} select jobferry_id(now() - interval '26 hours'), $1, $2, 'pending', 0, 3, 'fixed', 1, '{}',
                      now() - interval '26 hours', now() - interval '2 hours', now() - interval '26 hours', null, null, null
                 from generate_series(1, $3::integer) n`,
      [account, queue, count],
    );
    await indexed(query);
  };
}

function tombstones(count) {
  return async ({ accounts: [{ id: account }], query }) => {
    await query(
      `insert into queue (account_id, name, webhook_url, signing_secret, max_attempts, max_defers, concurrency, dlq_enabled,
                          mode, rate_limit_window, ack_timeout, ack_timeout_action, backoff_type, backoff_delay, deleted_at)
       select $1, 'gone-' || n, 'http://127.0.0.1:9/', 'secret', 3, 50, 1, true, 'standard', 60, 300, 'retry', 'fixed', 1, now()
         from generate_series(1, $2::integer) n`,
      [account, count],
    );
    // Each keeps its tombstone for a job that it once had.
    await query(
      `${JOBS} select jobferry_id(), $1, id, 'completed', 1, 3, 'fixed', 1, '{}', now(), now() + interval '1 day', now(), now(),
                      null, null from queue where account_id = $1 and deleted_at is not null`,
      [account],
    );
    await indexed(query);
  };
}
