import type { DeadLetterFilter } from '../../domain/job-filter.ts';
import type { Periods } from '../../domain/periods.ts';
import type { Database } from '../connection/database.ts';
import { hostsOf, receiverOf } from '../queues/receivers.ts';
import { isKeptLetter } from '../retention/kept.ts';
import { columnsOf, DEAD_LETTER_ROW, type DeadLetterRow } from '../rows.ts';
import { letterPayloads } from './letter-payloads.ts';

/** The account of the dead letters, and how old they and their jobs may be. */
export interface DeadLetterScope {
  accountId: string;
  /** Maximum age of a dead letter in milliseconds. */
  windowMs: number;
  /** A dead letter is found only as long as its job is kept, whether or not the sweep has removed it. */
  periods: Periods;
}

/** Ids between `after` and `before`, both exclusive. */
interface LettersBetween {
  after?: string | undefined;
  before?: string | undefined;
}

/** Greater than all ids. */
const LAST_ID = 'g';

/**
 * Builds the common part of all queries on dead letters: the account's live queues as `own`, and the conditions on the
 * dead letter `d` of one of them. Conditions differ from call to call, so the statements are not prepared under a name.
 * Queue and id are compared together, and the age of the job in a way that no index serves. Otherwise the planner may
 * use an index over all queues, and for a queue without dead letters read those of all accounts.
 */
export function compose(scope: DeadLetterScope, filter: DeadLetterFilter) {
  const { retentionMs, lifetimeMs } = scope.periods;
  const values: unknown[] = [scope.accountId, scope.windowMs, retentionMs, lifetimeMs];
  const { queueIds, receivers, payload, dismissed, ...others } = filter;
  let own = `with moment as materialized (
      select jobferry_first_id(now - $2 * interval '1 ms') as first_id, now
        from (select jobferry_now() as now) clock
    ), own as materialized (
      select q.id from queue q where q.account_id = $1 and q.deleted_at is null`;
  if (queueIds !== undefined) {
    values.push(queueIds);
    own += ` and q.id = any ($${values.length}::text[])`;
  }
  if (receivers !== undefined) {
    values.push(hostsOf(receivers));
    own += ` and ${receiverOf('q.webhook_url')} = any ($${values.length}::text[])`;
  }
  const conditions = [
    '(d.queue_id, d.id) >= (own.id, (select first_id from moment))',
    `(d.queue_id, d.id) < (own.id, '${LAST_ID}')`,
    isKeptLetter({
      now: '(select now from moment)',
      retention: `$3 * interval '1 ms'`,
      lifetime: `$4 * interval '1 ms'`,
    }),
    ...deadLetterConditions(others, values),
    ...(dismissed === undefined ? [] : [`${dismissed ? '' : 'not '}${IS_DISMISSED}`]),
  ];
  const add = (value: unknown) => {
    values.push(value);
    return `$${values.length}`;
  };
  own += ')';
  if (payload !== undefined) {
    const { candidates, condition } = letterPayloads(payload, values);
    own += candidates;
    conditions.push(condition);
  }
  return { own, conditions, values, add };
}

/** SQL: whether the account has dismissed the cause of the dead letter `d` for the time at which its job died. */
const IS_DISMISSED = `exists (
  select from dismissal x where x.account_id = $1 and x.fingerprint = d.fingerprint and x.until >= d.dead_at)`;

/** @returns up to `limit` dead letters, most recently dead first, or last if `ascending` */
export async function deadLetterRows(
  db: Database,
  scope: DeadLetterScope,
  filter: DeadLetterFilter,
  range: LettersBetween & { ascending: boolean; limit: number },
): Promise<DeadLetterRow[]> {
  const { own, conditions, values, add } = compose(scope, filter);
  if (range.after !== undefined) conditions.push(`(d.queue_id, d.id) > (own.id, ${add(range.after)})`);
  if (range.before !== undefined) conditions.push(`(d.queue_id, d.id) < (own.id, ${add(range.before)})`);
  const direction = range.ascending ? 'asc' : 'desc';
  const limit = `limit ${add(range.limit)}`;
  // Reads a page of each queue by its index, selects one page from these, and reads its rows.
  const text = `${own}, page as materialized (
      select page.id from own
       cross join lateral (
         select d.id from dead_letter d where ${conditions.join(' and ')}
          order by d.queue_id ${direction}, d.id ${direction} ${limit}) page
       order by page.id ${direction} ${limit})
    select ${columnsOf(DEAD_LETTER_ROW, 'd')} from dead_letter d
     where d.id = any (array(select id from page)) order by d.id ${direction}`;
  return db.query<DeadLetterRow & Record<string, unknown>>(text, values);
}

