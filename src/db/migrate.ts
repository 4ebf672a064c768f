import pg from 'pg';
import { KEEP_ALIVE } from './keep-alive.ts';
import { applyMigrations, finishedMigrations, type MigrationLog, ownMigrations, type Queryable } from './migrations.ts';

export interface MigrateOptions {
  url: string;
  log: MigrationLog;
  /** Further migrations under the same lock: the wake-ups' schema belongs to the worker, not to this folder. */
  afterMigrations?: () => Promise<void>;
}

/** `newer`: a later version of Jobferry has migrated this database. */
export type SchemaState = 'current' | 'behind' | 'newer';

/** Of the session advisory lock under which one process at a time migrates a database. */
const MIGRATION_LOCK = 0x6a666d;

/**
 * Brings the database to the schema of this version. Processes that start together wait for the first.
 * @throws Error when the database is of a later version, or a migration fails
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  // Not the pool of the process: its statements may take seconds only, a migration minutes.
  const lock = new pg.Client({ connectionString: options.url, application_name: 'jobferry migrate', ...KEEP_ALIVE });
  lock.on('error', () => undefined); // the statement under way fails, which is enough
  await lock.connect();
  try {
    await takeLock(lock, options.log);
    const later = laterThanOurs(await finishedMigrations(lock));
    if (later.length > 0) {
      throw new Error(
        `the database was migrated by a later version of Jobferry (${later.join(', ')}): run that version`,
      );
    }
    const applied = await applyMigrations(lock, options.log);
    await options.afterMigrations?.();
    return { applied };
  } finally {
    await lock.end().catch(() => undefined);
  }
}

/**
 * How the database compares with the migrations of this version.
 * @throws whatever the query throws
 */
export async function schemaState(database: Queryable): Promise<SchemaState> {
  const finished = await finishedMigrations(database);
  if (laterThanOurs(finished).length > 0) return 'newer';
  return ownMigrations().every((name) => finished.has(name)) ? 'current' : 'behind';
}

async function takeLock(client: pg.Client, log: MigrationLog): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${MIGRATION_LOCK}) as locked`);
  if (rows[0]?.locked === true) return;
  log.info({}, 'waiting for another process that migrates the database');
  await client.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
}

function laterThanOurs(finished: ReadonlySet<string>): string[] {
  const own = new Set(ownMigrations());
  return [...finished].filter((name) => !own.has(name));
}
