// Builds the dashboard into dist/dashboard/, with each file also as .br and .gz, and checks its size. If nothing has
// changed since the last build, it only compares a hash.
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'vite';
import { assertWithinBudget } from './budget.mjs';

const ROOT = join(import.meta.dirname, '../..');
const SOURCE = join(ROOT, 'src/dashboard');
const OUTPUT = join(ROOT, 'dist/dashboard');
/** File in the output folder, with the hash of its sources. */
const STAMP = '.made-from';
/** Sources besides the folder of the dashboard. The lock file names the version of each package. */
const MORE_INPUTS = [
  'package.json',
  'package-lock.json',
  'scripts/dashboard/build.mjs',
  'scripts/dashboard/budget.mjs',
];
const COMPRESSED = /\.(js|css|svg|html)$/;

// React has a second, larger build for every other value.
process.env.NODE_ENV = 'production';
const startedAt = performance.now();
const wanted = hashOfInputs();
if (!isCurrent()) {
  const staging = mkdtempSync(join(ROOT, '.generating-'));
  try {
    const folder = join(staging, 'dashboard');
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
    mkdirSync(join(ROOT, 'dist'), { recursive: true });
    rmSync(OUTPUT, { recursive: true, force: true });
    renameSync(folder, OUTPUT);
    console.log(`dashboard: built in ${Math.round(performance.now() - startedAt)} ms; ${sizes}`);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function hashOfInputs() {
  const hash = createHash('sha256').update(process.version);
  const sources = filesBelow(SOURCE).filter((path) => !/\.md$|generated/.test(path));
  for (const path of [...sources.map((name) => join(SOURCE, name)), ...MORE_INPUTS.map((name) => join(ROOT, name))]) {
    hash.update(path.slice(ROOT.length)).update('\0').update(readFileSync(path)).update('\0');
  }
  return hash.digest('hex');
}

function isCurrent() {
  const stamp = join(OUTPUT, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted;
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

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}
