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

/** Jobs of the demo's phases, as src/demo/scenario.ts has them. */
const IDLE = 100;
const BURST_ROUNDS = 40;
const MISBEHAVING = { flaky: 20, busy: 10, slow: 5, broken: 10, ack: 10 };

const PAYLOADS = new URL('../../src/demo/payloads/', import.meta.url);
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Where this demo and no other puts its data. The database may run as another user, who has to get in. */
async function openTemporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'demo-test-'));
  await chmod(folder, 0o755);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it.skipIf(hasGivenServer)('shows a service at work, and ends with its figures', { timeout: 90_000 }, async () => {
  const folder = await openTemporaryFolder();
  const { code, stdout, stderr } = await runJobferry(['demo'], { TMPDIR: folder }, 80_000);
  expect(stderr).toBe('');
  const payloads = (await readdir(PAYLOADS)).length;
  const misbehaving = Object.values(MISBEHAVING).reduce((sum, jobs) => sum + jobs, 0);
  const published = IDLE + payloads * BURST_ROUNDS + misbehaving + MISBEHAVING.broken;
  const figures = Object.fromEntries(
    [...stdout.matchAll(/^ {2}\| (.+?) +\| +(.+?) \|$/gm)].map(([, name, value]) => [name, value]),
  );
  expect(figures).toMatchObject({
    published: String(published),
    delivered: String(published - MISBEHAVING.broken),
    // Each flaky and each broken job once; the second failure of a broken one is its last. One job is nacked.
    retried: String(MISBEHAVING.flaky + MISBEHAVING.broken + 1),
    // One job is deferred by a call.
    held: String(MISBEHAVING.busy + 1),
    dead: String(MISBEHAVING.broken),
    replayed: String(MISBEHAVING.broken),
    'jobs per second': expect.stringMatching(/^[1-9]\d*$/),
    'publish to arrival, idle, p50': expect.stringMatching(/^\d+\.\d ms$/),
    'publish to arrival, idle, p99': expect.stringMatching(/^\d+\.\d ms$/),
    'wrong signatures': '0',
    'every payload arrived byte for byte': 'yes',
  });
  expect(code).toBe(0);
  expect(await readdir(folder)).toEqual([]);
});

// One function handles all signals, so one of them is enough here: a start takes ten seconds.
it.skipIf(hasGivenServer)('leaves nothing behind when it is interrupted', { timeout: 60_000 }, async () => {
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
    if (output.includes('one by one')) demo.kill('SIGINT');
  });
  expect(await exit).toEqual([1, null]);
  expect(await stderr).toBe('jobferry: the demo was interrupted\n');
  expect(await readdir(folder)).toEqual([]);
});
