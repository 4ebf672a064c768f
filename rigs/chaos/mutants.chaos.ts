import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkOut } from '../../test/support/checkout.ts';
import { MUTANTS, type Mutant } from './planted/mutants.ts';

/** Runs the test of an invariant in a copy of the repository with one bug in it: each has to fail. */

let folder: string;
let copy: string;

let sound: Result[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobferry-mutants-'));
  copy = join(folder, 'copy');
  await checkOut(copy, { whole: true });
  sound = await run(MUTANTS.map(({ seenBy }) => seenBy));
}, 600_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

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
