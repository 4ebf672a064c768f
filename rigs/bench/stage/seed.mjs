import { query } from './postgres.mjs';

const BATCH = 100_000;

/**
 * Puts pending jobs into a queue as if they had been published, numbered from `first` on; with `delayed` due in
 * some hours, else at once. Their payloads count as indexed, or a worker would be busy with that for a long time.
 */
export async function seedJobs(databaseUrl, { queueId, first, jobs, delayed = false }) {
  for (let from = first; from < first + jobs; from += BATCH) {
    await query(
      databaseUrl,
      `insert into job (account_id, queue_id, max_attempts, backoff_type, backoff_delay, payload, scheduled_for, deliver_by,
                        created_at)
       select q.account_id, q.id, q.max_attempts, q.backoff_type, q.backoff_delay,
              '{"n":' || n || ',"event":"order.paid","customer":{"id":4711,"country":"DE"},"total":129.95,"note":"' ||
                repeat('x', 100) || '"}',
              due, due + interval '24 hours', at
         from queue q, generate_series($2::integer, $3::integer) n,
              lateral (select jobferry_now() as at, jobferry_now() + $4 * (interval '1 hour' + n * interval '10 ms') as due) time
        where q.id = $1`,
      [queueId, from, Math.min(from + BATCH, first + jobs) - 1, delayed ? 1 : 0],
    );
  }
  await query(databaseUrl, `update follower set position = (select max(id) from job) where name = 'search'`);
}
