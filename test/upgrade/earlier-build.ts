import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const VERSIONS = 'prisma/functions/versions';

export interface EarlierBuild {
  commit: string;
  main: string;
  /** Its `prisma/functions/versions`. */
  versions: string;
  remove(): Promise<void>;
}

async function git(...args: string[]): Promise<string | null> {
  const done = await run('git', args, { cwd: ROOT, maxBuffer: 2 ** 26 }).catch(() => null);
  return done === null ? null : done.stdout.trim();
}

/** `UPGRADE_FROM`, or the last tag, or else the commit before this one; null if that one has no files of functions. */
export async function earlierCommit(): Promise<string | null> {
  const given = process.env.UPGRADE_FROM;
  const name = given ?? (await git('describe', '--tags', '--abbrev=0')) ?? 'HEAD~1';
  const commit = await git('rev-parse', '--verify', '--quiet', `${name}^{commit}`);
  if (commit === null && given !== undefined) throw new Error(`UPGRADE_FROM: there is no commit ${given}`);
  if (commit === null || (await git('cat-file', '-e', `${commit}:${VERSIONS}`)) === null) return null;
  return commit;
}

/** Builds the commit in a folder of its own, with the installed packages if it needs the same ones. */
export async function buildEarlier(commit: string): Promise<EarlierBuild> {
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-earlier-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const archive = join(folder, 'source.tar');
    await run('git', ['archive', '--output', archive, commit], { cwd: ROOT });
    await run('tar', ['-xf', archive, '-C', folder]);
    const lock = (root: string) => readFile(join(root, 'package-lock.json'), 'utf8');
    if ((await lock(folder)) === (await lock(ROOT))) {
      await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    } else {
      await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, maxBuffer: 2 ** 26 });
    }
    await run('npm', ['run', '--silent', 'build'], { cwd: folder, maxBuffer: 2 ** 26 });
    const versions = await readFile(join(folder, VERSIONS), 'utf8');
    return { commit, main: join(folder, 'dist/main.js'), versions, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
