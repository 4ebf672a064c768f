import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { runJobferry } from '../support/command.ts';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Where this demo and no other puts its data. The database may run as another user, who has to get in. */
async function openTemporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'demo-test-'));
  await chmod(folder, 0o755);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it('shows a service at work, and ends with its figures', { timeout: 90_000 }, async () => {
  const folder = await openTemporaryFolder();
  const { code, stdout, stderr } = await runJobferry(['demo'], { TMPDIR: folder }, 80_000);
  expect(stderr).toBe('');
  const figures = Object.fromEntries(
    [...stdout.matchAll(/^ {2}\| (.+?) +\| +(.+?) \|$/gm)].map(([, name, value]) => [name, value]),
  );
  expect(figures).toMatchObject({
    // 100 one by one, 329 payloads at once, 55 to webhooks that misbehave, 10 replays.
    published: '494',
    delivered: '484',
    // 20 flaky once, 10 broken twice of which the second is the last, 1 nack.
    retried: '31',
    // 10 busy, 1 defer call.
    held: '11',
    dead: '10',
    replayed: '10',
    'jobs per second': expect.stringMatching(/^[1-9]\d*$/),
    'publish to arrival, idle, p50': expect.stringMatching(/^\d+\.\d ms$/),
    'publish to arrival, idle, p99': expect.stringMatching(/^\d+\.\d ms$/),
    'wrong signatures': '0',
    'every payload arrived byte for byte': 'yes',
  });
  expect(code).toBe(0);
  expect(await readdir(folder)).toEqual([]);
});

it.each(['SIGINT', 'SIGTERM'] as const)('leaves nothing behind on %s', { timeout: 60_000 }, async (signal) => {
  const folder = await openTemporaryFolder();
  const demo = spawn(process.execPath, [MAIN, 'demo'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, TMPDIR: folder },
    timeout: 50_000,
    killSignal: 'SIGKILL',
  });
  const exit = once(demo, 'exit');
  const stderr = text(demo.stderr);
  demo.stdout.on('data', (output: Buffer) => {
    if (output.includes('one by one')) demo.kill(signal);
  });
  expect(await exit).toEqual([1, null]);
  expect(await stderr).toBe('jobferry: the demo was interrupted\n');
  expect(await readdir(folder)).toEqual([]);
});
