import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Requests that have no complete answer yet, by connection. Not a set of responses: one that gets and loses thousands
 * of members a second is laid out anew all the time, and V8 links each layout to the next. Once the first of them is
 * old, all that follow survive until the next full collection, and with them every request that they ever held.
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
    res.once('close', () => {
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
