import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Requests without a complete answer, by connection. A set of responses would leak: V8 reallocates the table of a set that
 * gains and loses thousands of members per second, and links each table to the next. Once the first table is in the old
 * generation, all later ones survive until the next full garbage collection, with every request that they ever held.
 */
export class RunningRequests {
  readonly #ofSocket = new Map<Socket, ServerResponse[]>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(res: ServerResponse): void {
    const { socket } = res.req;
    let running = this.#ofSocket.get(socket);
    if (running === undefined) {
      running = [];
      this.#ofSocket.set(socket, running);
      socket.once('close', () => this.#ofSocket.delete(socket));
    }
    running.push(res);
    this.#count += 1;
    res.on('close', () => {
      running.splice(running.indexOf(res), 1);
      this.#count -= 1;
    });
  }

  of(socket: Socket): readonly ServerResponse[] {
    return this.#ofSocket.get(socket) ?? [];
  }

  sockets(): Iterable<Socket> {
    return this.#ofSocket.keys();
  }

  all(): ServerResponse[] {
    return [...this.#ofSocket.values()].flat();
  }
}
