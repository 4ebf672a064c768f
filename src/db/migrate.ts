import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import type { SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';

/** The schema of the database and the one of the code do not go together. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

/** Relative to src/db as to dist/db. */
const PRISMA_FOLDER = resolve(dirname(fileURLToPath(import.meta.url)), '../../prisma');
const MIGRATIONS = join(PRISMA_FOLDER, 'migrations');

/** Processes that start together migrate one after the other. */
const MIGRATION_LOCK = 0x6a6d6967;

/**
 * Brings the database to the code's schema with Prisma's own engine, in process (DESIGN 5).
 * @param installMore runs under the same lock: for schemas of libraries
 * @returns the names of the migrations that were applied
 * @throws MigrationError when the database is newer than the code, or an earlier migration failed
 */
export async function migrate(url: string, installMore: () => Promise<void>): Promise<string[]> {
  const client = new pg.Client({ connectionString: url, application_name: 'jobferry migrate' });
  await client.connect();
  try {
    await client.query(`select pg_advisory_lock(${MIGRATION_LOCK})`);
    const known = await knownMigrations();
    const pending = await pendingMigrations(client, known);
    if (pending.length > 0) await applyMigrations(url, known);
    await installMore();
    return pending;
  } finally {
    await client.end();
  }
}

/** True when nothing is left to apply. */
export async function isMigrated(client: pg.Client | pg.Pool): Promise<boolean> {
  return (await pendingMigrations(client, await knownMigrations())).length === 0;
}

async function knownMigrations(): Promise<string[]> {
  const entries = await readdir(MIGRATIONS, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

async function pendingMigrations(client: pg.Client | pg.Pool, known: string[]): Promise<string[]> {
  const table = await client.query<{ present: boolean }>(
    `select to_regclass('_prisma_migrations') is not null as present`,
  );
  if (!table.rows[0]?.present) return known;
  const { rows } = await client.query<{ migration_name: string; finished_at: Date | null; logs: string | null }>(
    'select migration_name, finished_at, logs from _prisma_migrations where rolled_back_at is null',
  );
  const failed = rows.find((row) => row.finished_at === null);
  if (failed !== undefined) {
    throw new MigrationError(
      `the migration ${failed.migration_name} failed before and must be repaired: ${failed.logs ?? ''}`,
    );
  }
  const newer = rows.map((row) => row.migration_name).filter((name) => !known.includes(name));
  if (newer.length > 0) {
    throw new MigrationError(
      `the database is newer than this Jobferry (it has ${newer.join(', ')}): run a newer version`,
    );
  }
  const applied = new Set(rows.map((row) => row.migration_name));
  return known.filter((name) => !applied.has(name));
}

async function applyMigrations(url: string, known: string[]): Promise<void> {
  const engine = await loadEngine(url);
  try {
    await engine.applyMigrations({
      migrationsList: {
        baseDir: MIGRATIONS,
        lockfile: {
          path: 'migration_lock.toml',
          content: await readFile(join(MIGRATIONS, 'migration_lock.toml'), 'utf8'),
        },
        shadowDbInitScript: '',
        migrationDirectories: await Promise.all(
          known.map(async (name) => ({
            path: name,
            migrationFile: {
              path: 'migration.sql',
              content: { tag: 'ok' as const, value: await readFile(join(MIGRATIONS, name, 'migration.sql'), 'utf8') },
            },
          })),
        ),
      },
      filters: { externalTables: [], externalEnums: [] },
    });
  } catch (error) {
    throw new MigrationError(`a migration failed: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  } finally {
    engine.free();
  }
}

/** The type library of Node 20 leaves out what Node 20 has. */
declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>;
  instantiate(module: object, imports: object): Promise<{ exports: { __wbindgen_start(): void } }>;
};

/** The engine's own entry imports its WebAssembly as a module, which Node 20 cannot; so by hand. */
async function loadEngine(url: string): Promise<SchemaEngine> {
  const engine = await import('@prisma/schema-engine-wasm/schema_engine_bg');
  const entry = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const module = await WebAssembly.compile(await readFile(join(dirname(entry), 'schema_engine_bg.wasm')));
  const { exports } = await WebAssembly.instantiate(module, { './schema_engine_bg.js': engine });
  (engine as unknown as { __wbg_set_wasm(exports: object): void }).__wbg_set_wasm(exports);
  exports.__wbindgen_start();
  const schema = await readFile(join(PRISMA_FOLDER, 'schema.prisma'), 'utf8');
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg({ connectionString: url }));
  return engine.SchemaEngine.new({ datamodels: [['schema.prisma', schema]] }, () => undefined, adapter);
}
