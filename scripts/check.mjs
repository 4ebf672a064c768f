// `npm run check`: types, lint and format. With `main` without the types of the dashboard and of its tests in a
// browser, a third of all; with `browser` only these.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const TYPES = ['node_modules/typescript/bin/tsc', '-b', '--noEmit', '--checkers', '1'];
const CLIENT = ['packages/client', 'packages/client/tsconfig.testing.json'];
const MAIN = [
  [...TYPES, '.', ...CLIENT],
  ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings'],
];
const BROWSER = [[...TYPES, 'packages/dashboard', 'test/browser']];
const PARTS = { main: MAIN, browser: BROWSER, all: [...MAIN, ...BROWSER] };

const part = PARTS[process.argv[2] ?? 'all'];
if (part === undefined) throw new Error(`check takes ${Object.keys(PARTS).join(', ')}`);
for (const args of [['scripts/generate.mjs'], ...part]) {
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
