import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** Processes of the last release run beside those of this build, with the functions of this build (decision 0024). */

const ROOT = join(import.meta.dirname, '../..');
const lines = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

it('has every SQL function of the last release, with the same arguments and result', () => {
  const released = lines(readFileSync(join(import.meta.dirname, 'released-functions.txt'), 'utf8'));
  const script = join(ROOT, 'scripts/function-signatures.mjs');
  const present = lines(execFileSync(process.execPath, [script], { encoding: 'utf8' }));
  expect(released.length).toBeGreaterThan(30);
  const missing = released.filter((signature) => !present.includes(signature));
  expect(missing, 'give the changed function a new name, and keep the old one for one release').toEqual([]);
});
