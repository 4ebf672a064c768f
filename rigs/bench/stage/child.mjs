import { spawn } from 'node:child_process';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';

const START_MS = 60_000;
const STOP_MS = 30_000;
const KEPT_LINES = 20;

const alive = new Set();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/**
 * Starts a program and resolves when a line of its stdout matches `ready`, with that match. Programs get no more of
 * the environment than they need, so that a variable of the caller's cannot change what is measured.
 */
export async function startChild(command, args, { env = {}, ready, cwd }) {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production', ...env },
  });
  const words = command === process.execPath ? args.filter((word) => !word.startsWith('-')) : [command];
  const name = words.map((word) => basename(word)).join(' ');
  alive.add(child);
  child.once('close', () => alive.delete(child));
  const lastLines = [];
  const keep = (line) => {
    lastLines.push(line);
    if (lastLines.length > KEPT_LINES) lastLines.shift();
  };
  createInterface({ input: child.stderr }).on('line', keep);
  const match = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail('was not ready in time'), START_MS);
    const fail = (what) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error([`${name} ${what}`, ...lastLines].join('\n')));
    };
    child.once('error', (error) => fail(error.code === 'ENOENT' ? 'is not installed' : error.message));
    child.once('exit', (code) => fail(`ended with ${code}`));
    createInterface({ input: child.stdout }).on('line', (line) => {
      keep(line);
      const found = ready.exec(line);
      if (found === null) return;
      clearTimeout(timer);
      child.removeAllListeners('exit');
      resolve(found);
    });
  });
  return {
    pid: child.pid,
    match,
    lastLines,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await gone;
      clearTimeout(timer);
    },
  };
}
