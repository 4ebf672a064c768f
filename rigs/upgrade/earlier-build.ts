import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const VERSIONS = 'prisma/functions/versions';

export interface EarlierBuild {
  main: string;
  /** Lines of its `prisma/functions/versions`. */
  versions: string[];
  remove(): Promise<void>;
}

/** Null if git fails, for example because there is no such commit or file. */
async function git(...args: string[]): Promise<string | null> {
  const done = await run('git', args, { cwd: ROOT, maxBuffer: 2 ** 26 }).catch(() => null);
  return done === null ? null : done.stdout.trim();
}

const versionLines = (text: string) => text.split('\n').filter((line) => /^\d/.test(line));
const commitOf = (name: string) => git('rev-parse', '--verify', '--quiet', `${name}^{commit}`);
const versionsAt = async (name: string) => versionLines((await git('show', `${name}:${VERSIONS}`)) ?? '');

/** Lines of `prisma/functions/versions` of the present build, committed or not. */
export async function presentVersions(): Promise<string[]> {
  return versionLines(await readFile(join(ROOT, VERSIONS), 'utf8'));
}

/**
 * `UPGRADE_FROM`, or the last tag, or the last commit with an earlier version of the SQL functions.
 * @returns null before the first tag while the functions have their first version: nothing is to be compatible with
 * @throws Error if there is none, or if the last tag has the same functions: then old processes would run with their
 * own
 */
export async function earlierCommit(): Promise<string | null> {
  const given = process.env.UPGRADE_FROM ?? '';
  if (given !== '') {
    const commit = await commitOf(given);
    if (commit === null) throw new Error(`UPGRADE_FROM: there is no commit ${given}`);
    return commit;
  }
  const present = await presentVersions();
  const tag = await git('describe', '--tags', '--abbrev=0');
  if (tag === null && present.length === 1) return null;
  const commit = await commitOf(tag ?? (await withEarlierFunctions(present)));
  if (commit === null) throw new Error(`git finds no commit ${tag}`);
  if (tag !== null && (await versionsAt(commit)).at(-1) === present.at(-1)) {
    throw new Error(
      `the last tag, ${tag}, has the same SQL functions as this build (version ${present.length}), so a run beside it ` +
        'proves nothing about them: set UPGRADE_FROM to a commit with others, or to the tag to run it all the same',
    );
  }
  return commit;
}

/** Before the first tag: HEAD if the functions were changed since, or a parent of a commit that changed them. */
async function withEarlierFunctions(present: string[]): Promise<string> {
  const parents = (await git('log', '--format=%P', '--', VERSIONS)) ?? '';
  for (const commit of ['HEAD', ...parents.split(/\s+/).filter(Boolean)]) {
    const versions = await versionsAt(commit);
    // Branches may have given one number to two states. Only the one whose line was kept is an earlier version.
    const isEarlier = versions.length < present.length && versions.every((line, index) => line === present[index]);
    if (versions.length > 0 && isEarlier) return commit;
  }
  throw new Error(
    'there is no tag, and no commit with an earlier version of the SQL functions (a shallow clone has none): ' +
      'set UPGRADE_FROM to a commit, or fetch the history',
  );
}

/** Builds the commit in a folder of its own. */
export async function buildEarlier(commit: string): Promise<EarlierBuild> {
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-earlier-'));
  const script = join(ROOT, 'scripts/build-commit.mjs');
  await run(process.execPath, [script, commit, folder], { maxBuffer: 2 ** 26 });
  const remove = () => rm(folder, { recursive: true, force: true });
  return { main: join(folder, 'dist/main.js'), versions: await versionsAt(commit), remove };
}
