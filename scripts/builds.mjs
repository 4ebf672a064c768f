// Builds of this repository: each is a folder `.builds/HASH` that nothing changes any more, and `dist` is a link to the
// newest one. A process goes on in the folder that it was started from, because Node resolves the link when it loads
// the main module.
//
//   .builds/HASH/dist/…       what runs, with what it reads beside it, at its places in an installed package
//   .builds/HASH/running/PID  a process that runs from here (src/main.ts)
import { createHash, randomUUID } from 'node:crypto';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { alone, isAlive } from './alone.mjs';

/** Builds that stay, the newest ones. A process that starts has not yet left its file. */
const KEPT = 3;
/** Younger ones stay, too: tests and benchmarks load parts of a build, and leave no file. */
const KEPT_MS = 3_600_000;

/**
 * Makes `dist` a link to the build of the present sources, and builds it if there is none.
 *
 * @param {string} root the repository
 * @param {() => string} hash of everything that the build is made from
 * @param {(folder: string) => Promise<void>} make fills a new folder; its `dist` is what runs
 */
export async function ensureBuilt(root, hash, make) {
  const folder = join(root, '.builds');
  if (isLinked(root, hash())) return;
  await alone(join(folder, 'lock'), async () => {
    let name = hash();
    while (!existsSync(join(folder, name))) {
      const making = join(folder, `making-${randomUUID()}`);
      try {
        mkdirSync(join(making, 'running'), { recursive: true });
        await make(making);
        // Sources that were saved meanwhile may be in it or not.
        if (hash() === name) renameSync(making, join(folder, name));
        else name = hash();
      } finally {
        rmSync(making, { recursive: true, force: true });
      }
    }
    utimesSync(join(folder, name), new Date(), new Date());
    if (!isLinked(root, name)) link(root, name);
    removeOld(folder);
  });
}

/** Replaces `dist` by a folder, for what takes no links. The next build makes it a link again. */
export function unlink(root) {
  const copy = join(root, `.builds/making-${randomUUID()}`);
  cpSync(realpathSync(join(root, 'dist')), copy, { recursive: true });
  rmSync(join(root, 'dist'), { recursive: true });
  renameSync(copy, join(root, 'dist'));
}

function isLinked(root, name) {
  const dist = join(root, 'dist');
  const built = join(root, '.builds', name, 'dist');
  return existsSync(built) && existsSync(dist) && realpathSync(dist) === realpathSync(built);
}

function link(root, name) {
  const dist = join(root, 'dist');
  const folder = join(root, '.builds', name, 'dist');
  const next = join(root, '.builds', `link-${process.pid}`);
  rmSync(next, { force: true });
  // A link that is relative survives a move of the repository. Windows has junctions, which cannot be relative.
  symlinkSync(process.platform === 'win32' ? folder : relative(root, folder), next, 'junction');
  const isFolder = lstatSync(dist, { throwIfNoEntry: false })?.isDirectory() === true;
  const gone = join(root, '.builds', `gone-${process.pid}`);
  // A folder is left by `unlink`, or by the build of an earlier version. Windows renames over no junction.
  if (isFolder || process.platform === 'win32') renameSync(dist, gone);
  renameSync(next, dist);
  rmSync(gone, { recursive: true, force: true });
}

/** Removes builds that no process runs from, and what builds that were interrupted have left. */
function removeOld(folder) {
  const old = (name) => Date.now() - statSync(join(folder, name)).mtimeMs > KEPT_MS;
  const names = readdirSync(folder);
  const builds = names.filter((name) => /^[0-9a-f]{16}$/.test(name));
  const newestFirst = builds.sort((a, b) => statSync(join(folder, b)).mtimeMs - statSync(join(folder, a)).mtimeMs);
  const running = new Set(builds.filter((name) => isRunning(join(folder, name))));
  const unused = newestFirst.slice(KEPT).filter((name) => old(name) && !running.has(name));
  const interrupted = names.filter((name) => /^(making|gone)-/.test(name) && old(name));
  for (const name of [...unused, ...interrupted]) {
    // A build is there as a whole or not at all, even if this process is killed here.
    const gone = join(folder, `gone-${name}`);
    renameSync(join(folder, name), gone);
    rmSync(gone, { recursive: true, force: true });
  }
}

function isRunning(build) {
  const running = join(build, 'running');
  // A killed process leaves its file, and its number will be that of another process one day.
  for (const pid of readdirSync(running)) if (!isAlive(Number(pid))) rmSync(join(running, pid));
  return readdirSync(running).length > 0;
}

/** Returns a hash of the names and contents of files, and of all files in folders, but documents and generated code. */
export function hashOf(root, paths) {
  const hash = createHash('sha256');
  for (const path of paths) {
    for (const file of statSync(join(root, path)).isDirectory() ? filesBelow(join(root, path)) : ['']) {
      hash
        .update(`${path}/${file}\0`)
        .update(readFileSync(join(root, path, file)))
        .update('\0');
    }
  }
  return hash.digest('hex').slice(0, 16);
}

/** Returns the paths of files, relative to the folder, in order. */
export function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((path) => !/\.md$|(^|\/)generated\//.test(path))
    .sort();
}
