// Generates the Prisma client and Pothos' view of it. With `--check` it only says whether what is
// committed is current.
//
// `prisma generate` wants to download its schema engine, which generating does not use. Naming any
// existing file as that engine keeps it from the network (docs/rules.md, "Facts about the libraries").
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const committed = [join(root, 'src/db/generated'), join(root, 'src/graphql/generated')];
const prisma = join(dirname(createRequire(import.meta.url).resolve('prisma/package.json')), 'build/index.js');

function generate() {
  execFileSync(process.execPath, [prisma, 'generate', '--no-hints'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: join(root, 'package.json'), PRISMA_HIDE_UPDATE_MESSAGE: '1' },
  });
}

function snapshot() {
  const files = committed.flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }));
  return new Map(
    files
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path, readFileSync(path, 'utf8')]),
  );
}

function restore(before) {
  for (const folder of committed) rmSync(folder, { recursive: true });
  for (const [path, text] of before) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

if (process.argv.includes('--check')) {
  const before = snapshot();
  generate();
  const after = snapshot();
  restore(before);
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
