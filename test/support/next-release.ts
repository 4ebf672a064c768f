import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Release } from '../../src/domain/release.ts';
import { builtService } from './built.ts';
import { atEndOfFile } from './end-of-file.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * A later release: the present build with another version, one migration more, and SQL functions that differ.
 * @param earlier versions of releases that this function has made before: it has their migrations, too
 * @returns its `dist/main.js`
 */
export async function makeRelease(
  { version, oldestBeside }: Release,
  earlier: readonly string[] = [],
): Promise<string> {
  builtService();
  const folder = await mkdtemp(join(tmpdir(), `jobferry-${version}-`));
  atEndOfFile(() => rm(folder, { recursive: true, force: true }));
  for (const name of ['dist', 'prisma/migrations', 'prisma/functions']) {
    await cp(await realpath(join(ROOT, name)), join(folder, name), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await edit(join(ROOT, 'package.json'), join(folder, 'package.json'), /("version": )"[^"]+"/, `$1"${version}"`);
  const versionFile = join(folder, 'dist/src/process/version.js');
  await edit(versionFile, versionFile, /(OLDEST_BESIDE = )'[^']+'/, `$1'${oldestBeside}'`);
  for (const one of [...earlier, version]) await addMigration(folder, one);
  await changeFunctions(folder, version);
  return join(folder, 'dist/main.js');
}

/** The migration of a release that `makeRelease` makes. */
export function migrationOf(version: string): string {
  return `29990101000000_release_${version.replaceAll('.', '_')}`;
}

async function addMigration(folder: string, version: string): Promise<void> {
  const migration = join(folder, 'prisma/migrations', migrationOf(version));
  await mkdir(migration);
  const table = `release_${version.replaceAll('.', '_')}`;
  await writeFile(join(migration, 'migration.sql'), `create table ${table} (id text primary key);\n`);
}

/** The number grows with the version, as it does between releases. */
async function changeFunctions(folder: string, version: string): Promise<void> {
  const functions = join(folder, 'prisma/functions');
  await writeFile(join(functions, 'zzz.sql'), `-- ${version}\n`);
  const versions = join(functions, 'versions');
  const number = 1000 + Number(version.replaceAll('.', ''));
  await writeFile(versions, `${await readFile(versions, 'utf8')}${number} ${'0'.repeat(64)}\n`);
}

async function edit(from: string, to: string, pattern: RegExp, replacement: string): Promise<void> {
  const text = await readFile(from, 'utf8');
  if (!pattern.test(text)) throw new Error(`${from} has nothing like ${pattern}`);
  await writeFile(to, text.replace(pattern, replacement));
}
