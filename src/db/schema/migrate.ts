import type pg from 'pg';
import {
  commandRefusal,
  isNews,
  needsMigration,
  type Release,
  type SchemaFacts,
  type Standing,
  standingOf,
  startRefusal,
} from '../../domain/release.ts';
import { type Address, createClient } from '../connection/address.ts';
import { KEEP_ALIVE, UNLIMITED } from '../connection/keep-alive.ts';
import { assertGranted } from './grants.ts';
import { applyMigrations, finishedMigrations, type MigrationLog, ownMigrations, type Queryable } from './migrations.ts';
import { noteRelease, OWN_RELEASE, refuseWhileOlderRun, storedRelease } from './release.ts';
import {
  applyFunctions,
  ownFunctions,
  type StoredFunctions,
  storedFunctions,
  UnusableSchema,
} from './sql-functions.ts';

interface MigrateOptions {
  url: Address;
  log: MigrationLog;
  /** Further migrations under the same lock: the wake-ups' schema belongs to the worker, not to this folder. */
  afterMigrations?: () => Promise<void>;
  /** False for a process that changes nothing of the schema, and does not start if something is missing. */
  mayMigrate?: boolean;
  /** For processes that serve: if a later release has migrated the database, they may run beside it. */
  mayRunBeside?: boolean;
  /** The release of this build, except in tests. */
  release?: Release;
}

interface Migrated {
  /** Names of the migrations that were applied. */
  applied: string[];
  /** The later release that has migrated the database, if this process runs beside it: then nothing was done. */
  beside?: string;
}

/** `newer`: a later version of Jobferry has migrated this database or replaced its functions. */
export type SchemaState = 'current' | 'behind' | 'newer';

/** Key of the session advisory lock with which only one process at a time migrates a database. */
export const MIGRATION_LOCK = 0x6a666d;

/**
 * Brings the database to the schema and the SQL functions of this version. Processes that start together wait for the
 * first.
 * @throws Error when the database is of a later version, or needs a migration that is not permitted, or lacks rights,
 *   or processes run that may not run beside this one, or a migration fails
 */
export async function migrate(options: MigrateOptions): Promise<Migrated> {
  const { log, release = OWN_RELEASE } = options;
  // Not the pool of the process: its statements may take seconds only, a migration minutes.
  const lock = createClient(options.url, {
    application_name: 'jobferry migrate',
    ...KEEP_ALIVE,
    options: `${KEEP_ALIVE.options} ${UNLIMITED}`,
  });
  lock.on('error', () => undefined); // the running statement fails, which is enough
  await lock.connect();
  try {
    await takeLock(lock, log);
    const before = await compare(lock);
    const standing = standingOf(release.version, before);
    if (standing === 'beside' && before.release !== null && options.mayRunBeside === true) {
      return { applied: [], beside: before.release.version };
    }
    if (standing !== 'own') throw new Error(startRefusal(release.version, before));
    if (options.mayMigrate === false) {
      if (isBehind(before, release)) throw new Error(needsMigration(release.version, before));
      await assertGranted(lock);
    }
    const applied = await bringUp(lock, before, { ...options, release });
    await options.afterMigrations?.();
    return { applied };
  } finally {
    await lock.end().catch(() => undefined);
  }
}

async function bringUp(
  client: pg.Client,
  before: Comparison,
  { url, log, release }: MigrateOptions & { release: Release },
): Promise<string[]> {
  if (!isBehind(before, release)) return [];
  if (before.isBegun) await refuseWhileOlderRun(client, release);
  const note = () => noteRelease(client, release, before.release);
  const applied = await applyMigrations(client, { url, log, inEach: note });
  if (!hasOwn(before.functions)) await replaceFunctions(client, before.functions, log, note);
  await note();
  return applied;
}

function isBehind({ isMigrated, functions, release: stored }: Comparison, release: Release): boolean {
  return !isMigrated || !hasOwn(functions) || isNews(release, stored);
}

/**
 * For commands that use a database and do not migrate it.
 * @throws Error in words for the operator unless its schema is that of this version
 */
export async function assertOwnSchema(database: Queryable): Promise<void> {
  const report = await schemaReport(database);
  if (report.state !== 'current') throw new Error(commandRefusal(OWN_RELEASE.version, report));
}

export interface SchemaReport extends SchemaFacts {
  state: SchemaState;
  /** Whether nothing of Jobferry's schema is there. */
  isEmpty: boolean;
  standing: Standing;
}

/**
 * Compares the database with the migrations, the SQL functions and the release of this version.
 * @throws the error of the query
 */
export async function schemaReport(database: Queryable, { version } = OWN_RELEASE): Promise<SchemaReport> {
  const { later, release, isEmpty, isMigrated, functions } = await compare(database);
  const standing = standingOf(version, { release, later });
  const facts = { isEmpty, standing, release, later };
  if (later.length > 0) return { state: 'newer', ...facts };
  return { state: isMigrated && hasOwn(functions) ? 'current' : 'behind', ...facts };
}

interface Comparison extends SchemaFacts {
  isEmpty: boolean;
  /** Whether the first migration is there. */
  isBegun: boolean;
  /** Whether no migration is missing. */
  isMigrated: boolean;
  functions: StoredFunctions | null;
}

async function compare(database: Queryable): Promise<Comparison> {
  const names = ownMigrations();
  const finished = await finishedMigrations(database);
  const later = [...finished].filter((name) => !names.includes(name));
  const isBegun = finished.has(names[0] ?? '');
  if (later.length > 0 && !isBegun) throw new UnusableSchema(foreign(later[0] ?? ''));
  const functions = isBegun ? await storedFunctions(database) : null;
  const release = isBegun ? await storedRelease(database) : null;
  if (functions !== null && functions.version > ownFunctions().version) later.push(`functions ${functions.version}`);
  const isEmpty = !isBegun && later.length === 0;
  return { later, release, isEmpty, isBegun, isMigrated: names.every((name) => finished.has(name)), functions };
}

/**
 * Every release has the first migration, so these are of a build before the first release, or of another application.
 */
function foreign(name: string): string {
  return `the database has migrations that no release of Jobferry has, such as ${name}: use an empty database`;
}

/**
 * A version that is stored with another hash comes from a development build: the process that starts last replaces the
 * functions.
 */
function hasOwn(functions: StoredFunctions | null): boolean {
  const { version, hash } = ownFunctions();
  return functions?.version === version && functions.hash === hash;
}

async function replaceFunctions(
  client: pg.Client,
  before: StoredFunctions | null,
  log: MigrationLog,
  afterwards: () => Promise<void>,
): Promise<void> {
  await applyFunctions(client, ownFunctions(), afterwards);
  const { version, hash } = ownFunctions();
  // The first start of a new database has nothing to replace.
  if (before !== null) log.info({ version, hash, before: before.version }, 'SQL functions replaced');
}

async function takeLock(client: pg.Client, log: MigrationLog): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${MIGRATION_LOCK}) as locked`);
  if (rows[0]?.locked === true) return;
  log.info({}, 'waiting for another process that migrates the database');
  await client.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
}
