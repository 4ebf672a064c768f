import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

/** Most requests that wait. Their bodies are not read, so the operating system holds them. */
const MOST = 1000;

/** How often the process notes that its event loop turns. */
const TICK_MS = 100;

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
  readonly #now: () => number;
  readonly #waiting = new Set<Waiting>();
  readonly #ticks: NodeJS.Timeout;
  #tickedAt: number;
  /** Requests that are read now may have arrived since this time: a start keeps the event loop busy for seconds. */
  #arrivedSince: number;

  /** @param refuse answers a request that has waited for `waitMs`, or that finds too many others waiting */
  constructor(waitMs: number, refuse: (res: ServerResponse) => void, now = () => performance.now()) {
    this.#waitMs = waitMs;
    this.#refuse = refuse;
    this.#now = now;
    this.#tickedAt = now();
    this.#arrivedSince = this.#tickedAt;
    this.#ticks = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** Timers run before the sockets are read, so what has arrived during a long turn is read after the tick. */
  #tick(): void {
    this.#arrivedSince = this.#tickedAt;
    this.#tickedAt = this.#now();
    setImmediate(() => {
      this.#arrivedSince = this.#tickedAt;
    });
  }

  add(req: IncomingMessage, res: ServerResponse): void {
    if (this.#waiting.size >= MOST) {
      this.#refuse(res);
      return;
    }
    const left = Math.max(this.#waitMs - (this.#now() - this.#arrivedSince), 0);
    const waiting = { req, res, timer: setTimeout(() => this.#end(waiting, () => this.#refuse(res)), left) };
    this.#waiting.add(waiting);
    res.once('close', () => this.#end(waiting, () => undefined));
  }

  /** The start is complete. */
  passOn(answer: RequestListener): void {
    clearInterval(this.#ticks);
    for (const waiting of [...this.#waiting]) this.#end(waiting, () => answer(waiting.req, waiting.res as never));
  }

  /** The start has failed. */
  refuseAll(): void {
    clearInterval(this.#ticks);
    for (const waiting of [...this.#waiting]) this.#end(waiting, () => this.#refuse(waiting.res));
  }

  #end(waiting: Waiting, how: () => void): void {
    if (!this.#waiting.delete(waiting)) return;
    clearTimeout(waiting.timer);
    how();
  }
}
