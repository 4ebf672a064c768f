import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { LONG } from './long-tests.ts';

const ROOT = join(import.meta.dirname, '../..');
const TESTS = join(ROOT, 'test');

/** Modules that bring a database server or a browser, start the built service, or name the built client. */
const NEEDS_MORE = [
  /^test\/support\/(database|built)\.ts$/,
  /^test\/browser\/chromium\.ts$/,
  /^src\/db\/embedded(\/|\.)/,
];

const HOOK = /^(?:before|after)(?:All|Each)\(/m;
/** Its hook is repeated in each file, by support/shared-process.ts. */
const END_OF_FILE = 'test/support/end-of-file.ts';
/** A module that is replaced for one file would have been loaded by another before. */
const REPLACES_MODULES = /\bvi\.mock\(/;

/** Thousands of simulated runs: each file has a process of its own, and none of them is a unit test. */
const SIMULATION = 'test/simulation/';

/** How vitest runs a file; `vitest.config.ts` makes projects of them. */
export type Kind = 'unit' | 'database' | 'isolated' | 'long' | 'long-isolated';

export function kindOf(file: string): Kind {
  if (LONG.some(([path]) => file.match(`^${path}`))) return canShare(file) ? 'long' : 'long-isolated';
  if (!canShare(file)) return 'isolated';
  return needsNothing(file) ? 'unit' : 'database';
}

/**
 * Neither a database nor `dist/` is needed: the file imports, itself or through helpers, nothing that brings either. A
 * new test counts as a unit test without being listed anywhere.
 */
function needsNothing(file: string): boolean {
  return ![...helpersOf(file)].some((path) => NEEDS_MORE.some((more) => more.test(path)));
}

/**
 * Files that can share a process load what they import once, which is most of the time that they take. They replace no
 * module, and no helper registers a hook of its own at its top level, such as `afterAll`: vitest would call it only
 * after the first file of the process, which is the one that loads the helper.
 */
function canShare(file: string): boolean {
  const hasHook = (path: string) => path !== END_OF_FILE && HOOK.test(textOf(path));
  return (
    !file.startsWith(SIMULATION) &&
    !REPLACES_MODULES.test(textOf(file)) &&
    ![...helpersOf(file)].some((path) => path !== file && hasHook(path))
  );
}

/** Every test file, as a path from the root. */
export function testFiles(): string[] {
  return readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .map((file) => `test/${file.split(sep).join('/')}`)
    .sort();
}

/** The file, what it imports, and what the imported files of `test/` and `rigs/` import. */
function helpersOf(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, specifier = ''] of textOf(file).matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
    helpersOf(
      relative(ROOT, join(ROOT, dirname(file), specifier))
        .split(sep)
        .join('/'),
      found,
    );
  }
  return found;
}

/**
 * The text of a file of `test/` or `rigs/`. Others have none; a test may hold the text of a program,
 * whose imports are not its own.
 */
function textOf(file: string): string {
  return /^(test|rigs)\//.test(file) && existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file), 'utf8') : '';
}
