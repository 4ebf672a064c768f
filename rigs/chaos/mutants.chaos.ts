import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MUTANTS, type Mutant } from './planted/mutants.ts';

/** Runs the test of an invariant in a copy of the repository with one bug in it: each has to fail. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Everything else is copied: tests of processes build the service, which needs also the documents. */
const LEFT_OUT = new Set(['node_modules', '.git', 'dist', '.builds', '.data'].map((name) => join(ROOT, name)));
let copy: string;

let sound: Result[];

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'jobferry-mutants-'));
  await cp(ROOT, copy, { recursive: true, filter: (path) => !LEFT_OUT.has(path) });
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  sound = await run(MUTANTS.map(({ seenBy }) => seenBy));
}, 600_000);

afterAll(() => rm(copy, { recursive: true, force: true }));

interface Result {
  title: string;
  status: string;
}

/** Runs tests in the copy as it is now. */
async function run(tests: Mutant['seenBy'][]): Promise<Result[]> {
  const node = (...args: string[]) =>
    promisify(execFile)(process.execPath, args, { cwd: copy, maxBuffer: 2 ** 26, timeout: 500_000 });
  const files = [...new Set(tests.map(({ file }) => file))];
  const names = tests.map(({ test }) => test.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const report = join(copy, 'report.json');
  const output = ['--reporter=json', `--outputFile=${report}`];
  // It exits with an error when a test fails, as one should.
  await node('node_modules/vitest/vitest.mjs', 'run', ...files, '-t', names, ...output).catch(() => undefined);
  const { testResults } = JSON.parse(await readFile(report, 'utf8')) as {
    testResults: { assertionResults: Result[] }[];
  };
  await rm(report);
  return testResults.flatMap(({ assertionResults }) => assertionResults);
}

/** Those of the test's name: one, or one for each row of its table. */
function statusesOf(results: Result[], { test }: Mutant['seenBy']): string[] {
  return [...new Set(results.filter(({ title }) => title.startsWith(test)).map(({ status }) => status))];
}

async function plant({ file, from, to }: Mutant): Promise<() => Promise<void>> {
  const path = join(copy, file);
  const source = await readFile(path, 'utf8');
  if (source.split(from).length !== 2) throw new Error(`${file} does not contain "${from}" exactly once`);
  await writeFile(
    path,
    source.replace(from, () => to),
  );
  return () => writeFile(path, source);
}

it.each(MUTANTS)('$id: $what', { timeout: 500_000 }, async (mutant) => {
  const { seenBy } = mutant;
  expect(statusesOf(sound, seenBy), 'without the bug').toEqual(['passed']);
  const heal = await plant(mutant);
  try {
    expect(statusesOf(await run([seenBy]), seenBy), 'with the bug').toContain('failed');
  } finally {
    await heal();
  }
});
