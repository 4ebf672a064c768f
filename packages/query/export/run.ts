import type { Operation } from '../schema/graphql.ts';
import { type Cell, type Format, writerOf } from './format.ts';
import { ExportHead } from './operations.ts';
import { type Exported, SOURCES, type Source } from './sources.ts';

/**
 * Reads a list page by page, and writes it as text. The dashboard and the CLI have it from here,
 * so their files are equal.
 */

export const MAX_ROWS = 100_000;
/** Waits for a service that does not answer add up to so much. A restart or a failover of the database takes less. */
const PATIENCE_MS = 65_000;
/** Pages until a larger one is tried after a refusal: rows beside each other have payloads of about the same size. */
const GROWS_AFTER = 10;

export interface Wanted {
  of: Exported;
  format: Format;
  /** Words of the filter, as the box and the address have them. */
  filter: string;
  /** The filter for the API, with absolute times, and the order. */
  variables: Readonly<Record<string, unknown>>;
  /** Other order than the usual one, in words. */
  order?: string;
  payloads?: boolean;
  limit?: number;
}

/** A list of a page, with its filter as of now; null while it cannot be read. */
export type ListToExport = (() => Pick<Wanted, 'of' | 'filter' | 'variables' | 'order'>) | null;

export interface Ports {
  ask<Result, Variables>(operation: Operation<Result, Variables>, variables: Variables): Promise<Result>;
  /** How long to wait before the same request, or whether a smaller page may do. */
  afterFailure(error: unknown, failures: number): number | 'smaller' | 'end';
  wait(ms: number): Promise<void>;
}

export interface Progress {
  text: string;
  /** Rows so far. */
  rows: number;
  /** All rows that match, if they were counted; null if not, or if the count stopped at its maximum. */
  total: number | null;
}

/** The end of a file. `why` is null if it is whole. */
export interface End {
  rows: number;
  why: string | null;
  /** Whether rows are missing because so many were wanted. */
  isCut: boolean;
}

/** @throws the error of the first request: then there is no file */
export async function* exported(wanted: Wanted, ports: Ports): AsyncGenerator<Progress, End> {
  const source = SOURCES[wanted.of] as Source;
  const { limit = MAX_ROWS } = wanted;
  const { me, server } = await ports.ask(ExportHead, {});
  const payload = wanted.payloads === true && me.mayViewPayloads ? source.payload : undefined;
  const counted = await totalOf(source, wanted.variables, ports);
  const columns = payload === undefined ? source.columns : [...source.columns, ['payload', payload] as const];
  const names = columns.map(([name]) => name);
  const writer = writerOf(wanted.format, names);
  const total = counted?.totalCountExact === true ? counted.totalCount : null;
  const head: Record<string, Cell> = {
    export: wanted.of,
    account: me.account.name,
    accountId: me.account.id,
    environment: server.environment,
    at: server.now,
    filter: wanted.filter,
    query: { json: JSON.stringify(wanted.variables) },
    order: wanted.order ?? source.order,
    payloads: payload !== undefined,
    matching: counted === null ? null : counted.totalCount,
    matchingIsExact: counted === null ? null : counted.totalCountExact,
    limit,
  };
  yield { text: writer.head(head), rows: 0, total };

  let rows = 0;
  let why: string | null = null;
  let isCut = false;
  const pages = pagesOf(source, { ...wanted.variables, payloads: payload !== undefined }, ports);
  for await (const page of pages) {
    if ('failure' in page) {
      why = page.failure;
      break;
    }
    const nodes = page.nodes.slice(0, limit - rows);
    rows += nodes.length;
    const text = nodes.map((row) => writer.row(columns.map(([, of]) => of(row)))).join('');
    yield { text, rows, total };
    isCut = nodes.length < page.nodes.length || (rows >= limit && page.hasMore);
    if (isCut) why = `cut at ${limit} rows`;
    if (rows >= limit) break;
  }
  if (why === null && !source.hasPages && rows >= source.size) why = `only the largest ${source.size}`;
  const complete = why === null;
  const end: Record<string, Cell> = { end: wanted.of, rows, complete, ...(complete ? {} : { why }) };
  yield { text: writer.end(end), rows, total };
  return { rows, why, isCut };
}

/** Returns null if the rows cannot be counted in time, as by a rare text: the file does without the number. */
async function totalOf({ total }: Source, variables: Wanted['variables'], ports: Ports) {
  if (total === null) return null;
  try {
    return (await ports.ask(total, variables)).rows;
  } catch (error) {
    if (ports.afterFailure(error, 0) === 'smaller') return null;
    throw error;
  }
}

type PageOrFailure = { nodes: readonly unknown[]; hasMore: boolean } | { failure: string };

/**
 * The pages from first to last. A page that is refused is fetched again with half of its rows, as long payloads or a
 * search that takes too long are too much for one request; a request without an answer is repeated for a minute.
 */
async function* pagesOf(source: Source, variables: object, ports: Ports): AsyncGenerator<PageOrFailure> {
  let after: string | null = null;
  let size = source.size;
  let [answered, failures, waitedMs] = [0, 0, 0];
  for (;;) {
    try {
      const page = source.pageOf(await ports.ask(source.operation, { ...variables, first: size, after }));
      const { hasNextPage, endCursor } = page.pageInfo;
      [answered, failures, waitedMs] = [answered + 1, 0, 0];
      if (answered % GROWS_AFTER === 0) size = Math.min(source.size, size * 2);
      yield { nodes: page.nodes, hasMore: hasNextPage };
      if (!hasNextPage || endCursor === null) return;
      after = endCursor;
    } catch (error) {
      const next = ports.afterFailure(error, failures);
      const isOver =
        next === 'smaller' ? size === 1 || !source.hasPages : next === 'end' || waitedMs + next > PATIENCE_MS;
      if (isOver) return yield { failure: error instanceof Error ? error.message : String(error) };
      if (typeof next === 'string') {
        size = Math.ceil(size / 2);
        answered = 0;
        continue;
      }
      failures += 1;
      waitedMs += next;
      await ports.wait(next);
    }
  }
}
