import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import type { DiagnoseMigrationHistoryOutput, SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';

/** Prisma's schema engine as WebAssembly: what `prisma migrate` runs, without the program that it would download. */

const PRISMA_FOLDER = fileURLToPath(new URL('../../prisma', import.meta.url));
const NO_FILTERS = { externalTables: [], externalEnums: [] };

export interface PrismaEngine {
  /** `prisma migrate status` */
  diagnose(): Promise<DiagnoseMigrationHistoryOutput>;
  /** `prisma migrate deploy`: the names of the migrations that it applied. */
  deploy(): Promise<string[]>;
  /** `prisma migrate resolve --rolled-back` */
  markRolledBack(migrationName: string): Promise<void>;
  close(): Promise<void>;
}

export async function openPrismaEngine(url: string): Promise<PrismaEngine> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => undefined);
  const { SchemaEngine } = await instantiate();
  const schema = join(PRISMA_FOLDER, 'schema.prisma');
  const adapter = bindMigrationAwareSqlAdapterFactory(new WholeScripts(pool));
  const engine = await SchemaEngine.new(
    { datamodels: [[schema, readFileSync(schema, 'utf8')]] },
    () => undefined,
    adapter,
  );
  return {
    diagnose: () =>
      engine.diagnoseMigrationHistory({
        migrationsList: migrations(),
        optInToShadowDatabase: false,
        filters: NO_FILTERS,
      }),
    async deploy() {
      const result = await engine.applyMigrations({ migrationsList: migrations(), filters: NO_FILTERS });
      return result.appliedMigrationNames;
    },
    async markRolledBack(migrationName) {
      await engine.markMigrationRolledBack({ migrationName });
    },
    async close() {
      engine.free();
      await pool.end();
    },
  };
}

function migrations() {
  const baseDir = join(PRISMA_FOLDER, 'migrations');
  const names = readdirSync(baseDir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return {
    baseDir,
    lockfile: { path: 'migration_lock.toml', content: readFileSync(join(baseDir, 'migration_lock.toml'), 'utf8') },
    shadowDbInitScript: '',
    migrationDirectories: names.map(({ name: path }) => ({
      path,
      migrationFile: {
        path: 'migration.sql',
        content: { tag: 'ok' as const, value: readFileSync(join(baseDir, path, 'migration.sql'), 'utf8') },
      },
    })),
  };
}

/** The type library of Node 20 leaves out what Node 20 has. */
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>;
};

/** Exports of the module beside its declared ones: the two hooks of its WebAssembly glue. */
interface EngineModule {
  SchemaEngine: typeof SchemaEngine;
  __wbg_set_wasm(exports: object): void;
}

let engineModule: EngineModule | null = null;

async function instantiate(): Promise<EngineModule> {
  if (engineModule !== null) return engineModule;
  const glue = (await import('@prisma/schema-engine-wasm/schema_engine_bg')) as unknown as EngineModule;
  const folder = dirname(createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg'));
  const bytes = readFileSync(join(folder, 'schema_engine_bg.wasm'));
  const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': { ...glue } });
  glue.__wbg_set_wasm(instance.exports);
  (instance.exports.__wbindgen_start as () => void)();
  engineModule = glue;
  return glue;
}

/** Prisma's adapter cuts a script at every semicolon, also within function bodies; its native engine does not. */
class WholeScripts extends PrismaPg {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    super(pool);
    this.#pool = pool;
  }

  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect();
    adapter.executeScript = async (script) => {
      await this.#pool.query(script);
    };
    return adapter;
  }
}
