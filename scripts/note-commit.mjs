// Writes dist/commit, which `--version`, `doctor` and the metrics show: two builds of one version are not the same. It
// has the commit from which git says that this is built, or that of the variable COMMIT, for a build from a copy
// without git. Otherwise there is no such file. Nothing else of the moment or the machine is in it, so a build can be
// repeated. A process reads it once, when it starts.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const OUTPUT = join(ROOT, 'dist/commit');

const commit = process.env.COMMIT?.trim() || ofGit();
if (commit !== null && !/^[0-9a-f]{7,64}(-changed)?$/.test(commit)) {
  console.error('COMMIT is not the hash of a commit');
  process.exit(1);
}
const noted = existsSync(OUTPUT) ? readFileSync(OUTPUT, 'utf8').trim() : null;
if (noted !== commit) {
  if (commit === null) rmSync(OUTPUT);
  else {
    // A process that starts at this moment reads the old file or the new one.
    writeFileSync(`${OUTPUT}.${process.pid}`, `${commit}\n`);
    renameSync(`${OUTPUT}.${process.pid}`, OUTPUT);
  }
}

/** Returns null outside of git, and in a copy within another repository. */
function ofGit() {
  try {
    if (realpathSync(git('rev-parse', '--show-toplevel')) !== realpathSync(ROOT)) return null;
    const isChanged = git('status', '--porcelain', '--untracked-files=no') !== '';
    return `${git('rev-parse', 'HEAD')}${isChanged ? '-changed' : ''}`;
  } catch {
    return null;
  }
}

function git(...args) {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}
