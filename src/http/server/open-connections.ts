import type { Socket } from 'node:net';
import type { RunningRequests } from './running-requests.ts';

/** Fewer than the 20 000 or more files that a server process may usually open: webhooks and the database need some. */
const MOST = 10_000;
/** At the bound, this part of all connections is closed at once, because the search visits every connection. */
const PART = 1 / 20;
/** If no connection could be closed, new ones are refused for this long before the next search. */
const SEARCH_AGAIN_MS = 1000;

const accounts = new WeakMap<Socket, string>();

/** Sets the account whose key was in the connection's last request. */
export function noteAccount(socket: Socket, accountId: string): void {
  if (accounts.get(socket) !== accountId) accounts.set(socket, accountId);
}

/**
 * Bounds the open connections of clients. At the bound, connections without a running request are closed: those of the
 * account that has the most connections and at least one such. All connections without a key so far count as one
 * account. If an account has more than half of all connections, those with a running request are also closed, after the
 * answer.
 */
export class OpenConnections {
  readonly #running: RunningRequests;
  readonly #most: number;
  /** In the order in which they were opened. */
  readonly #open = new Set<Socket>();
  #fullUntil = 0;

  constructor(running: RunningRequests, most = MOST) {
    this.#running = running;
    this.#most = most;
  }

  /** Adds a new connection, or closes it at once if the bound is reached and no other one can be closed. */
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
    this.#fullUntil = now + SEARCH_AGAIN_MS;
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
