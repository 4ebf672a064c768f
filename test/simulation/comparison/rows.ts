import type { JobRow, QueueRow, Tables } from '../model/tables.ts';
import type { Side } from './operations.ts';

/** Ids, tokens and names differ between the sides; what they stand for does not. */
export function comparable(side: Side, value: unknown): unknown {
  const { queueIds, jobIds } = side;
  if (value instanceof Set) return comparable(side, [...value].sort());
  return JSON.parse(
    JSON.stringify(value ?? null, (key, inner: unknown) => {
      if (key === 'token' || key === 'queueName' || key === 'accountId' || key === 'signingSecret') return undefined;
      if (typeof inner !== 'string') return inner;
      if (jobIds.includes(inner)) return `job ${jobIds.indexOf(inner)}`;
      return queueIds.includes(inner) ? `queue ${queueIds.indexOf(inner)}` : inner;
    }),
  );
}

/** All that the model has a copy of, of the only account that there is. */
export const DUMP = `
  select
    (select json_agg(json_build_object('id', id, 'status', status, 'attempts', attempts, 'deferCount', defer_count,
              'key', idempotency_key, 'scheduledFor', jobferry_ms(scheduled_for), 'deliverBy', jobferry_ms(deliver_by),
              'lastError', last_error, 'completedAt', jobferry_ms(completed_at), 'deadAt', jobferry_ms(dead_at), 'deadReason', dead_reason,
              'workerId', worker_id, 'claimedAt', jobferry_ms(claimed_at), 'deadline', jobferry_ms(deadline),
              'shortHolds', short_holds, 'interruptions', interruptions, 'mode', mode, 'maxDefers', max_defers,
              'ackTimeoutAction', ack_timeout_action, 'answerCode', answer_status_code, 'waitReason', wait_reason,
              'history', coalesce((select json_agg(json_build_object('attempt', a.attempt, 'status', a.status,
                'error', a.error, 'webhookStatusCode', a.webhook_status_code, 'timestamp', jobferry_ms(a."timestamp"))
                order by a.ordinal) from attempt a where a.job_id = job.id), '[]'),
              'letter', (select json_build_object('reason', d.reason, 'error', d.error,
                'webhookStatusCode', d.webhook_status_code, 'deadAt', jobferry_ms(d.dead_at))
                from dead_letter d where d.job_id = job.id)) order by id) from job) as jobs,
    (select json_agg(json_build_object('id', id, 'holdUntil', jobferry_ms(hold_until), 'probeJobId', probe_job_id,
              'deletedAt', jobferry_ms(deleted_at), 'pausedAt', jobferry_ms(paused_at),
              'lifetimeFloor', jobferry_ms(lifetime_floor), 'windowUsed', coalesce(w.used, 0),
              'windowStart', jobferry_ms(w.starts), 'breaker', json_build_object(
                'failures', breaker_failures, 'seconds', breaker_seconds, 'failed', breaker_failed,
                'failedSince', jobferry_ms(breaker_failed_since), 'openedAt', jobferry_ms(breaker_opened_at),
                'until', jobferry_ms(breaker_until), 'probes', breaker_probes,
                'closedAt', jobferry_ms(breaker_closed_at))) order by id)
       from queue left join rate_window w on w.queue_id = queue.id) as queues,
    (select coalesce(json_agg(key order by key), '[]') from graphile_worker.jobs) as wakes,
    (select coalesce(sum(attempts), 0)::int from usage) as used`;

/** The rows of the model. */
export function dumpOf(tables: Tables, accountId: string): unknown {
  const jobOf = ({ accountId: _a, queueId: _q, payload: _p, createdAt: _c, token: _t, ...job }: JobRow) => {
    const { maxAttempts: _m, backoffType: _b, backoffDelay: _d, ...rest } = job;
    return { ...rest, letter: tables.letters.get(job.id) ?? null };
  };
  const queueOf = (queue: QueueRow) => {
    const { id, holdUntil, probeJobId, deletedAt, pausedAt, lifetimeFloor, windowUsed, windowStart, breaker } = queue;
    return { id, holdUntil, probeJobId, deletedAt, pausedAt, lifetimeFloor, windowUsed, windowStart, breaker };
  };
  return {
    jobs: tables.jobs.size === 0 ? null : [...tables.jobs.values()].map(jobOf),
    queues: [...tables.queues.values()].map(queueOf),
    wakes: [...tables.wakes.keys()].sort(),
    used: tables.usage.get(accountId) ?? 0,
  };
}

/** Keys of wake-ups carry the queue's id. */
export function withoutIds(side: Side, dump: unknown): unknown {
  const { wakes, ...rest } = comparable(side, dump) as { wakes: string[] };
  const named = wakes.map((key) => key.replace(/[0-9a-f]{24}/, (id) => String(side.queueIds.indexOf(id))));
  return { ...rest, wakes: named.sort() };
}
