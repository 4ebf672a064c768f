// Generates the Prisma client, the Pothos types and the dashboard's types of the GraphQL schema, unless they are
// current. git ignores them. `build`, `check` and every test run call this script, so no command finds them missing or
// stale.
//
// The code is generated in a temporary folder, by one process at a time, and each file is renamed into place: a
// compiler or a test that runs meanwhile finds every file, and none by halves. If nothing has changed, the script only
// compares a hash.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { alone } from './alone.mjs';
import { filesBelow } from './builds.mjs';
import { ensureSchemaTypes } from './dashboard/types.mjs';

const ROOT = join(import.meta.dirname, '..');
const SCHEMA = join(ROOT, 'prisma/schema.prisma');
/** Packages that the output depends on, besides the schema and this script. */
const GENERATORS = ['prisma', '@pothos/plugin-prisma'];
/** Development packages that a build needs. */
const TOOLS = ['prisma', '@gql.tada/internal', 'typescript', 'vite'];
/** File in each generated folder, with the hash of its sources. */
const STAMP = '.made-from';
const MODULES = join(ROOT, 'node_modules');

const missing = TOOLS.filter((name) => !existsSync(join(MODULES, name)));
if (missing.length > 0) {
  const why = existsSync(MODULES) ? ' (npm leaves them out with NODE_ENV=production or --omit=dev)' : '';
  console.error(
    `Development packages are missing${why}: ${missing.join(', ')}. Run \`npm ci --include=dev\`, and then this again.`,
  );
  process.exit(1);
}
const folders = outputFolders();
const wanted = hashOfInputs();
if (!isCurrent()) await alone(join(ROOT, '.builds/generating'), ensure);
await ensureSchemaTypes();

async function ensure() {
  if (isCurrent()) return;
  const staging = mkdtempSync(join(ROOT, '.builds/making-'));
  try {
    generateIn(staging);
    for (const folder of folders) moveInto(join(staging, folder), join(ROOT, folder));
    for (const folder of folders) writeFileSync(join(ROOT, folder, STAMP), wanted);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** Returns the generated folders, relative to the root. For Pothos the schema names a file; its folder counts. */
function outputFolders() {
  const outputs = [...readFileSync(SCHEMA, 'utf8').matchAll(/^\s*output\s*=\s*"(.+)"/gm)].map((match) => match[1]);
  return outputs
    .map((output) => relative(ROOT, join(dirname(SCHEMA), output)))
    .map((path) => (path.endsWith('.ts') ? dirname(path) : path));
}

function hashOfInputs() {
  const hash = createHash('sha256')
    .update(readFileSync(SCHEMA))
    .update(readFileSync(import.meta.filename));
  for (const name of GENERATORS) {
    hash.update(`${name}@${JSON.parse(readFileSync(join(MODULES, name, 'package.json'), 'utf8')).version}`);
  }
  return hash.digest('hex');
}

function isCurrent() {
  return folders.every((folder) => {
    const stamp = join(ROOT, folder, STAMP);
    return existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted;
  });
}

/** Runs `prisma generate` on a copy of the schema: the outputs that the schema names are relative to it. */
function generateIn(staging) {
  const schema = join(staging, relative(ROOT, SCHEMA));
  mkdirSync(dirname(schema));
  writeFileSync(schema, readFileSync(SCHEMA));
  const env = {
    ...process.env,
    // The generator of Pothos is a command of its package.
    PATH: [join(MODULES, '.bin'), process.env.PATH].filter(Boolean).join(delimiter),
    // Prisma would download its schema engine, which generates nothing: any file in its place is enough.
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    // No look for a later version of Prisma.
    CHECKPOINT_DISABLE: '1',
  };
  try {
    const command = [join(MODULES, 'prisma/build/index.js'), 'generate', '--no-hints'];
    execFileSync(process.execPath, command, { cwd: staging, env, stdio: 'pipe' });
  } catch (error) {
    throw new Error(`prisma generate failed:\n${error.stdout}${error.stderr}`);
  }
}

/** Replaces the files of a folder one by one, and removes those that are no longer made. */
function moveInto(made, folder) {
  const names = filesBelow(made);
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    renameSync(join(made, name), join(folder, name));
  }
  for (const name of filesBelow(folder)) if (!names.includes(name)) rmSync(join(folder, name));
}
