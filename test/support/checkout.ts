import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, readdir, readFile, realpath, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const MODULES = join(ROOT, 'node_modules');

/**
 * Copies the repository as `git clone` and `npm ci` leave it: nothing is built.
 * @param whole with tests and documents
 */
export async function checkOut(to: string, { whole = false }: { whole?: boolean } = {}): Promise<void> {
  await mkdir(to);
  const paths = whole ? ['.'] : ['.', ':!test', ':!docs'];
  const listing = ['ls-files', '-z', '-co', '--exclude-standard', '--', ...paths];
  const { stdout } = await run('git', listing, { cwd: ROOT, maxBuffer: 2 ** 26 });
  for (const file of stdout.split('\0').filter((name) => name !== '')) {
    await mkdir(dirname(join(to, file)), { recursive: true });
    await copyFile(join(ROOT, file), join(to, file));
  }
  await symlink(MODULES, join(to, 'node_modules'), 'junction');
}

/** Builds and packs the package in a folder, and returns the path of the tarball. */
export function pack(folder: string, destination: string): Promise<string> {
  return packWith([], folder, destination);
}

/**
 * Packs what `npm test` has built, which takes a second instead of twenty. `npm run rig packages` packs a checkout.
 * @param folder of the package; what is a link there, such as `dist`, is a file or folder in the package
 */
export async function packBuilt(folder: string, destination: string): Promise<string> {
  const { files } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { files: string[] };
  const copy = join(destination, 'copy');
  for (const name of [...files, 'package.json', 'README.md', 'LICENSE']) {
    await cp(await realpath(join(folder, name)), join(copy, name), { recursive: true });
  }
  return await packWith(['--ignore-scripts'], copy, destination);
}

async function packWith(options: string[], folder: string, destination: string): Promise<string> {
  await mkdir(destination, { recursive: true });
  await run('npm', ['pack', ...options, '--pack-destination', destination], { cwd: folder });
  const name = (await readdir(destination)).find((file) => file.endsWith('.tgz'));
  if (name === undefined) throw new Error(`npm pack left no tarball in ${destination}`);
  return join(destination, name);
}
