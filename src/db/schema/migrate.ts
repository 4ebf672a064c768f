import type pg from 'pg';
import { type Address, createClient } from '../connection/address.ts';
import { KEEP_ALIVE, UNLIMITED } from '../connection/keep-alive.ts';
import { applyMigrations, finishedMigrations, type MigrationLog, ownMigrations, type Queryable } from './migrations.ts';
import { applyFunctions, ownFunctions, type StoredFunctions, storedFunctions } from './sql-functions.ts';

interface MigrateOptions {
  url: Address;
  log: MigrationLog;
  /** Further migrations under the same lock: the wake-ups' schema belongs to the worker, not to this folder. */
  afterMigrations?: () => Promise<void>;
}

/** `newer`: a later version of Jobferry has migrated this database or replaced its functions. */
export type SchemaState = 'current' | 'behind' | 'newer';

/** Key of the session advisory lock with which only one process at a time migrates a database. */
const MIGRATION_LOCK = 0x6a666d;

/**
 * Brings the database to the schema and the SQL functions of this version. Processes that start together wait for the
 * first.
 * @returns the names of the migrations that were applied
 * @throws Error when the database is of a later version, or a migration fails
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  // Not the pool of the process: its statements may take seconds only, a migration minutes.
  const lock = createClient(options.url, {
    application_name: 'jobferry migrate',
    ...KEEP_ALIVE,
    options: `${KEEP_ALIVE.options} ${UNLIMITED}`,
  });
  lock.on('error', () => undefined); // the running statement fails, which is enough
  await lock.connect();
  try {
    await takeLock(lock, options.log);
    const before = await compare(lock);
    if (before.later.length > 0) {
      const later = before.later.join(', ');
      throw new Error(`the database was migrated by a later version of Jobferry (${later}): run that version`);
    }
    const applied = await applyMigrations(lock, options);
    if (!hasOwn(before.functions)) await replaceFunctions(lock, before.functions, options.log);
    await options.afterMigrations?.();
    return { applied };
  } finally {
    await lock.end().catch(() => undefined);
  }
}

/**
 * Compares the database with the migrations and the SQL functions of this version.
 * @throws the error of the query
 */
export async function schemaState(database: Queryable): Promise<SchemaState> {
  const { later, isMigrated, functions } = await compare(database);
  if (later.length > 0) return 'newer';
  return isMigrated && hasOwn(functions) ? 'current' : 'behind';
}

interface Comparison {
  /** Migrations and functions that only a later version can have applied. */
  later: string[];
  /** Whether no migration is missing. */
  isMigrated: boolean;
  functions: StoredFunctions | null;
}

async function compare(database: Queryable): Promise<Comparison> {
  const names = ownMigrations();
  const finished = await finishedMigrations(database);
  const later = [...finished].filter((name) => !names.includes(name));
  const functions = finished.has(names[0] ?? '') ? await storedFunctions(database) : null;
  if (functions !== null && functions.version > ownFunctions().version) later.push(`functions ${functions.version}`);
  return { later, isMigrated: names.every((name) => finished.has(name)), functions };
}

/**
 * The same version with another hash comes from a development build: the process that starts last replaces the
 * functions.
 */
function hasOwn(functions: StoredFunctions | null): boolean {
  const { version, hash } = ownFunctions();
  return functions?.version === version && functions.hash === hash;
}

async function replaceFunctions(client: pg.Client, before: StoredFunctions | null, log: MigrationLog): Promise<void> {
  await applyFunctions(client, ownFunctions());
  const { version, hash } = ownFunctions();
  log.info({ version, hash, before: before?.version ?? null }, 'SQL functions replaced');
}

async function takeLock(client: pg.Client, log: MigrationLog): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${MIGRATION_LOCK}) as locked`);
  if (rows[0]?.locked === true) return;
  log.info({}, 'waiting for another process that migrates the database');
  await client.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
}
