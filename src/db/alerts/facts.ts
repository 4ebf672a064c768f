import { countedLetters, type QueueMeasure } from '../../domain/alert-cause.ts';
import { ALERT_LIMITS, type AlertKind } from '../../domain/alert-rule.ts';
import type { Database, Statement } from '../connection/database.ts';
import { FAILED_PROBES } from '../insight/failed-probes.ts';

/** Which queues the rules of an account are about. Each statement reads by index, and counts up to a bound. */

/** Fewer attempts mean nothing, nor do fewer answers of 401. */
const LEAST_ATTEMPTS = 10;
const LEAST_REJECTED = 3;
/** A receiver is slow if more than this part of the deliveries take longer than the threshold: the 95th percentile. */
const SLOW_PERCENT = 5;

interface MeasuredRule {
  id: string;
  kind: AlertKind;
  queueId: string | null;
  threshold: number;
  windowSeconds: number;
}

/** A queue of which the condition of a rule holds. */
interface Measured extends QueueMeasure {
  ruleId: string;
  queueId: string;
}

/** SQL: `w`, the rules $2 with each of the live queues $3 that they watch, of the account $1. */
const WATCHED = `
  clock as materialized (select jobferry_now() as now),
  rule as materialized (
    select * from json_to_recordset($2::json) as r(id text, kind text, "queueId" text, threshold float8, "windowSeconds" float8,
                                                   counted integer)
  ), w as materialized (
    select rule.id as rule_id, rule.kind, rule.threshold, rule.counted,
           clock.now, clock.now - rule."windowSeconds" * interval '1 s' as since,
           q.id, q.name, q.concurrency, q.paused_at, q.hold_until, q.hold_since,
           q.breaker_opened_at, q.breaker_failed, q.probe_job_id
      from clock cross join rule join queue q on rule."queueId" is null or q.id = rule."queueId"
     where q.id = any ($3::text[]) and q.account_id = $1 and q.deleted_at is null
  )`;

const WATCHED_QUEUES: Statement = {
  name: 'alert-queues',
  text: `
    (select id from queue where account_id = $1 and deleted_at is null and $2 order by id limit ${ALERT_LIMITS.queuesOfRule})
    union
    (select id from queue where id = any ($3::text[]) and account_id = $1 and deleted_at is null)`,
};

const measured = (
  columns: Partial<
    Record<'value' | 'total' | 'inFlight' | 'awaitingAck' | 'concurrency' | 'reason' | 'code' | 'probes', string>
  >,
) => `
  w.rule_id as "ruleId", w.id as "queueId", w.name as "queueName", (${columns.value})::float8 as value,
  (${columns.total ?? 'null'})::float8 as total, (${columns.inFlight ?? 'null'})::integer as "inFlight",
  (${columns.awaitingAck ?? 'null'})::integer as "awaitingAck",
  (${columns.concurrency ?? 'null'})::integer as concurrency, (${columns.reason ?? 'null'})::text as reason,
  (${columns.code ?? 'null'})::integer as "statusCode", (${columns.probes ?? 'null'})::text as probes`;

// Jobs of paused and held queues wait by intention, as in the metrics. No queue has more than 500 slots.
const OLDEST_DUE: Statement = {
  name: 'alert-oldest-due',
  text: `
    with ${WATCHED}
    select ${measured({
      value: 'extract(epoch from w.now - j.scheduled_for)',
      inFlight: 'slots.in_flight',
      awaitingAck: 'slots.awaiting',
      concurrency: 'w.concurrency',
    })}
      from w cross join lateral (
        select j.scheduled_for from job j where j.queue_id = w.id and j.status = 'pending'
         order by j.queue_id, j.scheduled_for, j.id limit 1) j
      cross join lateral (
        select count(*) as in_flight, count(*) filter (where counted.status = 'awaiting_ack') as awaiting from (
          select f.status from job f where f.queue_id = w.id and f.status in ('processing', 'awaiting_ack')
           order by f.queue_id, f.claim_token limit 500) counted) slots
     where w.paused_at is null and w.hold_until is null and j.scheduled_for <= w.now - w.threshold * interval '1 s'`,
};

// The kind `breaker` is about open breakers, with a cause of their own.
const HOLD: Statement = {
  name: 'alert-hold',
  text: `
    with ${WATCHED}
    select ${measured({ value: 'extract(epoch from w.now - w.hold_since)' })}
      from w where w.hold_until is not null and w.breaker_opened_at is null
         and w.hold_since <= w.now - w.threshold * interval '1 s'`,
};

// Whether any job waits takes one row of an index. Such a job probes the receiver when it is due.
const PROBES = `case
  when w.paused_at is not null then 'paused'
  when w.probe_job_id is null and not exists (
    select from job j where j.queue_id = w.id and j.status = 'pending' order by j.queue_id, j.scheduled_for, j.id limit 1) then 'no_job'
  else 'probed' end`;

