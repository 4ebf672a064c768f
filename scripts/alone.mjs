// A file that one process has at a time.
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 50;
/** Nothing here takes so long. After a restart of the machine the owner's number can belong to another process. */
const FORGOTTEN_MS = 600_000;

/**
 * Runs `work` while no other process runs any under this file. This saves work, but is no guard: if two processes find the
 * owner gone at the same time, both run. So `work` must put its results in place by renaming.
 */
export async function alone(file, work) {
  mkdirSync(dirname(file), { recursive: true });
  while (!take(file)) await sleep(POLL_MS);
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Returns false if another process has the file. */
function take(file) {
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  try {
    // Unlike a write, a link appears with its content.
    linkSync(mine, file);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (isForgotten(file)) rmSync(file, { force: true });
    return false;
  } finally {
    rmSync(mine);
  }
}

function isForgotten(file) {
  try {
    return !isAlive(Number(readFileSync(file, 'utf8'))) || Date.now() - statSync(file).mtimeMs > FORGOTTEN_MS;
  } catch (error) {
    // Its owner has just finished.
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

/** @param {number} pid number of a process on this machine */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user lives, too.
    return error.code === 'EPERM';
  }
}
