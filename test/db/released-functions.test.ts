import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isEarlier } from '../../src/domain/release.ts';
import { OLDEST_BESIDE, VERSION } from '../../src/process/version.ts';

/** Processes of the last release run beside those of this build, with the functions of this build (decision 0024). */

const ROOT = join(import.meta.dirname, '../..');
/** Releases of the series of the version (first two numbers), and of the last one before it. */
function allowedBeside(version: string, released: readonly string[]): string[] {
  const series = (one: string) => one.replace(/\.\d+$/, '');
  const earlier = released.filter((one) => isEarlier(one, version)).sort((a, b) => (isEarlier(a, b) ? -1 : 1));
  const before = earlier.findLast((one) => series(one) !== series(version)) ?? version;
  return [...earlier.filter((one) => [version, before].map(series).includes(series(one))), version];
}

const lines = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

it('lets processes of the last release run beside it, and of none before', () => {
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  const released = [...changelog.matchAll(/^## (\d+\.\d+\.\d+)\b/gm)].map(([, version = '']) => version);
  const allowed = allowedBeside(VERSION, released);
  expect(VERSION, 'three numbers, which releases are compared by').toMatch(/^\d+\.\d+\.\d+$/);
  expect(allowed, 'OLDEST_BESIDE in src/process/version.ts').toContain(OLDEST_BESIDE);
});

it.each([
  ['0.1.0', [], ['0.1.0']],
  ['0.2.0', ['0.1.0'], ['0.1.0', '0.2.0']],
  ['0.3.0', ['0.1.0', '0.2.0', '0.2.1'], ['0.2.0', '0.2.1', '0.3.0']],
  ['0.3.1', ['0.1.0', '0.2.0', '0.3.0'], ['0.2.0', '0.3.0', '0.3.1']],
])('knows which releases %s may name', (version, released, allowed) => {
  expect(allowedBeside(version, released)).toEqual(allowed);
});

it('has every SQL function of the last release, with the same arguments and result', () => {
  const released = lines(readFileSync(join(import.meta.dirname, 'released-functions.txt'), 'utf8'));
  const script = join(ROOT, 'scripts/function-signatures.mjs');
  const present = lines(execFileSync(process.execPath, [script], { encoding: 'utf8' }));
  expect(released.length).toBeGreaterThan(30);
  const missing = released.filter((signature) => !present.includes(signature));
  expect(missing, 'give the changed function a new name, and keep the old one for one release').toEqual([]);
});