const BREAKER: Statement = {
  name: 'alert-breaker',
  text: `
    with ${WATCHED}
    select ${measured({ value: 'extract(epoch from w.now - w.breaker_opened_at)', total: 'w.breaker_failed', probes: PROBES })}
      from w where w.hold_until is not null and w.breaker_opened_at <= w.now - w.threshold * interval '1 s'`,
};

// The id of a dead letter has its time. Queue and id are compared together, as everywhere (docs/queries.md). The newest
// letters of a queue are read once, whatever the number of rules: each rule then finds by a binary search how many are
// in its window. The reason is that of the newest hundred.
const DEAD_LETTERS: Statement = {
  name: 'alert-dead-letters',
  text: `
    with ${WATCHED}, span as (
      select id, min(since) as since, max(counted) as counted from w group by id
    ), letters as materialized (
      select span.id, n.* from span cross join lateral (
        select array_agg(l.id order by l.id) as ids,
               mode() within group (order by l.reason) filter (where l.nth <= 100) as reason,
               mode() within group (order by l.webhook_status_code) filter (where l.nth <= 100) as code
          from (select d.*, row_number() over () as nth
                  from (select d.id, d.reason, d.webhook_status_code from dead_letter d
                         where (d.queue_id, d.id) >= (span.id, jobferry_first_id(span.since))
                           and (d.queue_id, d.id) < (span.id, 'g')
                         order by d.queue_id desc, d.id desc limit span.counted) d) l) n
       where n.ids is not null
    )
    select ${measured({ value: 'd.letters', reason: 'letters.reason', code: 'letters.code' })}
      from w join letters on letters.id = w.id cross join lateral (
        select least(w.counted, cardinality(letters.ids)
                                - width_bucket(jobferry_first_id(w.since) collate "C", letters.ids)) as letters) d
     where d.letters >= w.threshold`,
};

// Only what is summed up: at most twelve rows of a queue, however many attempts there are. Element n of a histogram
// counts values from 2^(n/4) ms; its array begins with 1, so the elements above that of the threshold begin with n + 2.
const STATISTICS: Statement = {
  name: 'alert-statistics',
  text: `
    with ${WATCHED}, summed as (
      select w.*, s.* from w cross join lateral (
        select sum(s.success + s.failed + s.nacked + s.deferred) as attempts, sum(s.failed + s.nacked) + ${FAILED_PROBES} as failures,
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

interface AlertFacts {
  kinds: readonly AlertKind[];
  statement: Statement;
  /** Whether it reads the statistics. */
  ofStatistics: boolean;
  /** Whether it reads up to `counted` rows of each queue. */
  counts: boolean;
}

/** The statement for each kind of rule that watches queues. */
export const ALERT_FACTS: readonly AlertFacts[] = [
  { kinds: ['oldest_due'], statement: OLDEST_DUE, ofStatistics: false, counts: false },
  { kinds: ['breaker'], statement: BREAKER, ofStatistics: false, counts: false },
  { kinds: ['hold'], statement: HOLD, ofStatistics: false, counts: false },
  { kinds: ['dead_letters'], statement: DEAD_LETTERS, ofStatistics: false, counts: true },
  {
    kinds: ['failure_share', 'signature_rejected', 'slow_receiver'],
    statement: STATISTICS,
    ofStatistics: true,
    counts: false,
  },
];

/**
 * Rows that a statement may have to count. Queues beyond them are asked about in another one: a thousand full queues in
 * one statement took longer than it may, and the rule then never fired.
 */
const COUNTED_AT_ONCE = 50_000;

/** @returns the queues of which the conditions of the rules hold */
export async function measuredQueues(
  db: Database,
  { statement, counts }: Pick<AlertFacts, 'statement' | 'counts'>,
  accountId: string,
  rules: readonly MeasuredRule[],
): Promise<Measured[]> {
  const measured = rules.map((rule) => ({ ...rule, counted: countedLetters(rule.threshold) }));
  const queues = await watchedQueues(db, accountId, rules);
  const most = Math.max(...measured.map(({ counted }) => counted));
  const atOnce = counts ? Math.max(1, Math.floor(COUNTED_AT_ONCE / most)) : queues.length;
  const found: Measured[] = [];
  for (let from = 0; from < queues.length; from += atOnce) {
    const values = [accountId, JSON.stringify(measured), queues.slice(from, from + atOnce)];
    found.push(...(await db.query<Measured & Record<string, unknown>>(statement, values)));
  }
  return found;
}

/** @returns the ids of the live queues that the rules watch */
async function watchedQueues(db: Database, accountId: string, rules: readonly MeasuredRule[]): Promise<string[]> {
  const named = rules.flatMap(({ queueId }) => (queueId === null ? [] : [queueId]));
  const rows = await db.query<{ id: string }>(WATCHED_QUEUES, [accountId, named.length < rules.length, named]);
  return rows.map(({ id }) => id);
}
