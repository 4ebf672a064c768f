import { firstIdAt, isId } from '../../domain/id.ts';
import type { JobFilter } from '../../domain/job-filter.ts';
import type { Periods } from '../../domain/periods.ts';
import type { Database, Statement } from '../connection/database.ts';
import { hostsOf, receiverOf } from '../queues/receivers.ts';
import { firstYoungId, type KeptTerms, outlastsRetention } from '../retention/kept.ts';
import { SearchBudget } from './budget.ts';
import { hasConditions, withImpliedStatuses } from './job-conditions.ts';
import {
  candidateSources,
  candidateStatement,
  type IdRange,
  MAX_CANDIDATES,
  type Projection,
  type SearchScope,
  walkStatement,
} from './statements.ts';
import { waitsOfQueues } from './wait-reasons.ts';

/** Selects jobs of the account's live queues. */
export interface JobSelection {
  accountId: string;
  filter: JobFilter;
  /**
   * Maximum age in milliseconds. If it is the whole retention or more, jobs that outlast their retention are found,
   * too.
   */
  windowMs: number;
  periods: Periods;
  /** Shared by the searches of a request. If undefined, the search has its own. */
  budget?: SearchBudget | undefined;
  /** Facts that the searches of a request share. If undefined, the search reads it for itself. */
  scopes?: SearchScopes | undefined;
}

/**
 * The time, the live queues and the state of the index, by what selects the queues. They are read once for a request.
 */
export type SearchScopes = Map<string, Promise<ScopeRow>>;

export interface Search extends SearchScope {
  range: IdRange;
  /** Least id of jobs that are within the window. Older ones are found only if they are kept. */
  earliest: string;
  budget: SearchBudget;
  /** Runs a statement within the budget. */
  query<Row extends object>(statement: Statement | string, values: unknown[]): Promise<Row[]>;
}

const TERMS: KeptTerms = { now: 'clock.now', retention: `$4 * interval '1 ms'`, lifetime: `$5 * interval '1 ms'` };

const SCOPE: Statement = {
  name: 'job-search-scope',
  text: `
    with clock as materialized (select jobferry_now() as now), own as materialized (
      select id from queue
       where account_id = $1 and deleted_at is null
         and ($2::text[] is null or id = any ($2)) and ($3::text[] is null or name = any ($3))
         and ($7::text[] is null or ${receiverOf('webhook_url')} = any ($7))
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

/** Prepares a search. Its statements run in the account's turn. */
export async function openSearch(db: Database, selection: JobSelection): Promise<Search> {
  const { accountId, windowMs, periods, budget = new SearchBudget(), scopes = new Map() } = selection;
  const filter = withImpliedStatuses(selection.filter);
  const reading = db.reading(accountId, { budget });
  const query: Search['query'] = (statement, values) => reading.query(statement, values);
  const { queueIds, queueNames, receivers, created, scheduled, completed } = filter;
  const key = JSON.stringify([queueIds, queueNames, receivers]);
  const scope =
    scopes.get(key) ??
    readScope(query, [
      ...[accountId, queueIds?.filter(isId) ?? null, queueNames ?? null],
      ...[periods.retentionMs, periods.lifetimeMs, windowMs >= periods.retentionMs, hostsOf(receivers)],
    ]);
  scopes.set(key, scope);
  const row = await scope;
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
  const waits = filter.waitReasons === undefined ? undefined : await waitsOfQueues(query, row.queue_ids);
  const { queue_ids: ids, indexed } = row;
  return { budget, query, filter, now, indexed: indexed ?? '', queueIds: ids, range, earliest, kept, waits };
}

async function readScope(query: Search['query'], values: unknown[]): Promise<ScopeRow> {
  const [row] = await query<ScopeRow>(SCOPE, values);
  if (row === undefined) throw new Error('the scope of a search returned no row');
  return row;
}

interface ScopeRow {
  now: Date;
  indexed: string | null;
  queue_ids: string[];
  oldest_kept: string | null;
}

/** Greater than all ids. */
export const AFTER_ALL = 'g';

/** Size of the first walk: enough for a page if matches are frequent. */
const FIRST_WALK = 2000;
// `max` limits a walk at any pace: rows that are not in the cache take a hundred times as long.
const WALK = { min: 500, max: 20_000, targetMs: 400 };

interface ScanOptions<Row> {
  /** Order of ids of the walk. */
  descending: boolean;
  /** Walks the first jobs before it uses the payload index: the matches may be among them. */
  walkFirst: boolean;
  projection: Projection;
  /** Number of matches that are enough. */
  enough: number;
  /** Called with the matches in a part of the range. @returns the number of matches so far */
  take(rows: Row[]): number;
}

/**
 * Finds all matching jobs in parts. If an index returns few candidates, it reads these. Otherwise it walks all jobs in
 * the order of ids. No statement takes long, however many jobs there are and however few match.
 * @throws JobferryError `invalid_request` when more jobs have to be read than the budget allows
 */
export async function scan<Row extends object>(search: Search, options: ScanOptions<Row>): Promise<void> {
  const { budget, query, filter, queueIds } = search;
  if (queueIds.length === 0) return;
  const { descending, walkFirst, projection, enough, take } = options;
  let range: IdRange | null = search.range;
  // Without conditions every job matches, so the number of jobs to read is known.
  const isKnown = !hasConditions(filter) && Number.isFinite(enough);
  let size = isKnown ? Math.min(enough, WALK.max) : FIRST_WALK;
  let walkedSoFar = 0;

  const walk = async (rest: IdRange): Promise<IdRange | null> => {
    const { left } = budget;
    const { text, values } = walkStatement(search, rest, { size, descending, projection });
    const rows = await query<WalkRow & Row>(text, values);
    const { walked, bound } = rows[0] ?? { walked: 0, bound: null };
    const found = take(rows.filter(hasResult));
    if (found >= enough || walked < size || bound === null) return null;
    walkedSoFar += walked;
    // Large enough to find the rest if matches stay as frequent as so far, but within the time limit of a walk.
    const likely = found === 0 ? Number.POSITIVE_INFINITY : ((enough - found) * walkedSoFar * 1.3) / found;
    const bearable = size * Math.min(Math.min(WALK.targetMs, budget.left) / Math.max(left - budget.left, 0.1), 10);
    size = Math.round(Math.min(Math.max(Math.min(bearable, likely), WALK.min), WALK.max));
    return descending ? { ...rest, below: bound } : { ...rest, from: after(bound) };
  };

  for (const source of candidateSources(filter)) {
    // Reading the payload index up to the limit takes ten times as long as the first walk.
    if (walkFirst && source === 'payload') range = await walk(range);
    if (range === null) return;
    const statement = candidateStatement(search, range, source, { descending, projection });
    if (statement === null) continue;
    const rows = await query<CandidateRow & Row>(statement.text, statement.values);
    if ((rows[0]?.candidates ?? 0) > MAX_CANDIDATES) continue;
    take(rows.filter(hasResult));
    return;
  }
  while (range !== null) range = await walk(range);
}

interface WalkRow {
  walked: number;
  bound: string | null;
  /** True in rows of the projection; null in the only row when no job matched. */
  matched: boolean | null;
}
interface CandidateRow {
  candidates: number;
  matched: boolean | null;
}

function hasResult({ matched }: { matched: boolean | null }): boolean {
  return matched !== null;
}

/** @returns the smallest text greater than the id */
export function after(id: string): string {
  return `${id}0`;
}

export function maxOf(one: string, other: string): string {
  return one > other ? one : other;
}

export function minOf(one: string, other: string): string {
  return one < other ? one : other;
}
