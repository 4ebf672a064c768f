import { firstIdAt } from '../../domain/id.ts';
import type { Database, Statement } from '../connection/database.ts';
import { AFTER_ALL } from '../search/scan.ts';
import type { IdRange } from '../search/statements.ts';

/** An entry of a page, before it is read. */
export interface SizedEntry {
  id: string;
  /** About how much reading it takes. */
  bytes: number;
}

/** A page of documents that is read bit by bit when it is large. */
export interface DocumentPage<T> {
  /** The first entries, and all of them unless there is a rest. */
  jobs: T[];
  /** The entries after those, in order, each element at most a MiB or a single entry; read when it is asked for. */
  rest?: AsyncIterable<T[]>;
  total: number;
}

/** Of payloads, in characters, that are in memory at once for a page. */
const SLICE_BYTES = 1_048_576;

/** Of SQL: what an entry takes besides its payload, for each attempt of the job `j`; texts of reports are that long. */
export const BYTES_OF_J = 'octet_length(j.payload) + 2000 * (j.history_count + 1)';

/** SQL: as numbers and not as parameters, because a plan that is kept would take every limit for a tenth of the table. */
export function limitOf(limit: number, offset: number): string {
  if (!Number.isSafeInteger(limit) || !Number.isSafeInteger(offset)) throw new Error('a limit is a whole number');
  return `limit ${limit} offset ${offset}`;
}

/** Reads a page; of a large one only the beginning, and the rest as it is asked for. Entries that are gone are left out. */
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

/** Ids of what was created from one time to another, both included. */
export function boundsOf(from: Date, to: Date | undefined): IdRange {
  return { from: firstIdAt(from.getTime()), below: to === undefined ? AFTER_ALL : firstIdAt(to.getTime() + 1) };
}

/** Entries in a statement; counts of an index take 0.1 to 0.3 s for so many. */
export const COUNT_SLICE = 1_000_000;
/** A count that takes longer is a lower bound. */
const MAX_COUNT_MS = 2500;

interface Counted {
  walked: number;
  n: number;
  last: string | null;
}

/**
 * Counts by a statement that looks at entries from the greatest id down, from `$1` to below `$2` and at most `slice`, and returns
 * how many there were (`walked`), how many count (`n`), and the least id (`last`). Exact when it takes up to 2.5 s,
 * which are some ten million entries; a lower bound otherwise.
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
