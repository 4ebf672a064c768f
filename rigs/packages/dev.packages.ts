import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it, onTestFinished } from 'vitest';
import { checkOut } from '../../test/support/checkout.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { waitFor } from '../../test/support/wait-for.ts';

/** `npm run dev`, in a folder just below the temporary one: compilers' own watchers have noticed no change there. */

const PATIENCE = { timeoutMs: 200_000 };

it('compiles after an edit and restarts the service, and keeps the running one when the sources have an error', {
  timeout: 900_000,
}, async () => {
  const folder = join(tmpdir(), `jobferry-dev-${randomUUID()}`);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await checkOut(folder);
  const { url } = await createTestDatabase();
  const dev = spawn(process.execPath, ['scripts/dev.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', DATABASE_URL: url },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => dev.once('exit', resolve));
  onTestFinished(async () => {
    dev.kill('SIGTERM');
    await exited;
  });
  const lines: string[] = [];
  for (const stream of [dev.stdout, dev.stderr]) {
    createInterface({ input: stream }).on('line', (line) => lines.push(line));
  }
  const pids = () =>
    lines.filter((line) => line.includes('"msg":"listening"')).map((line) => (JSON.parse(line) as { pid: number }).pid);
  const runs = (count: number) =>
    waitFor(() => pids().length === count, { ...PATIENCE, message: `start ${count}: ${lines.slice(-5).join('\n')}` });

  await runs(1);
  const file = join(folder, 'src/telemetry/log.ts');
  const text = await readFile(file, 'utf8');
  await writeFile(file, `${text}export const broken: string = 1;\n`);
  await waitFor(() => lines.some((line) => line.includes('TS2322')), { ...PATIENCE, message: 'the error' });
  process.kill(pids()[0] ?? 0, 0); // throws if the process has ended
  await writeFile(file, `${text}// An edit.\n`);
  await runs(2);
});
