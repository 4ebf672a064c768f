import { LEAST_SINCE } from '../../domain/health.ts';
import { DECISIVE_SPANS } from '../../domain/lasting-trouble.ts';
import type { AttemptTotals } from '../../domain/statistics.ts';
import type { Database, Statement } from '../connection/database.ts';
import { causeAt, type SinceFailure } from './since-failures.ts';

/** SQL: the newest spans of a queue in which attempts succeeded or failed. In other spans all jobs were put off. */
export function newestOutcomes(
  { queueId, from, until }: { queueId: string; from: string; until: string },
  columns: string,
  limit = DECISIVE_SPANS,
): string {
  return `
    select ${columns} from queue_stats s
     where (s.queue_id, s.bucket) >= (${queueId}, ${from}) and (s.queue_id, s.bucket) < (${queueId}, ${until})
       and (s.success + s.failed + s.nacked > 0
            or s.answered_3xx + s.answered_4xx + s.answered_5xx + s.unauthorized + s.unanswered > 0)
     order by s.queue_id desc, s.bucket desc limit ${limit}`;
}

const BEFORE = { queueId: 'own.id', from: 'kept.first', until: 'kept.until' };

// For most queues this reads one row: the newest before the last hour, in which more attempts succeeded than end any
// trouble. Of the others those without a failure are left out, unless all are asked for.
const TRAILS: Statement = {
  name: 'last-spans-of-failed-queues',
  text: `
    with own as materialized (
      select id from queue where id = any ($1::text[]) and account_id = $2 and deleted_at is null
    ), kept as materialized (
      select jobferry_bucket(jobferry_now() - $3 * interval '1 ms') as first,
             jobferry_bucket(jobferry_now() - interval '1 hour') as until
    )
    select own.id, trail.list
      from kept cross join own cross join lateral (
        ${newestOutcomes(BEFORE, 's.success, s.failed + s.nacked + s.deferred as others', 1)}) newest cross join lateral (
        select json_agg(json_build_object(
                 'at', extract(epoch from t.bucket) * 1000, 'success', t.success, 'failed', t.failed, 'nacked', t.nacked,
                 'deferred', t.deferred, 'dead', t.dead, 'answered2xx', t.answered_2xx, 'answered3xx', t.answered_3xx,
                 'answered4xx', t.answered_4xx, 'answered5xx', t.answered_5xx, 'unauthorized', t.unauthorized,
                 'backpressure', t.backpressure, 'unanswered', t.unanswered) order by t.bucket desc) as list,
               sum(t.failed + t.nacked + t.deferred) as others
          from (${newestOutcomes(BEFORE, 's.*')}) t) trail
     where $4 or (newest.others > 0 or newest.success < ${LEAST_SINCE}) and trail.others > 0`,
};

export type Trail = (Omit<AttemptTotals, 'durations' | 'waits'> & { at: number })[];

/**
 * Returns the last spans of statistics before the present hour in which attempts succeeded or failed, newest first.
 * @param all whether queues without a failure in them are included
 */
export async function trailsOf(
  db: Database,
  accountId: string,
  queueIds: readonly string[],
  retentionMs: number,
  all = false,
): Promise<Map<string, Trail>> {
  const rows = await db.query<{ id: string; list: Trail }>(TRAILS, [queueIds, accountId, retentionMs, all]);
  return new Map(rows.map(({ id, list }) => [id, list]));
}

// The function reads the attempts of a span once for all queues of it.
const WITHIN: Statement = {
  name: 'last-failures-within-spans',
  text: `
    select f.queue_id as id, f.failed_at as at, f.succeeded, cause.error, cause.code as "webhookStatusCode"
      from (select at, array_agg(id) as ids from unnest($1::text[], $2::timestamptz[]) as asked(id, at) group by at) spans
     cross join lateral jobferry_failures_in(spans.at, spans.at + interval '300 s',
       array(select id from queue where id = any (spans.ids) and account_id = $3)) f
      left join lateral (${causeAt('f.queue_id', 'f.failed_at')}) cause on true`,
};

/** Returns the last failure of each queue within five minutes, and how many attempts succeeded after it in them. */
export async function failuresWithin(
  db: Database,
  accountId: string,
  spans: readonly { queueId: string; spanMs: number }[],
): Promise<Map<string, SinceFailure>> {
  const values = [spans.map(({ queueId }) => queueId), spans.map(({ spanMs }) => new Date(spanMs)), accountId];
  const rows = await db.query<SinceFailure & { id: string }>(WITHIN, values);
  return new Map(rows.map(({ id, ...failure }) => [id, failure]));
}
