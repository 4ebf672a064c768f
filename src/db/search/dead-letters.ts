import type { DeadReason } from '../../domain/job.ts';
import type { DeadLetterFilter } from '../../domain/job-filter.ts';
import type { Periods } from '../../domain/periods.ts';
import type { Database } from '../connection/database.ts';
import { isKeptLetter } from '../retention/kept.ts';
import { deadLetterConditions } from './dead-letter-filter.ts';

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
 * Queue and id are compared together, and the age of the job in a way that no index serves. Otherwise the planner may use
 * an index over all queues, and for a queue without dead letters read those of all accounts.
 */
function compose(scope: DeadLetterScope, filter: DeadLetterFilter) {
  const { retentionMs, lifetimeMs } = scope.periods;
  const values: unknown[] = [scope.accountId, scope.windowMs, retentionMs, lifetimeMs];
  const { queueIds, ...others } = filter;
  let own = `with moment as materialized (
      select jobferry_first_id(now - $2 * interval '1 ms') as first_id, now
        from (select jobferry_now() as now) clock
    ), own as materialized (
      select q.id from queue q where q.account_id = $1 and q.deleted_at is null`;
  if (queueIds !== undefined) {
    values.push(queueIds);
    own += ` and q.id = any ($${values.length}::text[])`;
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
  ];
  const add = (value: unknown) => {
    values.push(value);
    return `$${values.length}`;
  };
  return { own: `${own})`, conditions, values, add };
}

/** @returns up to `limit` ids, most recently dead first, or last if `ascending` */
export async function deadLetterIds(
  db: Database,
  scope: DeadLetterScope,
  filter: DeadLetterFilter,
  range: LettersBetween & { ascending: boolean; limit: number },
): Promise<string[]> {
  const { own, conditions, values, add } = compose(scope, filter);
  if (range.after !== undefined) conditions.push(`(d.queue_id, d.id) > (own.id, ${add(range.after)})`);
  if (range.before !== undefined) conditions.push(`(d.queue_id, d.id) < (own.id, ${add(range.before)})`);
  const direction = range.ascending ? 'asc' : 'desc';
  const limit = `limit ${add(range.limit)}`;
  // Reads a page of each queue by its index, and selects one page from these.
  const text = `${own}
    select page.id from own
     cross join lateral (
       select d.id from dead_letter d where ${conditions.join(' and ')}
        order by d.queue_id ${direction}, d.id ${direction} ${limit}) page
     order by page.id ${direction} ${limit}`;
  return (await db.query<{ id: string }>(text, values)).map(({ id }) => id);
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

export interface ErrorGroupRow {
  queue_id: string;
  fingerprint: string;
  reason: DeadReason;
  webhook_status_code: number | null;
  error: string | null;
  count: number;
  first_seen: Date;
  last_seen: Date;
  sample: string;
}

/** @returns the largest groups of each queue; among equals, the group with the newest member first */
export async function errorGroups(
  db: Database,
  scope: DeadLetterScope,
  filter: DeadLetterFilter,
  limit: number,
): Promise<ErrorGroupRow[]> {
  // `first_seen` is the time of the oldest member, even if the filter selects only newer members.
  const { dead, ...others } = filter;
  const { own, conditions, values, add } = compose(scope, others);
  const inTime = deadLetterConditions({ dead }, values).join(' and ');
  const within = inTime === '' ? '' : `filter (where ${inTime})`;
  const text = `${own}
    select own.id as queue_id, g.fingerprint, newest.reason, newest.webhook_status_code, newest.error, g.count,
           g.first_seen, g.last_seen, substr(g.sample, 2) as sample
      from own
      cross join lateral (
        select d.fingerprint, count(*) ${within} as count, min(d.dead_at) as first_seen,
               max(d.dead_at) ${within} as last_seen, max(d.id) ${within} as newest,
               max(case when d.replayed_at is null then '1' else '0' end || d.id) ${within} as sample
          from dead_letter d where ${conditions.join(' and ')}
         group by d.fingerprint having count(*) ${within} > 0
         order by count(*) ${within} desc, max(d.id) ${within} desc limit ${add(limit)}) g
      join dead_letter newest on newest.id = g.newest
     order by own.id, g.count desc, g.newest desc`;
  return db.query<ErrorGroupRow>(text, values);
}
