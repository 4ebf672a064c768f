import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { testFiles } from './support/test-kinds.ts';

/** docs/testing.md maps subjects to tests: the paths that it names exist, and it names every folder and e2e test. */

const ROOT = join(import.meta.dirname, '..');
const named = new Set(
  [...readFileSync(join(ROOT, 'docs/testing.md'), 'utf8').matchAll(/`((?:src|test|rigs)\/[^`]+?)\/?`/g)].map(
    ([, path = '']) => path,
  ),
);

it('names only what is there', () => {
  expect(named.size).toBeGreaterThan(80);
  expect([...named].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

it.each(['src', 'test', 'rigs'])('names each folder and file right below %s', (folder) => {
  const present = readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`);
  expect(present.filter((path) => !named.has(path) && path !== 'test/support')).toEqual([]);
});

it('names each test of whole processes', () => {
  const wholeProcesses = testFiles().filter((file) => file.startsWith('test/e2e/'));
  expect(wholeProcesses.filter((file) => !named.has(file))).toEqual([]);
});
