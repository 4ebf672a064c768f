import { firstIdAt } from '../../domain/id.ts';
import type { Database, Statement } from '../connection/database.ts';
import { AFTER_ALL } from '../search/scan.ts';
import type { IdRange } from '../search/statements.ts';

/** An entry of a page whose document has not been read yet. */
export interface SizedEntry {
  id: string;
  /** Approximate size of its document. */
  bytes: number;
}

/** A page of documents. A large page is read in slices. */
export interface DocumentPage<T> {
  /** The first slice; all entries unless there is a `rest`. */
  jobs: T[];
  /** The slices that follow, in order, each read when it is requested. A slice is at most 1 MiB or a single entry. */
  rest?: AsyncIterable<T[]>;
  total: number;
}

/** Approximate size of a slice: this much of a page is in memory at once. */
const SLICE_BYTES = 1_048_576;

/**
 * SQL: approximate size of the document of the job `j`: its payload, and 2000 bytes per attempt for texts of reports.
 */
export const BYTES_OF_J = 'octet_length(j.payload) + 2000 * (j.history_count + 1)';

/** @returns SQL with constants: with parameters, a cached plan would estimate every limit as a tenth of the table */
export function limitOf(limit: number, offset: number): string {
  if (!Number.isSafeInteger(limit) || !Number.isSafeInteger(offset)) throw new Error('a limit is a whole number');
  return `limit ${limit} offset ${offset}`;
}

/**
 * Reads a page. Of a large page it reads the first slice, and the others on request.
 * Skips entries that no longer exist.
 */
export async function readPage<T>(
  entries: readonly SizedEntry[],
  total: number,
  read: (ids: string[]) => Promise<T[]>,
): Promise<DocumentPage<T>> {
  const [first = [], ...others] = slicesOf(entries);
  const jobs = first.length === 0 ? [] : await read(first);
  if (others.length === 0) return { jobs, total };
  async function* rest() {
    for (const ids of others) yield await read(ids);
  }
  return { jobs, rest: rest(), total };
}

function slicesOf(entries: readonly SizedEntry[]): string[][] {
  const slices: string[][] = [];
  let room = 0;
  for (const { id, bytes } of entries) {
    if (bytes > room || slices.length === 0) {
      slices.push([]);
      room = SLICE_BYTES;
    }
    slices.at(-1)?.push(id);
    room -= bytes;
  }
  return slices;
}

/** @returns the range of ids created between two times, both inclusive */
export function boundsOf(from: Date, to: Date | undefined): IdRange {
  return { from: firstIdAt(from.getTime()), below: to === undefined ? AFTER_ALL : firstIdAt(to.getTime() + 1) };
}

/** Entries per statement. Counting this many in an index takes 0.1 to 0.3 s. */
export const COUNT_SLICE = 1_000_000;
/** A count that takes longer is a lower bound. */
const MAX_COUNT_MS = 2500;

interface Counted {
  walked: number;
  n: number;
  last: string | null;
}

/**
 * Counts slice by slice. The statement reads at most `slice` entries from `$1` to below `$2`, from the greatest id
 * down. It returns how many it has read (`walked`), how many of them count (`n`), and the least id (`last`). The result
 * is exact if the count takes up to 2.5 s (about ten million entries), and a lower bound otherwise.
 */
export async function countDown(
  db: Database,
  statement: Statement,
  { from, below }: IdRange,
  values: readonly unknown[],
  slice = COUNT_SLICE,
): Promise<number> {
  const endsAt = performance.now() + MAX_COUNT_MS;
  let total = 0;
  let upTo = below;
  do {
    const row: Counted | null = await db.one(statement, [from, upTo, ...values]);
    if (row === null) break;
    total += row.n;
    if (row.walked < slice || row.last === null) break;
    upTo = row.last;
  } while (performance.now() < endsAt);
  return total;
}
