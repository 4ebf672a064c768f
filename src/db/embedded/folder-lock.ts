import { randomBytes } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { readdir, realpath, rename, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { EmbeddedLog } from './cluster.ts';
import { isLock } from './server-files.ts';
import { readSocket, withShortPath } from './unix-socket.ts';

/** A command owns the server for a short time only. */
export type OwnerRole = 'service' | 'command';

/** Another process owns the data directory. */
export class InUseError extends Error {
  override readonly name = 'InUseError';
  readonly isByCommand: boolean;
  /** Whether its server cannot be reached from here: it is in another container. */
  readonly isElsewhere: boolean;

  constructor(message: string, { isByCommand, isElsewhere = false }: { isByCommand: boolean; isElsewhere?: boolean }) {
    super(message);
    this.isByCommand = isByCommand;
    this.isElsewhere = isElsewhere;
  }
}

interface FolderLock {
  /** False where no such lock is possible: on Windows, and on file systems without sockets. */
  isShared: boolean;
  release(): Promise<void>;
}

/** Message that the holder of a lock sends to each process that connects. */
interface Holder {
  /** False while the process is about to take the lock. */
  isHeld: boolean;
  pid: number;
  role: OwnerRole;
  /** The namespaces in which its pid and its ports are valid. */
  pids: string;
  network: string;
}

/** Errors of file systems that have no sockets, and of a folder in which nothing can be created. */
const IMPOSSIBLE = ['EACCES', 'EROFS', 'EPERM', 'EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'];
/** How long two processes that start together give way to each other, in milliseconds. */
const GIVE_WAY_MS = 10_000;
const LONGEST_PAUSE_MS = 100;
/** How long a service that starts waits for the end of the one before it, which may have been killed just now. */
const PATIENCE_MS = 1000;

/**
 * Takes the lock of a data directory. The holder listens on a unix socket in it: the kernel ends that with the process,
 * and all containers that have the folder can connect to it, while their pids and ports are unknown to each other.
 *
 * Each process has a socket with a name of its own, shows it, and then looks for others. So of two processes at least
 * one sees the other, and a file that is removed because no process listens on it was never that of a later process.
 * @throws InUseError if another process has the lock
 */
export async function lockFolder(dataDir: string, role: OwnerRole, log: EmbeddedLog): Promise<FolderLock> {
  if (process.platform === 'win32') return { isShared: false, release: async () => undefined };
  const folder = await realpath(dataDir);
  const giveUpAt = performance.now() + GIVE_WAY_MS;
  const refuseAt = performance.now() + (role === 'service' ? PATIENCE_MS : 0);
  for (;;) {
    const own = await show(folder, role).catch((error: NodeJS.ErrnoException) => {
      if (!IMPOSSIBLE.includes(error.code ?? '')) throw error;
      log.warn({ err: error, dataDir }, 'DATA_DIR cannot have a lock: make sure that no other container uses it');
      return null;
    });
    if (own === null) return { isShared: false, release: async () => undefined };
    const others = await findOthers(folder, own.name);
    if (others.length === 0) {
      own.hold();
      return { isShared: true, release: own.remove };
    }
    await own.remove();
    const holder = others.find((other) => other?.isHeld !== false);
    const now = performance.now();
    if ((holder !== undefined && now >= refuseAt) || now > giveUpAt) throw refusal(dataDir, holder ?? null);
    await wait(Math.random() * LONGEST_PAUSE_MS);
  }
}

/** Listens before the file has its name, so that a lock on which no process listens is always that of a dead one. */
async function show(folder: string, role: OwnerRole) {
  const holder: Holder = { isHeld: false, pid: process.pid, role, ...namespaces() };
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(JSON.stringify(holder));
  });
  server.unref();
  const name = `.lock-${randomBytes(8).toString('hex')}`;
  const path = join(folder, name);
  await withShortPath(`${path}.new`, (short) => listen(server, short));
  const remove = async () => {
    await rm(path, { force: true });
    await new Promise((resolve) => server.close(resolve));
  };
  try {
    await rename(`${path}.new`, path);
  } catch (error) {
    await remove();
    throw error;
  }
  const hold = () => {
    holder.isHeld = true;
  };
  return { name, hold, remove };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // Another user of the same folder must be able to see that no process listens any more.
    server.listen({ path, writableAll: true }, resolve);
  });
}

/** Removes the locks of dead processes. @returns the other holders; null for one that does not answer */
async function findOthers(folder: string, own: string): Promise<(Holder | null)[]> {
  const names = (await readdir(folder)).filter((name) => isLock(name) && !name.endsWith('.new') && name !== own);
  const answers = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const text = await readSocket(path);
      if (text !== null) return [parsed(text)];
      await rm(path, { force: true }).catch(() => undefined);
      return [];
    }),
  );
  return answers.flat();
}

function parsed(text: string): Holder | null {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return null;
  }
}

/** Names of the namespaces of this process; empty where there are none. */
function namespaces(): Pick<Holder, 'pids' | 'network'> {
  const nameOf = (kind: string) => {
    try {
      return readlinkSync(`/proc/self/ns/${kind}`);
    } catch {
      return '';
    }
  };
  return { pids: nameOf('pid'), network: nameOf('net') };
}

function refusal(dataDir: string, holder: Holder | null): InUseError {
  const own = namespaces();
  const isElsewhere = holder !== null && holder.network !== own.network;
  const where = holder !== null && holder.pids !== own.pids ? ' of another container' : '';
  const who = holder === null ? 'a process that does not answer' : `process ${holder.pid}${where}`;
  const advice = isElsewhere ? ', run commands there or with JOBFERRY_URL and JOBFERRY_API_KEY' : '';
  return new InUseError(inUse(dataDir, who, advice), { isByCommand: holder?.role === 'command', isElsewhere });
}

export function inUse(folder: string, who: string, advice = ''): string {
  return (
    `${folder} is in use by another Jobferry (${who}): stop it${advice}, ` +
    'choose another DATA_DIR, or let both share one database server with DATABASE_URL'
  );
}
