// Builds the service, unless nothing has changed since a build: see builds.mjs. With `--real`, dist is a folder
// afterwards, as packages and images need it.
//
// It does not check types: `npm run check` does, and takes ten times as long.
import { spawn } from 'node:child_process';
import { chmodSync, cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, hashOf, unlink } from './builds.mjs';
import { makeDashboard } from './dashboard/build.mjs';
import { makeGuide } from './guide/build.mjs';
import { pagesOf, picturesOf } from './guide/pages.mjs';

const ROOT = join(import.meta.dirname, '..');
/** The inputs of a build. The lock file names the version of each package. */
const INPUTS = [
  ...['src', 'packages/client/src', 'packages/dashboard', 'packages/query', 'prisma', 'schema.graphql'],
  ...['tsconfig.json', 'tsconfig.build.json', 'package.json', 'package-lock.json'],
  ...['scripts/build.mjs', 'scripts/generate.mjs', 'scripts/dashboard', 'scripts/guide'],
  ...[...pagesOf(ROOT), ...picturesOf(ROOT)],
];
/** A program has failed, and has printed why. */
const FAILED = new Error('failed');
/** The first file: the compiler keeps the folders of the sources, and people type this path. */
const MAIN = "#!/usr/bin/env node\nimport './src/main.js';\n";
/** Files that the service reads, beside `dist`. */
const BESIDE = ['package.json', 'prisma/functions', 'prisma/migrations'];

try {
  await ensureBuilt(ROOT, () => hashOf(ROOT, INPUTS), make);
} catch (error) {
  if (error !== FAILED) throw error;
  process.exit(1);
}
await import('./note-commit.mjs');
if (process.argv.includes('--real')) unlink(ROOT);

async function make(folder) {
  await run('scripts/generate.mjs');
  const dist = join(folder, 'dist');
  const compiled = run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck', '--outDir', dist);
  await allOf([
    compiled,
    makeDashboard(join(dist, 'dashboard-page'), join(ROOT, 'dist/dashboard-page')),
    compiled.then(() => makeGuide(join(dist, 'guide'), join(dist, 'src'))),
  ]);
  const main = join(dist, 'main.js');
  writeFileSync(main, MAIN);
  // npm makes it executable when it links the command, which it does once.
  chmodSync(main, 0o755);
  for (const name of BESIDE) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
}

/**
 * Waits for all, also if one fails: its error is thrown when none writes into the folder any more,
 * which is then removed.
 */
async function allOf(parts) {
  const ends = await Promise.allSettled(parts);
  const failed = ends.find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

function run(...args) {
  const program = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  return new Promise((resolve, reject) => program.once('exit', (code) => (code === 0 ? resolve() : reject(FAILED))));
}
