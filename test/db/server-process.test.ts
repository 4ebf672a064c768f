import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isServerOf } from '../../src/db/embedded/server-process.ts';

/** The pid of a lock file after a crash: it may belong to another process by then. */

const DAEMON = 1;
const NOBODY = 65_534;

/** A process named `postgres` that works in a folder, as a user. */
async function aServer(cwd: string, uid?: number): Promise<ChildProcess & { pid: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-named-'));
  await chmod(folder, 0o755);
  await copyFile('/bin/sleep', join(folder, 'postgres'));
  const child = spawn(join(folder, 'postgres'), ['600'], { cwd, uid, stdio: 'ignore' });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true });
  });
  await once(child, 'spawn');
  return child as ChildProcess & { pid: number };
}

async function aFolder(uid?: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-data-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  if (uid !== undefined) await chown(folder, uid, uid);
  return folder;
}

describe.runIf(process.platform === 'linux')('the pid of a lock file', () => {
  it('is that of the server of the folder in which it works', async () => {
    const [folder, other] = [await aFolder(), await aFolder()];
    const { pid } = await aServer(folder);
    expect([await isServerOf(folder, pid), await isServerOf(other, pid)]).toEqual([true, false]);
    expect(await isServerOf(folder, process.pid)).toBe(false);
  });

  it.runIf(process.getuid?.() === 0)('is no server of the folder if its user owns it not', async () => {
    const folder = await aFolder(DAEMON);
    const [stranger, own] = [await aServer('/', NOBODY), await aServer('/', DAEMON)];
    process.seteuid?.(DAEMON);
    onTestFinished(() => process.seteuid?.(0));
    expect(await isServerOf(folder, stranger.pid)).toBe(false);
    expect(await isServerOf(folder, own.pid)).toBe(false);
  });
});
