import { JobferryError } from '../domain/errors.ts';
import { firstIdAt, isId } from '../domain/id.ts';
import type { JobFilter } from '../domain/job-filter.ts';
import type { Database, Statement } from './database.ts';
import { hasConditions, isSelective } from './job-conditions.ts';
import {
  type CandidateSource,
  candidateStatement,
  type IdRange,
  MAX_CANDIDATES,
  type Projection,
  type SearchScope,
  walkStatement,
} from './job-search-sql.ts';
import { firstYoungId, type KeptTerms, outlastsRetention } from './kept.ts';
import type { Periods } from './publish.ts';

/** Which jobs a search is about: those of the account's live queues. */
export interface JobSelection {
  accountId: string;
  filter: JobFilter;
  /** How far back it reaches. One that reaches back for the whole retention finds the jobs that outlast it, too. */
  windowMs: number;
  periods: Periods;
}

export interface Search extends SearchScope {
  db: Database;
  range: IdRange;
}

const TERMS: KeptTerms = { now: 'clock.now', retention: `$4 * interval '1 ms'`, lifetime: `$5 * interval '1 ms'` };

const SCOPE: Statement = {
  name: 'job-search-scope',
  text: `
    with clock as materialized (select jobferry_now() as now), own as materialized (
      select id from queue
       where account_id = $1 and deleted_at is null
         and ($2::text[] is null or id = any ($2)) and ($3::text[] is null or name = any ($3))
    )
    select clock.now, (select position from follower where name = 'search') as indexed,
           array(select id from own order by id) as queue_ids,
           (select min(kept.id) from own cross join lateral (
              select j.id from job j
               where (j.queue_id, j.id) >= (own.id, '') and (j.queue_id, j.id) < (own.id, ${firstYoungId(TERMS)})
                 and ${outlastsRetention(TERMS)}
               order by j.queue_id, j.id limit 1) kept where $6) as oldest_kept
      from clock`,
};

export async function openSearch(
  db: Database,
  { accountId, filter, windowMs, periods }: JobSelection,
): Promise<Search> {
  const { queueIds, queueNames, created, scheduled, completed } = filter;
  const row = await db.one<ScopeRow>(SCOPE, [
    ...[accountId, queueIds?.filter(isId) ?? null, queueNames ?? null],
    ...[periods.retentionMs, periods.lifetimeMs, windowMs >= periods.retentionMs],
  ]);
  if (row === null) throw new Error('the scope of a search always answers');
  const now = row.now.getTime();
  const { oldest_kept: oldestKept } = row;
  const earliest = firstIdAt(now - windowMs);
  const from = maxOf(
    oldestKept === null ? earliest : minOf(oldestKept, earliest),
    firstIdAt(created?.from?.getTime() ?? 0),
  );
  // A job is neither scheduled nor completed before it is created.
  const to = Math.min(...[created?.to, scheduled?.to, completed?.to].map((at) => at?.getTime() ?? Number.MAX_VALUE));
  const range = { from, below: to < now ? firstIdAt(to + 1) : AFTER_ALL };
  const kept = from < earliest ? periods : undefined;
  return { db, filter, now, indexed: row.indexed ?? '', queueIds: row.queue_ids, range, kept };
}

interface ScopeRow {
  now: Date;
  indexed: string | null;
  queue_ids: string[];
  oldest_kept: string | null;
}

/** No id is greater. */
const AFTER_ALL = 'g';

/** Enough for a page of what is frequent. */
const FIRST_WALK = 2000;
const WALK = { min: 500, max: 100_000, targetMs: 400 };
/** Nobody waits longer for a page, and the database has others to serve. */
const MAX_SEARCH_MS = 12_000;

interface ScanOptions<Row> {
  /** In which order of ids to walk. */
  descending: boolean;
  /** Look at the first few before asking an index for all that can match: the answer may be among them. */
  walkFirst: boolean;
  projection: Projection;
  /** How many matches are enough. */
  enough: number;
  /** Takes what was found in a part of the range; answers how many matches that makes so far. */
  take(rows: Row[]): number;
}

/**
 * Goes through all jobs that match, in parts: what an index knows, when that is little, else all jobs in the
 * order of their ids. No statement takes long, however many jobs there are and however few match.
 * @throws JobferryError `invalid_request` when the filter leaves too much to look at
 */
export async function scan<Row extends object>(search: Search, options: ScanOptions<Row>): Promise<void> {
  const { db, filter, queueIds } = search;
  if (queueIds.length === 0) return;
  const { descending, walkFirst, projection, enough, take } = options;
  const endsAt = performance.now() + MAX_SEARCH_MS;
  let range: IdRange | null = search.range;
  // Without conditions all that is walked is found.
  let size = hasConditions(filter) ? FIRST_WALK : Math.min(enough, FIRST_WALK);
  let walkedSoFar = 0;

  const walk = async (rest: IdRange): Promise<IdRange | null> => {
    const startedAt = performance.now();
    const { text, values } = walkStatement(search, rest, { size, descending, projection });
    const rows = await db.query<WalkRow & Row>(text, values);
    const { walked, bound } = rows[0] ?? { walked: 0, bound: null };
    const found = take(rows.filter(hasResult));
    if (found >= enough || walked < size || bound === null) return null;
    walkedSoFar += walked;
    // As far as it takes to find the rest, when they are as frequent as so far; but not for too long at once.
    const likely = found === 0 ? Number.POSITIVE_INFINITY : ((enough - found) * walkedSoFar * 1.3) / found;
    const bearable = size * Math.min(WALK.targetMs / (performance.now() - startedAt), 10);
    size = Math.round(Math.min(Math.max(Math.min(bearable, likely), WALK.min), WALK.max));
    return descending ? { ...rest, below: bound } : { ...rest, from: after(bound) };
  };

  if (walkFirst && !isSelective(filter)) range = await walk(range);
  if (range === null) return;
  const sources: CandidateSource[] = [...(isSelective(filter) ? (['state'] as const) : []), 'payload'];
  for (const source of sources) {
    const statement = candidateStatement(search, range, source, { descending, projection });
    if (statement === null) continue;
    const rows = await db.query<CandidateRow & Row>(statement.text, statement.values);
    if ((rows[0]?.candidates ?? 0) > MAX_CANDIDATES) continue;
    take(rows.filter(hasResult));
    return;
  }
  while (range !== null) {
    if (performance.now() > endsAt) throw tooBroad();
    range = await walk(range);
  }
}

interface WalkRow {
  walked: number;
  bound: string | null;
  /** Of the projection; null in the only row when nothing matched. */
  matched: boolean | null;
}
interface CandidateRow {
  candidates: number;
  matched: boolean | null;
}

function hasResult({ matched }: { matched: boolean | null }): boolean {
  return matched !== null;
}

function tooBroad(): JobferryError {
  const message = 'the filter leaves too many jobs to look at: narrow it down by time, queue, state or payload';
  return new JobferryError('invalid_request', message);
}

/** The next text after an id. */
export function after(id: string): string {
  return `${id}0`;
}

export function maxOf(one: string, other: string): string {
  return one > other ? one : other;
}

export function minOf(one: string, other: string): string {
  return one < other ? one : other;
}
