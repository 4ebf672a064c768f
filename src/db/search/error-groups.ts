import type { DeadReason } from '../../domain/job.ts';
import type { DeadLetterFilter } from '../../domain/job-filter.ts';
import type { Database } from '../connection/database.ts';
import type { Attempt } from '../generated/client.ts';
import { isKeptLetter } from '../retention/kept.ts';
import { ATTEMPT_ROW, columnsOf, DEAD_LETTER_ROW, type DeadLetterRow, toRow } from '../rows.ts';
import { compose, type DeadLetterScope } from './dead-letters.ts';

export interface ErrorGroupRow {
  /** The first queues of the group and its number in each, largest first. */
  queues: { id: string; count: number }[];
  queue_count: number;
  fingerprint: string;
  /** Null if groups are not divided by answer, or their dead letters have none. */
  answer: string | null;
  reason: DeadReason;
  webhook_status_code: number | null;
  error: string | null;
  count: number;
  first_seen: Date;
  last_seen: Date;
  /** The newest member that was not replayed, or else the newest. */
  sample: DeadLetterRow;
  /** The last attempt of that job, if it was asked for and there is one; its answer may be encrypted. */
  lastAttempt: Attempt | null;
}

/** Maximum number of queues that are named for one group. */
export const MAX_QUEUES_OF_GROUP = 100;

export interface GroupOptions {
  /** Maximum number of groups, per queue or in total. */
  limit: number;
  /** Whether groups are divided by the webhook's answer. */
  byAnswer: boolean;
  /** Only groups of which no dead letter is older. */
  newSince?: Date | undefined;
  /** Whether the last attempts of the samples are read. */
  withAttempts?: boolean | undefined;
}

/** @returns the largest groups of each queue; among equals, the group with the newest member first */
export function errorGroups(
  db: Database,
  scope: DeadLetterScope,
  filter: DeadLetterFilter,
  options: GroupOptions,
): Promise<ErrorGroupRow[]> {
  const { own, ofQueue, values, isNew, limit } = grouping(scope, filter, options);
  // Without `newSince` the first dead letters of the groups that are returned are enough.
  const text = `${own}
    select json_build_array(json_build_object('id', own.id, 'count', g.count)) as queues, 1 as queue_count, ${MEMBERS}
      from own
      cross join lateral (
        with groups as materialized (${ofQueue}${options.newSince === undefined ? ` ${LARGEST_FIRST} ${limit}` : ''})
        select * from (${withFirstSeen('groups', options)}) g where ${isNew} ${LARGEST_FIRST} ${limit}) g
      ${samplesOf(options)}
     order by own.id, g.count desc, g.newest desc`;
  return read(db, text, values);
}

/**
 * @returns the largest groups over all queues; dead letters of several queues with the same fingerprint are one group
 */
export function errorGroupsAcrossQueues(
  db: Database,
  scope: DeadLetterScope,
  filter: DeadLetterFilter,
  options: GroupOptions,
): Promise<ErrorGroupRow[]> {
  const { own, ofQueue, values, isNew, limit } = grouping(scope, filter, options);
  const text = `${own}, groups as materialized (
      select g.* from own cross join lateral (${ofQueue} offset 0) g
    ), parts as materialized (
      select p.*, row_number() over (partition by fingerprint, answer order by count desc, queue_id) as place
        from (${withFirstSeen('groups', options)}) p
    ), merged as (
      select json_agg(json_build_object('id', p.queue_id, 'count', p.count) order by p.place)
               filter (where p.place <= ${MAX_QUEUES_OF_GROUP}) as queues, count(*)::integer as queue_count,
             p.fingerprint, p.answer, sum(p.count)::integer as count, min(p.first_seen) as first_seen,
             max(p.last_seen) as last_seen, max(p.newest) as newest, max(p.sample) as sample
        from parts p group by p.fingerprint, p.answer
    ), g as (select * from merged g where ${isNew} order by count desc, newest desc ${limit})
    select g.queues, g.queue_count, ${MEMBERS} from g ${samplesOf(options)}
     order by g.count desc, g.newest desc`;
  return read(db, text, values);
}

