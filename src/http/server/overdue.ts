import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { RunningRequests } from './running-requests.ts';

/**
 * Connections whose request has taken longer to arrive than Node's limits allow. Node compares the time before it reads
 * what has arrived, so after a stall of the process it would refuse requests that are there. Each gets a second look.
 */
export class Overdue {
  /** The request that has to arrive as a whole; null until its headers have. */
  readonly #requests = new Map<Socket, IncomingMessage | null>();
  readonly #running: RunningRequests;

  constructor(running: RunningRequests) {
    this.#running = running;
  }

  /** Calls `refuse` unless the request of the connection is there after the time. */
  add(socket: Socket, afterMs: number, refuse: () => void): void {
    const incomplete = this.#running.of(socket).find(({ req }) => !req.complete);
    this.#requests.set(socket, incomplete?.req ?? null);
    const look = () => {
      const isThere = this.#requests.get(socket)?.complete === true;
      this.#requests.delete(socket);
      if (!isThere) refuse();
    };
    // The process may have stalled once more: what has arrived is read between a timer and `setImmediate`.
    setTimeout(() => setImmediate(look), afterMs);
  }

  /** The headers of a request have arrived. */
  note(req: IncomingMessage): void {
    if (this.#requests.has(req.socket)) this.#requests.set(req.socket, req);
  }
}
