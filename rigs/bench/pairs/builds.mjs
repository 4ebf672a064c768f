import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { alone } from '../../../scripts/alone.mjs';

const ROOT = join(import.meta.dirname, '../../..');
/** Builds of commits, which stay for the next run: some have packages of their own, and take minutes. */
const COMMITS = join(ROOT, '.builds/commits');
const KEPT = 2;

/** There is no build to compare with, for a reason that is no fault of the present one. */
export class NoBuild extends Error {}

/**
 * The build of the working tree, in the folder that no later build changes.
 * Its `commit` ends in `-changed` if files were changed.
 */
export function presentBuild() {
  const dist = realpathSync(join(ROOT, 'dist'));
  const noted = join(dist, 'commit');
  const commit = existsSync(noted) ? readFileSync(noted, 'utf8').trim() : 'unknown-changed';
  return { name: commit.replace(/(?<=^\w{8})\w+/, ''), commit, dist };
}

/** @param against a folder with a build, or a name of a commit @throws NoBuild */
export async function otherBuild(against) {
  const given = [resolve(against, 'dist'), resolve(against)].find((folder) => existsSync(join(folder, 'main.js')));
  if (given !== undefined) return { name: basename(resolve(against)), dist: realpathSync(given) };
  const commit = commitOf(against);
  if (commit === null) {
    throw new NoBuild(`there is no commit ${against} here to compare with, as in a shallow clone: fetch the history, or give --against`);
  }
  const folder = join(COMMITS, commit);
  await alone(join(COMMITS, 'lock'), () => build(commit, folder));
  utimesSync(folder, new Date(), new Date());
  removeOld();
  return { name: commit.slice(0, 8), dist: join(folder, 'dist') };
}

function build(commit, folder) {
  if (existsSync(join(folder, 'dist/main.js'))) return;
  // A part of one, as after an interrupted removal.
  rmSync(folder, { recursive: true, force: true });
  console.log(`Building ${commit} for this and later runs; this may take minutes.`);
  const making = join(COMMITS, `making-${process.pid}`);
  try {
    execFileSync(process.execPath, [join(ROOT, 'scripts/build-commit.mjs'), commit, making], { stdio: ['ignore', 'ignore', 'inherit'] });
  } catch {
    throw new NoBuild(`${commit} cannot be built here; the lines above say why`);
  }
  renameSync(making, folder);
}

function removeOld() {
  const commits = readdirSync(COMMITS).filter((name) => /^[0-9a-f]{40}$/.test(name));
  const usedAt = (name) => statSync(join(COMMITS, name)).mtimeMs;
  const old = commits.sort((one, other) => usedAt(other) - usedAt(one)).slice(KEPT);
  for (const name of old) rmSync(join(COMMITS, name), { recursive: true, force: true });
}

/** Null if there is no such commit. */
function commitOf(name) {
  try {
    return git('rev-parse', '--verify', '--quiet', `${name}^{commit}`);
  } catch {
    return null;
  }
}

function git(...args) {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}
