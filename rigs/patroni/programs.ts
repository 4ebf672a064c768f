import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chooseServerUser, type ServerUser } from '../../src/db/embedded/server-user.ts';

/**
 * Programs of the system, all on loopback: Debian's patroni, etcd-server and postgresql-15. They end with the trial,
 * also when it is killed, and each by itself after some hours.
 */

export const BIN = {
  etcd: process.env.ETCD_BIN ?? '/usr/bin/etcd',
  patroni: process.env.PATRONI_BIN ?? '/usr/bin/patroni',
  postgresql: process.env.POSTGRESQL_BIN ?? '/usr/lib/postgresql/15/bin',
};

/** Whatever happens to the trial, nothing that it started runs longer. */
const LONGEST_SECONDS = 3 * 3600;

/** PostgreSQL refuses to run as root. */
export const findUser = (): Promise<ServerUser> => chooseServerUser('/nonexistent');

/** @returns the process that ends the program after the longest time, and whose child it is */
export function launch(user: ServerUser, log: string, program: string, args: string[]): number {
  const out = openSync(log, 'a');
  const child = spawn('timeout', ['--kill-after=20', String(LONGEST_SECONDS), program, ...args], {
    ...(user ?? {}),
    cwd: '/',
    detached: true,
    stdio: ['ignore', out, out],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' },
  });
  child.unref();
  if (child.pid === undefined) throw new Error(`${program} cannot be started`);
  return child.pid;
}

/**
 * Has everything that this process starts from now on ended, and the folders removed, when this process ends,
 * also by SIGKILL.
 * @returns ends that; nothing may run in the folders any more
 */
export function endWithThisProcess(folders: readonly string[]): () => Promise<void> {
  const script = fileURLToPath(new URL('watchdog.mjs', import.meta.url));
  // In a session of its own: a terminal that is closed, or Ctrl-C, must not end it first.
  const child = spawn(process.execPath, [script, String(process.pid), ...folders], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
  });
  const ended = once(child, 'exit');
  child.unref();
  (child.stdin as Socket).unref();
  return async () => {
    child.ref();
    child.stdin.end();
    await ended;
  };
}

/** Sends a signal to a program that was launched; nothing happens if it has ended. */
export async function signalLaunched(launched: number, signal: NodeJS.Signals): Promise<void> {
  // Not to the process above it, which reads the result of its child and then ends.
  for (const pid of await descendantsOf(launched)) signalOne(pid, signal);
}

function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Sends a signal to a process and all that descend from it, the process first: it must not replace what ends. */
export async function signalTree(root: number, signal: NodeJS.Signals): Promise<void> {
  // Children of a killed process get another parent; those that a process starts until it is stopped are not yet there.
  const before = await descendantsOf(root);
  signalOne(root, signal);
  for (const pid of new Set([...before, ...(await descendantsOf(root))])) signalOne(pid, signal);
}

async function descendantsOf(root: number): Promise<number[]> {
  const parents = await parentsOfAll();
  const isIn = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === root || isIn(parent));
  };
  return [...parents.keys()].filter(isIn);
}

/** The parent of each process of the machine. */
async function parentsOfAll(): Promise<Map<number, number>> {
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => null);
    // The name of the program, in parentheses, may have spaces.
    const parent = stat === null ? null : /\) \S (\d+) /.exec(stat)?.[1];
    if (parent != null) parents.set(Number(name), Number(parent));
  }
  return parents;
}

export async function versionsOf(): Promise<string> {
  const first = async (program: string, ...args: string[]) => {
    const { stdout } = await promisify(execFile)(program, args);
    return stdout.split('\n')[0]?.trim() ?? '';
  };
  const [postgres, patroni, etcd] = await Promise.all([
    first(`${BIN.postgresql}/postgres`, '--version'),
    first(BIN.patroni, '--version'),
    first(BIN.etcd, '--version'),
  ]);
  const number = (text: string) => /\d+(?:\.\d+)+/.exec(text)?.[0] ?? text;
  return `${number(postgres)}, three servers under Patroni ${number(patroni)} and etcd ${number(etcd)}, synchronous mode`;
}
