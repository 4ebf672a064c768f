import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

it('a run writes a line for each failure, with the command that repeats it', () => {
  mkdirSync(join(ROOT, '.builds'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.builds/summary-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const reporter = JSON.stringify(join(ROOT, 'test/support/run-summary.ts'));
  writeFileSync(
    join(folder, 'vitest.config.ts'),
    `import { RunSummary } from ${reporter};
     export default { test: { root: ${JSON.stringify(folder)}, include: ['*.test.ts'], reporters: [new RunSummary()] } };`,
  );
  const head = "import { beforeAll, describe, expect, it } from 'vitest';";
  writeFileSync(
    join(folder, 'one.test.ts'),
    `${head}
     it('passes', () => expect(1).toBe(1));
     it("is 'quoted' (and $)", () => expect(1).toBe(2));
     describe('a hook', () => {
       beforeAll(() => { throw new Error('failed'); });
       it('never runs', () => undefined);
     });`,
  );
  writeFileSync(
    join(folder, 'two.test.ts'),
    `${head} throw new Error('while it is loaded'); it('is', () => undefined);`,
  );
  const list = join(folder, 'list');
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--root', folder], {
    env: { ...process.env, TEST_FAILURES_FILE: list },
  });
  expect(status).toBe(1);
  expect(readFileSync(list, 'utf8').trimEnd().split('\n').sort()).toEqual([
    'npm run test:one -- one.test.ts',
    "npm run test:one -- one.test.ts -t 'is '\\''quoted'\\'' \\(and \\$\\)'",
    'npm run test:one -- two.test.ts',
  ]);
});
