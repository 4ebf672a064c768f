import type { Socket } from 'node:net';
import type { RunningRequests } from './running-requests.ts';

/** Below the 20 000 or more files that a server process may usually have open, with room for webhooks and the database. */
const MOST = 10_000;
/** When all are taken, so large a part is closed at once: to look for those that can be is a walk through all. */
const PART = 1 / 20;
/** When nothing could be closed, new ones are turned away for so long before the next look. */
const LOOK_AGAIN_MS = 1000;

const accounts = new WeakMap<Socket, string>();

/** Says whose key was in the last request of the connection. */
export function belongsTo(socket: Socket, accountId: string): void {
  if (accounts.get(socket) !== accountId) accounts.set(socket, accountId);
}

/**
 * How many connections of clients are open. When all are taken, connections without a request under way make room: those
 * of the account that has the most of all and any of these, where all that never came with a key are one account. An
 * account with more than half of all also loses those with a request under way, when it is answered.
 */
export class OpenConnections {
  readonly #running: RunningRequests;
  readonly #most: number;
  /** In the order in which they came. */
  readonly #open = new Set<Socket>();
  #fullUntil = 0;

  constructor(running: RunningRequests, most = MOST) {
    this.#running = running;
    this.#most = most;
  }

  /** A new connection; it is closed at once when there is no room, and none can be made. */
  add(socket: Socket): void {
    if (this.#open.size >= this.#most && !this.#makeRoom()) {
      socket.destroy();
      return;
    }
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }

  #makeRoom(): boolean {
    const now = performance.now();
    if (now < this.#fullUntil) return false;
    const groups = [...this.#ofAccounts().values()].sort((one, other) => other.length - one.length);
    const [largest = []] = groups;
    if (largest.length > this.#most / 2) this.#endAfterAnswer(largest);
    for (const sockets of groups) {
      const idle = sockets.filter((socket) => this.#running.of(socket).length === 0);
      for (const socket of idle.slice(0, Math.ceil(this.#most * PART))) {
        this.#open.delete(socket);
        socket.destroy();
      }
      if (idle.length > 0) return true;
    }
    this.#endAfterAnswer(largest);
    this.#fullUntil = now + LOOK_AGAIN_MS;
    return false;
  }

  #endAfterAnswer(sockets: readonly Socket[]): void {
    for (const socket of sockets) for (const res of this.#running.of(socket)) res.shouldKeepAlive = false;
  }

  #ofAccounts(): Map<string, Socket[]> {
    const found = new Map<string, Socket[]>();
    for (const socket of this.#open) {
      const account = accounts.get(socket) ?? '';
      const others = found.get(account);
      if (others === undefined) found.set(account, [socket]);
      else others.push(socket);
    }
    return found;
  }
}
