import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { builtClient, builtService } from '../support/built.ts';
import { type Figures, figure } from './figures.ts';

const ROOT = join(import.meta.dirname, '../..');
const KB = 1000;

/**
 * Sizes of the packages and of the dashboard. Each change of the code changes them a little, so they have a tolerance;
 * the limits are those of the build of the dashboard and of test/client/package.test.ts.
 */
export async function weighSizes(): Promise<Figures> {
  builtService();
  builtClient();
  const assets = join(ROOT, 'dist/dashboard-page/assets');
  const scripts = (await readdir(assets)).filter((file) => file.endsWith('.js.gz'));
  return {
    sizes: {
      'packages that the server brings': figure(await packagesBrought(), 'packages'),
      'package of the server, unpacked': figure((await unpackedBytes(ROOT)) / KB, 'kB', 0.03),
      'package of the client, unpacked': figure((await unpackedBytes(join(ROOT, 'packages/client'))) / KB, 'kB', 0.03),
      'scripts of the dashboard, as sent': figure(
        (await bytesOf(scripts.map((file) => join(assets, file)))) / KB,
        'kB',
        0.03,
      ),
    },
  };
}

/** Packages that are installed with the server, those of other platforms too. */
async function packagesBrought(): Promise<number> {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  return Object.entries(packages).filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional).length;
}

/** Bytes of the files that `npm pack` would take. It would build the package again. */
async function unpackedBytes(folder: string): Promise<number> {
  const { files } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { files: string[] };
  const lists = await Promise.all(
    [...files, 'package.json', 'README.md', 'LICENSE'].map((name) => filesIn(join(folder, name))),
  );
  return bytesOf([...new Set(lists.flat())]);
}

async function filesIn(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function bytesOf(paths: readonly string[]): Promise<number> {
  return (await Promise.all(paths.map(async (path) => (await stat(path)).size))).reduce((sum, size) => sum + size, 0);
}
