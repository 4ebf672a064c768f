import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../src/db/embedded/free-port.ts';
import { checkOut, ROOT } from '../support/checkout.ts';
import { createTestDatabase } from '../support/database.ts';
import { statusOf } from '../support/status.ts';
import { waitFor } from '../support/wait-for.ts';

/** The install block of the handbook, as printed, in a clean folder: only its places for secrets are filled in. */

it('the first block of docs/operations.md installs, builds and starts the service', async () => {
  const handbook = await readFile(join(ROOT, 'docs/operations.md'), 'utf8');
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(handbook) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-handbook-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const checkout = join(folder, 'jobferry');
  await checkOut(checkout);
  await rm(join(checkout, 'node_modules'));

  const { url } = await createTestDatabase({ empty: true });
  const script = block
    .replace(/DATABASE_URL=\S+/, `DATABASE_URL='${url}'`)
    .replace('BOOTSTRAP_API_KEY=…', 'BOOTSTRAP_API_KEY=key-of-the-handbook-test');
  expect(script).not.toContain('…');
  const port = await freePort();
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, PORT: String(port), HOST: '127.0.0.1' };
  // A process group of its own, so that npm and the service end with it.
  const shell = spawn('bash', ['-e'], { cwd: checkout, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  let output = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
  const ended = new Promise<void>((resolve) => shell.once('close', () => resolve()));
  onTestFinished(async () => {
    if (shell.pid !== undefined && shell.exitCode === null) process.kill(-shell.pid, 'SIGTERM');
    await ended;
  });
  shell.stdin.end(script);
  const isReady = async () => {
    if (shell.exitCode !== null) return true;
    return (await statusOf(`http://127.0.0.1:${port}`, '/readyz')) === 200;
  };
  await waitFor(isReady, { message: 'the service to be ready', timeoutMs: 280_000, everyMs: 500 });
  expect({ code: shell.exitCode, output }).toMatchObject({ code: null });
});