/** @returns the number of dead letters; counts up to `max` + 1 */
export async function countDeadLetters(
  db: Database,
  scope: DeadLetterScope,
  filter: DeadLetterFilter,
  max: number,
): Promise<number> {
  const { own, conditions, values, add } = compose(scope, filter);
  const text = `${own}
    select count(*) as n from (
      select from own cross join lateral (select from dead_letter d where ${conditions.join(' and ')} offset 0) found
       limit ${add(max)}::bigint + 1) counted`;
  return (await db.one<{ n: number }>(text, values))?.n ?? 0;
}

/** Dead letters that a step reads at most, so that it ends in time even if few of them match. */
const WALK = 20_000;
/** Dead letters of one queue that a step reads at least, however many queues there are. */
const LEAST_WALK = 500;

/**
 * Returns the next dead letters that were not replayed, oldest first, among the next 20 000 of the queues together.
 * `walkedTo` is the id up to which all of them were read; null when there are none.
 * @param range.bytes limit of the payloads together
 */
export async function nextOpenLetters(
  db: Database,
  scope: DeadLetterScope,
  filter: DeadLetterFilter,
  range: { after: string; before: string; limit: number; bytes: number },
): Promise<{ ids: string[]; walkedTo: string | null }> {
  const { own, conditions, values, add } = compose(scope, filter);
  const perQueue = `(select greatest(${LEAST_WALK}, ${WALK} / greatest(count(*), 1)) from own)`;
  // A queue of which not all dead letters were read bounds what is known about the others.
  const text = `${own}, walk as materialized (
      select own.id as queue_id, w.id from own cross join lateral (
        select l.id from dead_letter l
         where l.replayed_at is null and (l.queue_id, l.id) > (own.id, ${add(range.after)})
           and (l.queue_id, l.id) < (own.id, ${add(range.before)})
         order by l.queue_id, l.id limit ${perQueue}) w
    ), bound as materialized (
      select coalesce(min(q.last) filter (where q.n >= ${perQueue}), max(q.last)) as id
        from (select max(id) as last, count(*) as n from walk group by queue_id) q
    ), found as (
      select d.id, d.job_id from walk join dead_letter d on d.id = walk.id join own on own.id = d.queue_id
       where walk.id <= (select id from bound) and ${conditions.join(' and ')} order by d.id limit ${add(range.limit)}
    ), sized as (
      select f.id, sum(octet_length(j.payload)) over (order by f.id) - octet_length(j.payload) as bytes_before
        from found f join job j on j.id = f.job_id
    )
    select coalesce((select array_agg(id order by id) from sized where bytes_before < ${add(range.bytes)}), '{}') as ids,
           (select id from bound) as "walkedTo"`;
  const row = await db.one<{ ids: string[]; walkedTo: string | null }>(text, values);
  return row ?? { ids: [], walkedTo: null };
}

/**
 * Returns the conditions of a filter on the dead letter `d` of the surrounding query. Adds their values to `values`,
 * whose length is the number of the last placeholder. `payload` is not among them: it needs candidates
 * (`letter-payloads`).
 */
function deadLetterConditions(filter: DeadLetterFilter, values: unknown[]): string[] {
  const conditions: string[] = [];
  const add = (value: unknown, condition: (placeholder: string) => string) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  add(filter.ids, (p) => `d.id = any (${p}::text[])`);
  add(filter.queueIds, (p) => `d.queue_id = any (${p}::text[])`);
  // Ids grow with time, so a time range is a range of ids, which the index serves.
  add(filter.dead?.from, (p) => `d.id >= jobferry_first_id(${p}::timestamptz)`);
  add(filter.dead?.to, (p) => `d.id < jobferry_first_id(${p}::timestamptz + interval '1 ms')`);
  add(filter.reasons, (p) => `d.reason = any (${p}::text[])`);
  add(filter.fingerprints, (p) => `d.fingerprint = any (${p}::text[])`);
  if (filter.replayed !== undefined) conditions.push(`d.replayed_at is ${filter.replayed ? 'not null' : 'null'}`);
  add(filter.errorContains, (p) => `position(lower(${p}::text) in lower(d.error)) > 0`);
  add(filter.webhookStatusCodes, (p) => `d.webhook_status_code = any (${p}::integer[])`);
  add(filter.answers, (p) => `coalesce(d.answer, '') = any (${p}::text[])`);
  return conditions;
}
