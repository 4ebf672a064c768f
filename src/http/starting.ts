import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

/** Most requests that wait. Their bodies are not read, so the operating system holds them. */
const MOST = 1000;

interface Waiting {
  req: IncomingMessage;
  res: ServerResponse;
  timer: NodeJS.Timeout;
}

/**
 * Keeps requests that arrive before the start is complete, and passes them on then. A proxy without health checks sends
 * requests to a process as soon as it accepts connections, and does not repeat a publish that is refused.
 */
export class Starting {
  readonly #waitMs: number;
  readonly #refuse: (res: ServerResponse) => void;
  readonly #waiting = new Set<Waiting>();

  /** @param refuse answers a request that has waited for `waitMs`, or that finds too many others waiting */
  constructor(waitMs: number, refuse: (res: ServerResponse) => void) {
    this.#waitMs = waitMs;
    this.#refuse = refuse;
  }

  add(req: IncomingMessage, res: ServerResponse): void {
    if (this.#waiting.size >= MOST) {
      this.#refuse(res);
      return;
    }
    const waiting = { req, res, timer: setTimeout(() => this.#end(waiting, () => this.#refuse(res)), this.#waitMs) };
    this.#waiting.add(waiting);
    res.once('close', () => this.#end(waiting, () => undefined));
  }

  /** The start is complete. */
  passOn(answer: RequestListener): void {
    for (const waiting of [...this.#waiting]) this.#end(waiting, () => answer(waiting.req, waiting.res as never));
  }

  /** The start has failed. */
  refuseAll(): void {
    for (const waiting of [...this.#waiting]) this.#end(waiting, () => this.#refuse(waiting.res));
  }

  #end(waiting: Waiting, how: () => void): void {
    if (!this.#waiting.delete(waiting)) return;
    clearTimeout(waiting.timer);
    how();
  }
}
