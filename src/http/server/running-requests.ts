import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Requests without a complete answer, by connection. A set of responses would leak: V8 reallocates the table of a set
 * that gains and loses thousands of members per second, and links each table to the next. Once the first table is in
 * the old generation, all later ones survive until the next full garbage collection, with every request that they ever
 * held.
 */
export class RunningRequests {
  readonly #ofSocket = new Map<Socket, ServerResponse[]>();
  #count = 0;
  /** Called when no request is running any more; null while nothing waits for that. */
  onNone: (() => void) | null = null;

  get count(): number {
    return this.#count;
  }

  /** From now on, the response emits `close` exactly once: when it was sent, or when its connection has closed. */
  add(res: ServerResponse): void {
    const { socket } = res.req;
    const running = this.#ofSocket.get(socket) ?? this.#begin(socket);
    running.push(res);
    this.#count += 1;
    res.on('close', () => {
      running.splice(running.indexOf(res), 1);
      this.#count -= 1;
      // It was destroyed while it waited for another one (Node from version 24 on),
      // and those behind it would wait for ever.
      if (!res.writableFinished && !socket.destroyed) socket.destroy();
      if (this.#count === 0) this.onNone?.();
    });
  }

  #begin(socket: Socket): ServerResponse[] {
    const running: ServerResponse[] = [];
    this.#ofSocket.set(socket, running);
    socket.once('close', () => {
      this.#ofSocket.delete(socket);
      // After the responses that Node itself closes, which it does in this turn,
      // or in a tick that it has already queued.
      if (running.length > 0) process.nextTick(closeAll, running);
    });
    return running;
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

/**
 * Closes responses of a closed connection. Node before version 24 does so only for the response that is being sent, and
 * not for those that wait behind it because the client has pipelined its requests: what is freed on `close` would never
 * be freed.
 */
function closeAll(running: readonly ServerResponse[]): void {
  // A response leaves the list when it is closed.
  for (const res of [...running]) {
    // Node emits no second `close` for a response that is marked so.
    Object.assign(res, { destroyed: true, _closed: true });
    res.emit('close');
  }
}
