import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const TESTS = join(ROOT, 'test');

/** Modules that bring a database server or a browser, start the built service, or name the built client. */
const NEEDS_MORE = [
  /^test\/support\/(database|command|built-client)\.ts$/,
  /^test\/browser\/chromium\.ts$/,
  /^src\/db\/embedded(\/|\.)/,
];

const HOOK = /^(?:before|after)(?:All|Each)\(/m;
/** Its hook is repeated in each file, by support/shared-process.ts. */
const END_OF_FILE = 'test/support/end-of-file.ts';
/** A module that is replaced for one file would have been loaded by another before. */
const REPLACES_MODULES = /\bvi\.mock\(/;

/** Needs no database, but minutes: thousands of simulated runs. */
const LONG = 'test/simulation/';

/**
 * Test files that need neither a database nor `dist/`: those that import, themselves or through helpers, nothing that
 * brings either, and are not long. Paths from the root. A new test counts as one without being listed anywhere.
 */
export function unitTests(): string[] {
  const needsMore = (file: string) => [...helpersOf(file)].some((path) => NEEDS_MORE.some((more) => more.test(path)));
  return testFiles().filter((file) => !file.startsWith(LONG) && !needsMore(file));
}

/**
 * Tests that share a process of vitest: they replace no module, and no helper registers a hook of its own at its top level,
 * such as `afterAll`. vitest would call that only after the first file of the process, which is the one that loads the
 * helper.
 */
export function sharingTests(): string[] {
  const hasHook = (path: string) => path !== END_OF_FILE && HOOK.test(textOf(path));
  return testFiles().filter(
    (file) =>
      !file.startsWith(LONG) &&
      !REPLACES_MODULES.test(textOf(file)) &&
      ![...helpersOf(file)].some((path) => path !== file && hasHook(path)),
  );
}

export function testFiles(): string[] {
  return readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${file.split(sep).join('/')}`)
    .sort();
}

/** The file, what it imports, and what the imported files of `test/` import. */
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

/** The text of a file of `test/`. Others have none; a test may hold the text of a program, whose imports are not its own. */
function textOf(file: string): string {
  return file.startsWith('test/') && existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file), 'utf8') : '';
}
