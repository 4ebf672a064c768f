import type { JobStateName } from '../../domain/job-filter.ts';
import type { Periods } from '../../domain/periods.ts';
import type { Database, Statement } from '../connection/database.ts';
import { columnsOf, QUEUE_ROW, type QueueRow, toRow } from '../rows.ts';
import { DEPTH } from './depth.ts';
import { type PartOfStatement, QUEUE_PARTS, type QueuePart, type ValueName } from './queue-parts.ts';
import { STATISTICS, type StatisticsColumn, type StatsRow, toStatsRows } from './statistics.ts';
import { toUse, USE, type UseRow } from './use.ts';

export type { QueuePart } from './queue-parts.ts';

/**
 * The state and the statistics of queues. What a page asks of its queues is read with one statement: one snapshot, and
 * one turn of the account.
 */

/** A deleted queue has nothing but its row. */
const ROW: PartOfStatement = {
  join: () =>
    `cross join lateral (select ${columnsOf(QUEUE_ROW, 'q')} from queue q where q.id = own.id offset 0) queue_row`,
  columns: 'to_json(queue_row) as queue',
};

// By index alone: a range of ids of the queue for each span. Compared as rows,
// so that no plan uses an index over all queues.
const PUBLISHED: PartOfStatement = {
  join: (value) => `
    cross join lateral (
      select coalesce(json_agg(counted.jobs order by counted.n), '[]') as list from (
        select b.n, (select count(*) from job j
                      where (j.queue_id, j.id) >= (own.id, b.first) and (j.queue_id, j.id) < (own.id, b.last)) as jobs
          from unnest(${value('firstIds')}::text[], ${value('lastIds')}::text[]) with ordinality as b(first, last, n)
        offset 0) counted) published`,
  columns: 'published.list as published',
};

const PARTS: Readonly<Record<QueuePart, PartOfStatement>> = {
  row: ROW,
  depth: DEPTH,
  use: USE,
  attempts: STATISTICS,
  published: PUBLISHED,
};

interface ComposedStatement extends Statement {
  values: readonly ValueName[];
}

const composed = new Map<string, ComposedStatement>();

/** Each set of parts has a statement of its own, which is prepared: a part that is not asked for costs nothing. */
function statementOf(parts: ReadonlySet<QueuePart>): ComposedStatement {
  const names = QUEUE_PARTS.filter((part) => parts.has(part));
  const key = names.join('-');
  const present = composed.get(key);
  if (present !== undefined) return present;
  const values: ValueName[] = [];
  const value = (name: ValueName) => {
    if (!values.includes(name)) values.push(name);
    return `$${values.indexOf(name) + 1}`;
  };
  const chosen = names.map((name) => PARTS[name]);
  const [ids, accountId] = [`${value('ids')}::text[]`, value('accountId')];
  // A name is that of a live queue.
  const which = parts.has('row')
    ? `id = any (${ids} || array(
         select id from queue where account_id = ${accountId} and deleted_at is null and name = any (${value('names')}::text[])))`
    : `id = any (${ids}) and deleted_at is null`;
  const tables = [
    `own as materialized (
      select id, deleted_at is not null as deleted from queue
       where ${which} and account_id = ${accountId}
    )`,
    'clock as materialized (select jobferry_now() as now)',
    ...chosen.flatMap((part) => part.with?.(value) ?? []),
  ];
  const statement = {
    name: `queue-now-${key}`,
    text: `with ${tables.join(', ')}
    select ${['own.id', 'own.deleted', ...chosen.map(({ columns }) => columns)].join(', ')}
      from own ${chosen.map((part) => part.join(value)).join(' ')}`,
    values,
  };
  composed.set(key, statement);
  return statement;
}

/** A row of the statement, as far as its columns were asked for. */
interface Row extends UseRow, DepthRow {
  id: string;
  deleted: boolean;
  queue: object;
  attempts: StatisticsColumn;
  published: number[];
}

/**
 * `next`: when the next job that waits for a later time is due. `first_deadline`: the first time-out of an awaited
 * report.
 */
export type DepthRow = Record<JobStateName, number> & Record<'oldest' | 'next' | 'first_deadline', Date | null>;

interface HoldJobs {
  askedBy: string | null;
  probe: string | null;
}

/** The parts of a queue that were read. Parts that were not asked for are undefined, and those of a deleted queue. */
export interface QueueNow {
  row?: QueueRow | undefined;
  depth?: DepthRow | undefined;
  use?: ReturnType<typeof toUse> | undefined;
  /** Read with `use`: the jobs of the last hold, as far as they have not been removed. */
  holdJobs?: HoldJobs | undefined;
  attempts?: StatsRow[] | undefined;
  published?: number[] | undefined;
}

export interface QueueNowRequest {
  parts: ReadonlySet<QueuePart>;
  /** Names of further live queues, of which the row must be asked for. */
  names?: readonly string[] | undefined;
  /** Range of `attempts`; without one, the last hour. */
  range?: { from: Date; to: Date } | undefined;
  /** Spans of `published`: the first id of each, and that of the next one. */
  spans?: { firstIds: readonly string[]; lastIds: readonly string[] } | undefined;
}

/** @returns those of the queues that belong to the account; deleted ones only with their row */
export async function queueNow(
  db: Database,
  accountId: string,
  ids: readonly string[],
  { parts, names = [], range, spans }: QueueNowRequest,
  { retentionMs, lifetimeMs }: Periods,
): Promise<Map<string, QueueNow>> {
  const { values, ...statement } = statementOf(parts);
  const all: Record<ValueName, unknown> = {
    ids,
    names,
    accountId,
    retentionMs,
    lifetimeMs,
    from: range?.from ?? null,
    to: range?.to ?? null,
    firstIds: spans?.firstIds ?? [],
    lastIds: spans?.lastIds ?? [],
  };
  const rows = await db.query<Row>(
    statement,
    values.map((name) => all[name]),
  );
  return new Map(rows.map((row) => [row.id, toQueueNow(row, parts)]));
}

function toQueueNow(row: Row, parts: ReadonlySet<QueuePart>): QueueNow {
  const queue = parts.has('row') ? toRow(QUEUE_ROW, row.queue) : undefined;
  if (row.deleted) return { row: queue };
  return {
    row: queue,
    depth: parts.has('depth') ? row : undefined,
    use: parts.has('use') ? toUse(row) : undefined,
    holdJobs: parts.has('use') ? { askedBy: row.asked_by, probe: row.probe } : undefined,
    attempts: parts.has('attempts') ? toStatsRows(row.attempts) : undefined,
    published: parts.has('published') ? row.published : undefined,
  };
}
