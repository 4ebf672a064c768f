// Generates the Prisma client, the Pothos types and the dashboard's types of the GraphQL schema, unless they are current.
// git ignores them. `build`, `check` and every test run call this script, so no command finds them missing or stale.
//
// The code is generated in a temporary folder, by one process at a time, and each file is renamed into place: a compiler or a
// test that runs meanwhile finds every file, and none by halves. If nothing has changed, the script only compares a hash.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { alone } from './alone.mjs';
import { filesBelow } from './builds.mjs';
import { ensureSchemaTypes } from './dashboard/types.mjs';

const ROOT = join(import.meta.dirname, '..');
const SCHEMA = join(ROOT, 'prisma/schema.prisma');
/** Packages that the output depends on, besides the schema and this script. */
const GENERATORS = ['@prisma/client-generator-ts', '@prisma/internals', '@pothos/plugin-prisma'];
/** Development packages that a build needs. */
const TOOLS = ['@prisma/client-generator-ts', '@gql.tada/internal', 'typescript', 'vite'];
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
    await generateIn(staging);
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

async function generateIn(staging) {
  const schema = join(staging, relative(ROOT, SCHEMA));
  mkdirSync(dirname(schema));
  writeFileSync(schema, readFileSync(SCHEMA));
  // Loaded only when they are needed. The package `prisma`, the command line, would bring 200 MB that nothing here uses.
  const require = createRequire(import.meta.url);
  const { getGenerators, loadSchemaContext } = require('@prisma/internals');
  const { PrismaClientTsGenerator } = require('@prisma/client-generator-ts');
  const generators = await getGenerators({
    schemaContext: await loadSchemaContext({ schemaPath: { cliProvidedPath: schema }, printLoadMessage: false }),
    cliCommand: 'prisma',
    skipDownload: true,
    registry: {
      'prisma-client': { type: 'in-process', generator: new PrismaClientTsGenerator() },
      'prisma-pothos-types': {
        type: 'rpc',
        generatorPath: join(MODULES, '@pothos/plugin-prisma/bin/generator.js'),
        isNode: true,
      },
    },
  });
  for (const generator of generators) {
    await generator.generate();
    generator.stop();
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
