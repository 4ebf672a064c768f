import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import type { MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';
import { KEEP_ALIVE } from './keep-alive.ts';

/**
 * Migrations are Prisma's own, `_prisma_migrations` included, so `prisma migrate` works beside them.
 * They are applied in this process by Prisma's schema engine as WebAssembly: the native one would
 * have to be downloaded first (docs/rules.md, "Facts about the libraries").
 */

interface MigrateOptions {
  url: string;
  log: { info(fields: object, message: string): void };
  /** Further migrations under the same lock: the wake-ups' schema belongs to the worker, not to this folder. */
  afterMigrations?: () => Promise<void>;
}

/** `newer`: a later version of Jobferry has migrated this database. */
type SchemaState = 'current' | 'behind' | 'newer';

type Queryable = Pick<pg.Pool, 'query'> | Pick<pg.Client, 'query'>;

/** Three levels up from `src/db/connection` and from `dist/db/connection`. */
const PRISMA_FOLDER = fileURLToPath(new URL('../../../prisma', import.meta.url));
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
    const applied = await applyMigrations(lock, options);
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

async function takeLock(client: pg.Client, log: MigrateOptions['log']): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${MIGRATION_LOCK}) as locked`);
  if (rows[0]?.locked === true) return;
  log.info({}, 'waiting for another process that migrates the database');
  await client.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
}

async function applyMigrations(lock: pg.Client, { url, log }: MigrateOptions): Promise<string[]> {
  const finished = await finishedMigrations(lock);
  const later = laterThanOurs(finished);
  if (later.length > 0) {
    throw new Error(`the database was migrated by a later version of Jobferry (${later.join(', ')}): run that version`);
  }
  const missing = ownMigrations().filter((name) => !finished.has(name));
  if (missing.length === 0) return [];

  const pool = new pg.Pool({ connectionString: url, application_name: 'jobferry migrate', max: 2 });
  pool.on('error', () => undefined); // as above
  const adapter = new WholeScripts(pool);
  const engine = await loadEngine(adapter);
  try {
    for (const migrationName of await interruptedMigrations(lock)) {
      // Nobody else can be at it while we hold the lock. Each migration is one transaction (a test
      // sees to that), so nothing of this one is left, and it can simply run again.
      log.info({ migration: migrationName }, 'a migration was interrupted before, running it again');
      await engine.markMigrationRolledBack({ migrationName });
    }
    const result = await engine.applyMigrations({ migrationsList: readMigrations(), filters: NO_FILTERS });
    return result.appliedMigrationNames;
  } catch (error) {
    const name = (await interruptedMigrations(lock).catch(() => []))[0] ?? missing[0];
    const cause = adapter.failure ?? error;
    throw new Error(`migration ${name} failed, nothing of it was kept: ${reasonOf(cause)}`, { cause });
  } finally {
    engine.free();
    await pool.end().catch(() => undefined);
  }
}

const NO_FILTERS = { externalTables: [], externalEnums: [] };

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  // The engine's own advice is about the `prisma` command.
  return text.startsWith('The database schema is not empty')
    ? 'the database has tables of something else, and Jobferry needs one of its own'
    : text;
}

async function finishedMigrations(database: Queryable): Promise<Set<string>> {
  return migrationNames(database, 'finished_at is not null and rolled_back_at is null');
}

async function interruptedMigrations(database: Queryable): Promise<string[]> {
  return [...(await migrationNames(database, 'finished_at is null and rolled_back_at is null'))];
}

async function migrationNames(database: Queryable, condition: string): Promise<Set<string>> {
  const table = await database.query<{ present: boolean }>(
    `select to_regclass('_prisma_migrations') is not null as present`,
  );
  if (table.rows[0]?.present !== true) return new Set();
  const { rows } = await database.query<{ migration_name: string }>(
    `select migration_name from _prisma_migrations where ${condition} order by started_at`,
  );
  return new Set(rows.map((row) => row.migration_name));
}

function laterThanOurs(finished: ReadonlySet<string>): string[] {
  const own = new Set(ownMigrations());
  return [...finished].filter((name) => !own.has(name));
}

let ownNames: readonly string[] | null = null;

/** Read once: `schemaState` is asked at every readiness check. */
function ownMigrations(): readonly string[] {
  ownNames ??= readdirSync(join(PRISMA_FOLDER, 'migrations'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  return ownNames;
}

function readMigrations(): MigrationList {
  const baseDir = join(PRISMA_FOLDER, 'migrations');
  return {
    baseDir,
    lockfile: { path: 'migration_lock.toml', content: readFileSync(join(baseDir, 'migration_lock.toml'), 'utf8') },
    shadowDbInitScript: '',
    migrationDirectories: ownMigrations().map((path) => ({
      path,
      migrationFile: {
        path: 'migration.sql',
        content: { tag: 'ok', value: readFileSync(join(baseDir, path, 'migration.sql'), 'utf8') },
      },
    })),
  };
}

/** The type library of Node 20 leaves out what Node 20 has. */
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>;
};

/** What the module has beside its declared exports: the two hooks of its WebAssembly glue. */
interface EngineModule {
  SchemaEngine: typeof SchemaEngine;
  __wbg_set_wasm(exports: object): void;
}

let engineModule: Promise<EngineModule> | null = null;

async function loadEngine(scripts: WholeScripts): Promise<SchemaEngine> {
  engineModule ??= instantiateEngine();
  const { SchemaEngine } = await engineModule;
  const adapter = bindMigrationAwareSqlAdapterFactory(scripts);
  const schema = join(PRISMA_FOLDER, 'schema.prisma');
  return SchemaEngine.new({ datamodels: [[schema, readFileSync(schema, 'utf8')]] }, () => undefined, adapter);
}

async function instantiateEngine(): Promise<EngineModule> {
  const glue = (await import('@prisma/schema-engine-wasm/schema_engine_bg')) as unknown as EngineModule;
  const folder = dirname(createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg'));
  const bytes = readFileSync(join(folder, 'schema_engine_bg.wasm'));
  const imports = { './schema_engine_bg.js': Object.fromEntries(Object.entries(glue).map(withoutHoldingUp)) };
  const { instance } = await WebAssembly.instantiate(bytes, imports);
  glue.__wbg_set_wasm(instance.exports);
  (instance.exports.__wbindgen_start as () => void)();
  return glue;
}

/** The engine never clears its timer for a lock that it got, and would keep a command from ending for 10 s. */
function withoutHoldingUp([name, value]: [string, unknown]): [string, unknown] {
  if (!name.startsWith('__wbg_setTimeout') || typeof value !== 'function') return [name, value];
  return [name, (...args: unknown[]) => (value(...args) as NodeJS.Timeout).unref()];
}

/**
 * Prisma's adapter cuts a script at every semicolon, also inside function bodies and comments. Sent
 * whole, PostgreSQL itself tells the statements apart, and runs them all or none.
 */
class WholeScripts extends PrismaPg {
  readonly #pool: pg.Pool;
  /** What PostgreSQL said about a script; the engine only reports that there was an error. */
  failure: unknown = null;

  constructor(pool: pg.Pool) {
    super(pool);
    this.#pool = pool;
  }

  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect();
    adapter.executeScript = async (script) => {
      await this.#pool.query(script).catch((error: unknown) => {
        this.failure = error;
        throw error;
      });
    };
    return adapter;
  }
}
