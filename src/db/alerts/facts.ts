import { countedLetters, type QueueMeasure } from '../../domain/alert-cause.ts';
import { ALERT_LIMITS, type AlertKind } from '../../domain/alert-rule.ts';
import type { Database, Statement } from '../connection/database.ts';

/** Which queues the rules of an account are about. Each statement reads by index, and counts up to a bound. */

/** Fewer attempts mean nothing, nor do fewer answers of 401. */
const LEAST_ATTEMPTS = 10;
const LEAST_REJECTED = 3;
/** A receiver is slow if more than this part of the deliveries take longer than the threshold: the 95th percentile. */
const SLOW_PERCENT = 5;

export interface MeasuredRule {
  id: string;
  kind: AlertKind;
  queueId: string | null;
  threshold: number;
  windowSeconds: number;
}

/** A queue of which the condition of a rule holds. */
export interface Measured extends QueueMeasure {
  ruleId: string;
  queueId: string;
}

/** SQL: `w`, the rules $2 with each of the live queues that they watch, of the account $1. */
const WATCHED = `
  clock as materialized (select jobferry_now() as now),
  rule as materialized (
    select * from json_to_recordset($2::json) as r(id text, kind text, "queueId" text, threshold float8, "windowSeconds" float8,
                                                   counted integer)
  ), own as materialized (
    (select id from queue where account_id = $1 and deleted_at is null and exists (select from rule where "queueId" is null)
      order by id limit ${ALERT_LIMITS.queuesOfRule})
    union
    (select id from queue where id = any (array(select "queueId" from rule)) and account_id = $1 and deleted_at is null)
  ), w as materialized (
    select rule.id as rule_id, rule.kind, rule.threshold, rule.counted,
           clock.now, clock.now - rule."windowSeconds" * interval '1 s' as since,
           q.id, q.name, q.concurrency, q.paused_at, q.hold_until, q.hold_since
      from clock cross join rule join own on rule."queueId" is null or own.id = rule."queueId"
      join queue q on q.id = own.id
  )`;

const measured = (
  columns: Partial<Record<'value' | 'total' | 'inFlight' | 'concurrency' | 'reason' | 'code', string>>,
) => `
  w.rule_id as "ruleId", w.id as "queueId", w.name as "queueName", (${columns.value})::float8 as value,
  (${columns.total ?? 'null'})::float8 as total, (${columns.inFlight ?? 'null'})::integer as "inFlight",
  (${columns.concurrency ?? 'null'})::integer as concurrency, (${columns.reason ?? 'null'})::text as reason,
  (${columns.code ?? 'null'})::integer as "statusCode"`;

// Jobs of paused and held queues wait by intention, as in the metrics. No queue has more than 500 slots.
const OLDEST_DUE: Statement = {
  name: 'alert-oldest-due',
  text: `
    with ${WATCHED}
    select ${measured({
      value: 'extract(epoch from w.now - j.scheduled_for)',
      inFlight: `select count(*) from (
        select from job f where f.queue_id = w.id and f.status in ('processing', 'awaiting_ack')
         order by f.queue_id, f.deadline limit 500) counted`,
      concurrency: 'w.concurrency',
    })}
      from w cross join lateral (
        select j.scheduled_for from job j where j.queue_id = w.id and j.status = 'pending'
         order by j.queue_id, j.scheduled_for, j.id limit 1) j
     where w.paused_at is null and w.hold_until is null and j.scheduled_for <= w.now - w.threshold * interval '1 s'`,
};

const HOLD: Statement = {
  name: 'alert-hold',
  text: `
    with ${WATCHED}
    select ${measured({ value: 'extract(epoch from w.now - w.hold_since)' })}
      from w where w.hold_until is not null and w.hold_since <= w.now - w.threshold * interval '1 s'`,
};

// The id of a dead letter has its time. Queue and id are compared together, as everywhere (docs/queries.md).
const DEAD_LETTERS: Statement = {
  name: 'alert-dead-letters',
  text: `
    with ${WATCHED}
    select ${measured({ value: 'd.letters', reason: 'd.reason', code: 'd.code' })}
      from w cross join lateral (
        select count(*) as letters, mode() within group (order by n.reason) as reason,
               mode() within group (order by n.webhook_status_code) as code
          from (select d.reason, d.webhook_status_code from dead_letter d
                 where (d.queue_id, d.id) >= (w.id, jobferry_first_id(w.since)) and (d.queue_id, d.id) < (w.id, 'g')
                 order by d.queue_id desc, d.id desc limit w.counted) n) d
     where d.letters >= w.threshold`,
};

// Only what is summed up: at most twelve rows of a queue, however many attempts there are. Element n of a histogram counts values
// from 2^(n/4) ms; its array begins with 1, so the elements above that of the threshold begin with n + 2.
const STATISTICS: Statement = {
  name: 'alert-statistics',
  text: `
    with ${WATCHED}, summed as (
      select w.*, s.* from w cross join lateral (
        select sum(s.success + s.failed + s.nacked + s.deferred) as attempts, sum(s.failed + s.nacked) as failures,
               sum(s.unauthorized) as rejected,
               sum(s.answered_2xx + s.answered_3xx + s.answered_4xx + s.answered_5xx + s.backpressure + s.unauthorized) as answers,
               sum(case when w.kind = 'slow_receiver' then (select sum(n) from unnest(s.durations) n) end) as deliveries,
               sum(case when w.kind = 'slow_receiver' then (
                 select sum(n) from unnest(s.durations[jobferry_histogram_element((w.threshold * 1000)::integer) + 2:]) n) end) as slow
          from queue_stats s
         where (s.queue_id, s.bucket) >= (w.id, jobferry_bucket(w.since)) and (s.queue_id, s.bucket) <= (w.id, 'infinity')
        offset 0) s
    ), shared as (
      select summed.*,
             case kind when 'failure_share' then attempts when 'slow_receiver' then deliveries else answers end as total,
             case kind when 'failure_share' then failures when 'slow_receiver' then slow else rejected end as bad
        from summed
    )
    select ${measured({ value: '100.0 * w.bad / w.total', total: 'w.total' })}
      from shared w
     where case kind when 'signature_rejected' then w.bad >= ${LEAST_REJECTED} else w.total >= ${LEAST_ATTEMPTS} end
       and 100.0 * w.bad >= w.total * case kind when 'slow_receiver' then ${SLOW_PERCENT} else w.threshold end
       and w.bad > 0`,
};

/** The statement for each kind of rule that watches queues, and whether it reads the statistics. */
export const ALERT_FACTS: readonly { kinds: readonly AlertKind[]; statement: Statement; ofStatistics: boolean }[] = [
  { kinds: ['oldest_due'], statement: OLDEST_DUE, ofStatistics: false },
  { kinds: ['hold'], statement: HOLD, ofStatistics: false },
  { kinds: ['dead_letters'], statement: DEAD_LETTERS, ofStatistics: false },
  { kinds: ['failure_share', 'signature_rejected', 'slow_receiver'], statement: STATISTICS, ofStatistics: true },
];

/** @returns the queues of which the conditions of the rules hold */
export async function measuredQueues(
  db: Database,
  statement: Statement,
  accountId: string,
  rules: readonly MeasuredRule[],
): Promise<Measured[]> {
  const asked = rules.map((rule) => ({ ...rule, counted: countedLetters(rule.threshold) }));
  return db.query<Measured & Record<string, unknown>>(statement, [accountId, JSON.stringify(asked)]);
}
