import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

/** Unix sockets in a folder. Unlike pids and ports, they are the same for all containers that have the folder. */

/** Bytes of a socket's path on every system. Linux has 107, macOS 103. */
const MAX_PATH = 100;
/** A frozen process accepts connections, because the kernel does that, but does not answer. */
const ANSWER_MS = 5000;

/**
 * Calls `use` with a path of the socket that is short enough:
 * a longer one goes through a link in the system's temporary folder.
 */
export async function withShortPath<T>(path: string, use: (short: string) => Promise<T>): Promise<T> {
  if (Buffer.byteLength(path) <= MAX_PATH) return use(path);
  const folder = await mkdtemp(join(tmpdir(), 'jf-'));
  try {
    await symlink(resolve(dirname(path)), join(folder, 'd'));
    return await use(join(folder, 'd', basename(path)));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Whether a process listens on the socket. */
export async function isListening(path: string): Promise<boolean> {
  return (await call(path, (socket) => socket.destroy())) !== null;
}

/**
 * @returns the text that the listener of the socket sends; empty if it sends none in time; null if no process listens
 */
export function readSocket(path: string): Promise<string | null> {
  return call(path, (socket) => socket.setTimeout(ANSWER_MS, () => socket.destroy()));
}

function call(path: string, onConnect: (socket: Socket) => void): Promise<string | null> {
  return withShortPath(path, (short) => {
    const socket = connect({ path: short });
    socket.setEncoding('utf8');
    return new Promise((done) => {
      let text: string | null = '';
      socket.on('connect', () => onConnect(socket));
      socket.on('data', (part) => {
        text += String(part);
      });
      socket.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
        // Other errors come from a process that listens: its queue of connections is full, or closed to this user.
        if (['ECONNREFUSED', 'ENOENT', 'ENOTSOCK'].includes(code)) text = null;
      });
      socket.on('close', () => done(text));
    });
  });
}
