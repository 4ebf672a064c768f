import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { runJobferry } from '../support/command.ts';
import { hasGivenServer } from '../support/given-server.ts';

/** Each job of the demo in the order of their publication, and last the replay: its payload, status and history. */
const JOBS = [
  'chat.message    completed  success',
  'video.encoded   completed  failed, success',
  'invoice.paid    completed  deferred, success',
  'sensor.reading  completed  nacked, success',
  'mail.bounced    dead       failed, failed',
  'mail.bounced    completed  success',
];

/** A start takes ten seconds, and more than a minute beside a load of twenty. */
const PATIENCE_MS = 240_000;

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Where this demo and no other puts its data. The database may run as another user, who has to get in. */
async function openTemporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'demo-test-'));
  await chmod(folder, 0o755);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it.skipIf(hasGivenServer)(
  'shows a service at work, and ends with the history of its jobs',
  { timeout: PATIENCE_MS },
  async () => {
    const folder = await openTemporaryFolder();
    const { code, stdout, stderr } = await runJobferry(['demo'], { TMPDIR: folder }, PATIENCE_MS - 5000);
    expect(stderr).toBe('');
    // Each delivery and its answer, while the demo runs.
    expect(stdout.match(/^ +\d+ ms {2}[a-z.]+ +delivery \d: .+$/gm)).toHaveLength(10);
    const [, table = ''] = stdout.split('Status and history of each job:');
    const jobs = table.split('\n').map((line) => line.trim());
    expect(jobs).toEqual(['', '', ...JOBS, '', 'every payload arrived byte for byte: yes', 'wrong signatures: 0', '']);
    expect(code).toBe(0);
    expect(await readdir(folder)).toEqual([]);
  },
);

// One function handles all signals, so one of them is enough here.
it.skipIf(hasGivenServer)('leaves nothing behind when it is interrupted', { timeout: PATIENCE_MS }, async () => {
  const folder = await openTemporaryFolder();
  const demo = spawn(process.execPath, [MAIN, 'demo'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, TMPDIR: folder },
    timeout: PATIENCE_MS - 5000,
    killSignal: 'SIGKILL',
  });
  const exit = once(demo, 'exit');
  const stderr = text(demo.stderr);
  demo.stdout.on('data', (output: Buffer) => {
    // By then everything is published, and the demo mostly waits between its questions.
    if (output.includes('delivery 2')) demo.kill('SIGINT');
  });
  expect(await exit).toEqual([1, null]);
  expect(await stderr).toBe('jobferry: the demo was interrupted\n');
  expect(await readdir(folder)).toEqual([]);
});
