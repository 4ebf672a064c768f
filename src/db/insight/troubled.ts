import { LEAST_ATTEMPTS, LEAST_BAD_ANSWERS, LEAST_SINCE } from '../../domain/health.ts';
import { BEHIND_MS, severityOf } from '../../domain/queue-condition.ts';
import type { Database, Statement } from '../connection/database.ts';
import { FAILED_PROBES } from './failed-probes.ts';
import { newestOutcomes } from './past-failures.ts';

/** Queues that can be ordered by trouble: each of them is then judged exactly. */
const MAX_TROUBLED = 500;

// Reads the head of each queue's due jobs, and its statistics of the last hour. Attempts after the last roll-up, 15 s
// ago at most, are left out. A histogram ends with its largest value, so most need no adding up to have nothing slow.
// The order is that of `domain/queue-condition`, as far as it matters for which are left out.
const TROUBLED: Statement = {
  name: 'troubled-queues',
  text: `
    with clock as materialized (
      select jobferry_now() as now
    ), facts as materialized (
      select q.id, q.paused_at is not null as paused,
             q.hold_until is not null as held, q.hold_until is not null and q.breaker_opened_at is not null as broken,
             clock.now - (select min(j.scheduled_for) from (
               select j.scheduled_for from job j where j.queue_id = q.id and j.status = 'pending'
                order by j.queue_id, j.scheduled_for, j.id limit 1) j) as due_for,
             hour.attempts, hour.failed, hour.unauthorized, hour.deferred, hour.slow, exists (
                 -- No fewer than domain/lasting-trouble finds: failures since an hour before the last success, which
                 -- too few have followed.
                 select from (
                   select t.*, max(t.bucket) filter (where t.others > 0) over () as failed_at,
                          max(t.bucket) filter (where t.success > 0) over () - interval '1 hour' as first from (
                     ${newestOutcomes(
                       {
                         queueId: 'q.id',
                         from: `jobferry_bucket(clock.now - $4 * interval '1 ms')`,
                         until: `'infinity'`,
                       },
                       's.bucket, s.success, s.failed + s.nacked + s.deferred as others, s.unauthorized',
                     )}) t) last
                  where bucket >= first is not false
                 having (sum(others) >= ${LEAST_ATTEMPTS} or sum(unauthorized) >= ${LEAST_BAD_ANSWERS})
                    and coalesce(sum(success) filter (where bucket > failed_at), 0) < ${LEAST_SINCE}) as ended_badly
        from clock, queue q cross join lateral (
          select sum(s.success + s.failed + s.nacked + s.deferred) as attempts, sum(s.failed + s.nacked) + ${FAILED_PROBES} as failed,
                 sum(s.unauthorized) as unauthorized, sum(s.deferred) - ${FAILED_PROBES} as deferred,
                 sum(case when cardinality(s.durations) > $3
                          then (select sum(n) from unnest(s.durations[$3 + 1:]) n) end) as slow
            from queue_stats s
           where (s.queue_id, s.bucket) >= (q.id, jobferry_bucket(clock.now - interval '1 hour'))
             and (s.queue_id, s.bucket) <= (q.id, 'infinity')) hour
       where q.account_id = $1 and q.deleted_at is null and ($2::text is null or q.name ilike $2 or q.webhook_url ilike $2)
    ), ranked as (
      select id, due_for, case
               when paused then ${severityOf('paused')}
               when unauthorized >= ${LEAST_BAD_ANSWERS} or broken then ${severityOf('signature')}
               when held then ${severityOf('held')}
               when failed * 2 > attempts or ended_badly then ${severityOf('failing')}
               when due_for > interval '${BEHIND_MS} ms' or slow * 20 > attempts then ${severityOf('behind')}
               when deferred >= ${LEAST_BAD_ANSWERS} then ${severityOf('pressure')} end as severity
        from facts
    )
    select id from ranked where severity is not null
     order by severity desc, due_for desc nulls last, id limit ${MAX_TROUBLED}`,
};

/**
 * Returns the queues of an account that may need a hand, of all live ones whose name or webhook URL is like `text`.
 * @param text a pattern of `ilike`; null for all
 * @param slowFrom element of the histogram of durations from which on a delivery is slow
 */
export async function troubledQueues(
  db: Database,
  accountId: string,
  text: string | null,
  slowFrom: number,
  retentionMs: number,
): Promise<string[]> {
  return (await db.query<{ id: string }>(TROUBLED, [accountId, text, slowFrom, retentionMs])).map(({ id }) => id);
}
