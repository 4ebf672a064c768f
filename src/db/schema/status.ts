import type { Release } from '../../domain/release.ts';
import { finishedMigrations, hasHistory, ownMigrations, type Queryable } from './migrations.ts';
import { OWN_RELEASE, storedRelease } from './release.ts';
import { ownFunctions, type StoredFunctions, storedFunctions } from './sql-functions.ts';

/**
 * `applied`: the database has it. `pending`: a start or `migrate` would apply it. `failed`: so, and the last try failed
 * or was interrupted. `later`: the database has it, and this version does not know it.
 */
type MigrationState = 'applied' | 'pending' | 'failed' | 'later';

export interface MigrationStatus {
  name: string;
  state: MigrationState;
  /** When it was applied, or when the last try began; null for a migration that was never tried. */
  at: Date | null;
  /** Why the last try failed; null if it did not. */
  reason: string | null;
}

/** The schema of a database beside that of this version. */
export interface SchemaStatus {
  migrations: MigrationStatus[];
  /** The last applied migration and the version of the SQL functions; null in a database without them. */
  database: { migration: string | null; functions: StoredFunctions | null; release: Release | null };
  program: { migration: string | null; functions: StoredFunctions; release: Release };
}

interface Try {
  name: string;
  at: Date;
  logs: string | null;
}

const INTERRUPTED = 'it was interrupted, and nothing of it was kept';

/** Reads which migrations the database has. Changes nothing. @throws the error of the query */
export async function schemaStatus(database: Queryable): Promise<SchemaStatus> {
  const own = ownMigrations();
  const finished = await finishedMigrations(database);
  const tries = await lastTries(database);
  const names = [...new Set([...own, ...finished])].sort();
  const migrations = names.map((name) => statusOf(name, { own, finished, tries }));
  const isBegun = finished.has(own[0] ?? '');
  const functions = isBegun ? await storedFunctions(database) : null;
  const release = isBegun ? await storedRelease(database) : null;
  const { version, hash } = ownFunctions();
  return {
    migrations,
    database: { migration: [...finished].sort().at(-1) ?? null, functions, release },
    program: { migration: own.at(-1) ?? null, functions: { version, hash }, release: OWN_RELEASE },
  };
}

function statusOf(
  name: string,
  known: { own: readonly string[]; finished: ReadonlySet<string>; tries: ReadonlyMap<string, Try> },
): MigrationStatus {
  const last = known.tries.get(name);
  const at = last?.at ?? null;
  if (known.finished.has(name)) {
    return { name, state: known.own.includes(name) ? 'applied' : 'later', at, reason: null };
  }
  if (last === undefined) return { name, state: 'pending', at, reason: null };
  return { name, state: 'failed', at, reason: last.logs ?? INTERRUPTED };
}

/** The record that counts for each migration: that of its success, or else the last one. */
async function lastTries(database: Queryable): Promise<Map<string, Try>> {
  if (!(await hasHistory(database))) return new Map();
  const { rows } = await database.query<Try>(
    `select distinct on (migration_name) migration_name as name, coalesce(finished_at, started_at) as at,
            nullif(logs, '') as logs
       from _prisma_migrations
      order by migration_name, (finished_at is not null and rolled_back_at is null) desc, started_at desc`,
  );
  return new Map(rows.map((row) => [row.name, row]));
}
