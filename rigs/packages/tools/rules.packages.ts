import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { packBuilt, ROOT } from '../../../test/support/checkout.ts';

/** Both packages by the rules of others. */

const run = promisify(execFile);
const tool = (path: string) => fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));

async function packed(folder: string): Promise<string> {
  const to = await mkdtemp(join(tmpdir(), 'jobferry-rules-'));
  onTestFinished(() => rm(to, { recursive: true, force: true }));
  return await packBuilt(join(ROOT, folder), to);
}

it.each(['', 'packages/client'])('"%s" is what publint expects', async (folder) => {
  const publint = [tool('publint/src/cli.js'), 'run', await packed(folder), '--strict'];
  expect((await run(process.execPath, publint)).stdout).toContain('All good!');
});

it('the client has types that @arethetypeswrong/cli finds right, node10 too', async () => {
  const options = ['--no-definitely-typed', '--format', 'json'];
  const attw = [tool('@arethetypeswrong/cli/dist/index.js'), await packed('packages/client'), ...options];
  const { analysis } = JSON.parse((await run(process.execPath, attw)).stdout) as {
    analysis: { problems: unknown[]; entrypoints: object };
  };
  expect(analysis.problems).toEqual([]);
  expect(Object.keys(analysis.entrypoints)).toEqual(expect.arrayContaining(['.', './webhook']));
});
