// Builds a commit in a new folder, by the scripts of that commit, to run it beside the present build:
//
//   node scripts/build-commit.mjs COMMIT FOLDER
//
// It links the installed packages if the commit needs the same ones, else it installs them.
// If it fails, it removes the folder.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const [commit = '', folder = ''] = process.argv.slice(2);
const lockIn = (root) => readFileSync(join(root, 'package-lock.json'), 'utf8');
// Their output goes to the error stream, because standard output is the report of the caller.
const run = (cwd, ...[program, ...args]) => execFileSync(program, args, { cwd, stdio: ['ignore', 2, 2] });

mkdirSync(folder, { recursive: true });
try {
  run(ROOT, 'git', 'archive', '--output', join(folder, 'source.tar'), commit);
  run(folder, 'tar', '-xf', 'source.tar');
  rmSync(join(folder, 'source.tar'));
  if (lockIn(folder) === lockIn(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  else run(folder, 'npm', 'ci', '--no-audit', '--no-fund');
  run(folder, 'npm', 'run', '--silent', 'build');
} catch (error) {
  rmSync(folder, { recursive: true, force: true });
  console.error(`${commit} cannot be built: ${error.message}`);
  process.exit(1);
}