async function read(db: Database, text: string, values: unknown[]): Promise<ErrorGroupRow[]> {
  type Stored = Omit<ErrorGroupRow, 'sample' | 'lastAttempt'> & { sample: object; lastAttempt: object | null };
  const rows = await db.query<Stored>(text, values);
  return rows.map((row) => ({
    ...row,
    sample: toRow(DEAD_LETTER_ROW, row.sample),
    lastAttempt: row.lastAttempt === null ? null : toRow(ATTEMPT_ROW, row.lastAttempt),
  }));
}

const MEMBERS = `
  g.fingerprint, g.answer, newest.reason, newest.webhook_status_code, newest.error, g.count, g.first_seen, g.last_seen,
  to_json(sampled) as sample,
  case when attempted."jobId" is not null then to_json(attempted) end as "lastAttempt"`;

/** SQL: joins the newest member of the group `g`, and its sample. */
const samplesOf = ({ withAttempts = false }: GroupOptions) => `
  join dead_letter newest on newest.id = g.newest
  cross join lateral (
    select ${columnsOf(DEAD_LETTER_ROW, 'd')} from dead_letter d where d.id = substr(g.sample, 2) offset 0) sampled
  left join lateral (
    select ${columnsOf(ATTEMPT_ROW, 'a')} from job j join attempt a on a.job_id = j.id and a.ordinal = j.history_count
     where ${withAttempts} and j.id = sampled."jobId" offset 0) attempted on true`;

const LARGEST_FIRST = 'order by count desc, newest desc';

/**
 * The parts of a statement that groups dead letters: `ofQueue` returns the groups of the queue `own`. Only the dead
 * letters in the time range of the filter are counted.
 */
function grouping(scope: DeadLetterScope, filter: DeadLetterFilter, { limit, byAnswer, newSince }: GroupOptions) {
  const { own, conditions, values, add } = compose(scope, filter);
  const ofQueue = `
    select own.id as queue_id, d.fingerprint, ${byAnswer ? 'd.answer' : 'null::text'} as answer, count(*) as count,
           max(d.dead_at) as last_seen, max(d.id) as newest,
           max(case when d.replayed_at is null then '1' else '0' end || d.id) as sample
      from dead_letter d where ${conditions.join(' and ')}
     group by d.fingerprint${byAnswer ? ', d.answer' : ''}`;
  const isNew = newSince === undefined ? 'true' : `g.first_seen >= ${add(newSince)}::timestamptz`;
  return { own, ofQueue, values, isNew, limit: `limit ${add(limit)}` };
}

/**
 * @param groups name of a relation with the groups of queues
 * @returns SQL: the groups, and when the oldest dead letter of each died, whatever the filter selects
 */
function withFirstSeen(groups: string, { byAnswer }: GroupOptions): string {
  const of = (group: string) => `
    (d.queue_id, d.fingerprint, d.id) >= (${group}.queue_id, ${group}.fingerprint, (select first_id from moment))
    and (d.queue_id, d.fingerprint) <= (${group}.queue_id, ${group}.fingerprint) and ${isKeptLetter({
      now: '(select now from moment)',
      retention: `$3 * interval '1 ms'`,
      lifetime: `$4 * interval '1 ms'`,
    })}`;
  if (!byAnswer) {
    return `
      select g.*, (select d.dead_at from dead_letter d where ${of('g')}
                    order by d.queue_id, d.fingerprint, d.id limit 1) as first_seen
        from ${groups} g`;
  }
  // No index knows answers. The dead letters of each fingerprint are read once for all its answers, and not for each.
  return `
    select queue_id, fingerprint, answer, max(count) as count, max(last_seen) as last_seen, max(newest) as newest,
           max(sample) as sample, min(first_seen) as first_seen
      from (select queue_id, fingerprint, answer, count, last_seen, newest, sample, null::timestamptz as first_seen
              from ${groups}
             union all
            select f.queue_id, f.fingerprint, s.answer, null, null, null, null, s.first_seen
              from (select distinct queue_id, fingerprint from ${groups}) f
             cross join lateral (
               select d.answer, min(d.dead_at) as first_seen from dead_letter d where ${of('f')} group by d.answer) s) parts
     group by queue_id, fingerprint, answer having max(count) is not null`;
}
