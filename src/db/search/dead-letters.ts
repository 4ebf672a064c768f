import type { DeadReason } from '../../domain/job.ts';
import type { DeadLetterFilter } from '../../domain/job-filter.ts';
import type { Periods } from '../../domain/periods.ts';
import type { Database } from '../connection/database.ts';
import { isKeptLetter } from '../retention/kept.ts';
import { deadLetterConditions } from './dead-letter-filter.ts';

/** Whose dead letters, and how old they and their jobs may be. */
export interface DeadLetterScope {
  accountId: string;
  /** How far back lists reach: no longer dead than this. */
  windowMs: number;
  /** A dead letter goes with its job, swept or not. */
  periods: Periods;
}

/** The dead letters with ids between these two, neither included. */
interface LettersBetween {
  after?: string | undefined;
  before?: string | undefined;
}

/** After all ids. */
const LAST_ID = 'g';

/**
 * What all queries on dead letters have in common: the live queues of the account as `own`, and the
 * conditions on the dead letter `d` of one of them. Conditions differ from call to call, so the
 * statements are not prepared under a name. Queue and id are compared together, and the age of the job
 * where no index sees it: otherwise the planner may take an index that spans all queues, and for a queue
 * that has none reads the dead letters of everybody.
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

/** Ids, most recently dead first or (`ascending`) last; at most `limit`. */
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
  // A page of each queue, by its index, and of these a page.
  const text = `${own}
    select page.id from own
     cross join lateral (
       select d.id from dead_letter d where ${conditions.join(' and ')}
        order by d.queue_id ${direction}, d.id ${direction} ${limit}) page
     order by page.id ${direction} ${limit}`;
  return (await db.query<{ id: string }>(text, values)).map(({ id }) => id);
}

/** How many there are, counted to `max` and one more. */
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

/** The largest groups of each queue, and among equals the one that grew last. */
export async function errorGroups(
  db: Database,
  scope: DeadLetterScope,
  filter: DeadLetterFilter,
  limit: number,
): Promise<ErrorGroupRow[]> {
  // A group is as old as its oldest member, also when only those of yesterday are asked for.
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
