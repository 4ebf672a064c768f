// Writes the hash of prisma/functions as the last line of prisma/functions/versions. It appends a line if the last one
// is committed, and replaces the last one otherwise.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readFunctions } from '../dist/src/db/schema/sql-functions.js';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'prisma/functions');

/** Returns the number of the last line at HEAD; 0 if the file was never committed. */
function committedVersion() {
  const options = { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
  try {
    const text = execFileSync('git', ['show', 'HEAD:prisma/functions/versions'], options);
    return Number.parseInt(text.trimEnd().split('\n').at(-1), 10);
  } catch {
    return 0;
  }
}

const file = join(folder, 'versions');
const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
const { version, hash } = readFunctions(folder);
if (lines.at(-1) === `${version} ${hash}`) {
  console.log(`unchanged: ${lines.at(-1)}`);
} else {
  const next = committedVersion() + 1;
  if (version === next) lines.pop();
  lines.push(`${next} ${hash}`);
  writeFileSync(file, `${lines.join('\n')}\n`);
  console.log(`written: ${lines.at(-1)}`);
}
