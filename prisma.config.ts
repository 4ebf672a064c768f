import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defineConfig } from 'prisma/config';

/** Settings of Prisma's command line, see "Prisma's commands" in CONTRIBUTING.md. The service does not read them. */

const ROOT = import.meta.dirname;
const words = process.argv.slice(2);
const isHelp = words.includes('--help') || words.includes('-h');
const [refused] = ['migrate dev', 'db push'].filter((command) => isCommand(...command.split(' ')));

// Prisma's models cannot express all that the migrations have. These two would remove the rest.
if (refused !== undefined && !isHelp) {
  console.error(
    `prisma ${refused} would drop indexes and the sequence of ids, and add foreign keys. ` +
      'CONTRIBUTING.md says under "Prisma\'s commands" how to write a migration.',
  );
  process.exit(1);
}

// As Prisma's documentation has it. Variables of the shell win.
if (existsSync(join(ROOT, '.env'))) process.loadEnvFile(join(ROOT, '.env'));

// Prisma downloads its schema engine before help and these commands, too, which never run it. With any program in its
// place they need no network.
const isEngineUnused = isHelp || ['generate', 'validate', 'format'].some((command) => isCommand(command));
if (isEngineUnused) process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;
// No usage data, and no look for later versions.
process.env.CHECKPOINT_DISABLE ??= '1';

const { DATABASE_URL, DATABASE_URL_FILE } = process.env;
const url = DATABASE_URL || (DATABASE_URL_FILE ? readFileSync(DATABASE_URL_FILE, 'utf8').trim() : embeddedUrl());

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: url === undefined ? {} : { url },
});

/**
 * Whether Prisma's command line was called with these words. Options and their values may stand before and between
 * them.
 */
function isCommand(...names: string[]): boolean {
  const places = names.map((name) => words.indexOf(name));
  return places.every((place, n) => place > (places[n - 1] ?? -1));
}

/** Returns the URL of the embedded PostgreSQL; undefined while no service runs it in this folder. */
function embeddedUrl(): string | undefined {
  const cluster = resolve(ROOT, process.env.DATA_DIR ?? '.data', 'postgres');
  try {
    const password = readFileSync(join(cluster, 'jobferry.password'), 'utf8').trim();
    const port = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[3];
    return `postgresql://jobferry:${password}@127.0.0.1:${port}/jobferry`;
  } catch {
    return undefined;
  }
}
