// Builds the dashboard, with each file also as .br and .gz, and checks its size.
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { filesBelow, hashOf } from '../builds.mjs';
import { assertWithinBudget } from './budget.mjs';

const ROOT = join(import.meta.dirname, '../..');
const SOURCE = join(ROOT, 'packages/dashboard');
/** File in the folder of a built dashboard, with the hash of its sources. */
const STAMP = '.made-from';
/** The lock file names the version of each package. */
const INPUTS = [
  ...['packages/dashboard', 'packages/query', 'src/domain', 'schema.graphql'],
  ...['package.json', 'package-lock.json', 'scripts/dashboard'],
];
const COMPRESSED = /\.(js|css|svg|html)$/;

/**
 * Fills `folder` with the dashboard: from `earlier`, the last one that was built, if its sources were the same.
 * @param {string} folder
 * @param {string} earlier may be missing
 */
export async function makeDashboard(folder, earlier) {
  const startedAt = performance.now();
  const wanted = hashOf(ROOT, INPUTS);
  if (existsSync(join(earlier, STAMP)) && readFileSync(join(earlier, STAMP), 'utf8') === wanted) {
    cpSync(earlier, folder, { recursive: true });
    return;
  }
  // React has a second, larger build for every other value.
  process.env.NODE_ENV = 'production';
  const { build } = await import('vite');
  await build({
    configFile: join(SOURCE, 'vite.config.ts'),
    logLevel: 'warn',
    build: { outDir: folder, emptyOutDir: true },
  });
  const manifest = JSON.parse(readFileSync(join(folder, '.vite/manifest.json'), 'utf8'));
  rmSync(join(folder, '.vite'), { recursive: true });
  await compress(folder);
  const sizes = assertWithinBudget(folder, manifest);
  writeFileSync(join(folder, STAMP), wanted);
  console.log(`dashboard: built in ${Math.round(performance.now() - startedAt)} ms; ${sizes}`);
}

async function compress(folder) {
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  await Promise.all(
    filesBelow(folder)
      // The server writes the <base> of index.html, so it compresses that page itself.
      .filter((name) => COMPRESSED.test(name) && name !== 'index.html')
      .flatMap((name) => {
        const path = join(folder, name);
        const content = readFileSync(path);
        return [
          promisify(brotliCompress)(content, brotli).then((bytes) => writeFileSync(`${path}.br`, bytes)),
          promisify(gzip)(content, { level: 9 }).then((bytes) => writeFileSync(`${path}.gz`, bytes)),
        ];
      }),
  );
}
