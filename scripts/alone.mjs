// A file that one process has at a time.
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 50;
/** A wait that is longer is told. */
const TOLD_MS = 2000;
/**
 * No work here takes so long. Where only the number of the owner is known, it can belong to another process one day.
 */
const FORGOTTEN_MS = 3_600_000;

/**
 * Runs `work` while no other process runs any under this file. This saves work, but is no guard: if two processes find
 * the owner gone at the same time, both run. So `work` must put its results in place by renaming.
 */
export async function alone(file, work) {
  mkdirSync(dirname(file), { recursive: true });
  const begunAt = performance.now();
  for (let isTold = false; !take(file); await sleep(POLL_MS)) {
    if (isTold || performance.now() - begunAt < TOLD_MS) continue;
    isTold = true;
    console.error(`waiting for another process, which has ${file}`);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Returns false if another process has the file. */
function take(file) {
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, identityOf(process.pid));
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
    const owner = readFileSync(file, 'utf8');
    const pid = Number.parseInt(owner, 10);
    return !isAlive(pid) || identityOf(pid) !== owner || Date.now() - statSync(file).mtimeMs > FORGOTTEN_MS;
  } catch (error) {
    // Its owner has just finished.
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

/** The number of a process, and where the system tells it the moment of its start: numbers are used again. */
function identityOf(pid) {
  try {
    // The 22nd field; the second one is a name in parentheses, which may have spaces.
    return `${pid} ${readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19]}`;
  } catch {
    return String(pid);
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
