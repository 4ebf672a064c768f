// Generates the Prisma client. With `--check` it only says whether the committed one is current.
//
// `prisma generate` wants to download its schema engine, which generating does not use. Naming any
// existing file as that engine keeps it from the network (DESIGN 5).
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const committed = join(root, 'src/db/generated');
const prisma = join(dirname(createRequire(import.meta.url).resolve('prisma/package.json')), 'build/index.js');

function generate() {
  execFileSync(process.execPath, [prisma, 'generate', '--no-hints'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: join(root, 'package.json'), PRISMA_HIDE_UPDATE_MESSAGE: '1' },
  });
}

function snapshot(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map((entry) => [
      join(entry.parentPath, entry.name),
      readFileSync(join(entry.parentPath, entry.name), 'utf8'),
    ]),
  );
}

if (process.argv.includes('--check')) {
  const before = snapshot(committed);
  const backup = mkdtempSync(join(root, 'node_modules/.generated-'));
  cpSync(committed, backup, { recursive: true });
  generate();
  const after = snapshot(committed);
  rmSync(committed, { recursive: true });
  cpSync(backup, committed, { recursive: true });
  rmSync(backup, { recursive: true });
  const stale = [...new Set([...before.keys(), ...after.keys()])].filter(
    (file) => before.get(file) !== after.get(file),
  );
  if (stale.length > 0) {
    console.error(`The generated Prisma client is stale, run \`npm run generate\`:\n${stale.join('\n')}`);
    process.exit(1);
  }
} else {
  generate();
}
