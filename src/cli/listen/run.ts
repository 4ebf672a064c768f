import { setTimeout as sleep } from 'node:timers/promises';
import type { AttemptSeen } from '../dev/attempts.ts';
import { Answers } from './answers.ts';
import { createForwarder, type Forwarder, secretOf } from './forward.ts';
import { createServer, type ListenedQueue, Refused, type Server, type WireDelivery, type WireEvent } from './server.ts';

export interface ListenOptions {
  url: string;
  apiKey: string;
  /** Name or id. */
  queue: string;
  forward: URL;
  /** Copies deliveries, which go to the webhook all the same. */
  isTap: boolean;
  /** Ends after the first delivery. */
  isOnce: boolean;
  /** Takes the deliveries of a queue that is marked as production. */
  isForced: boolean;
  /** Signs with a secret of this machine. */
  hasOwnSecret: boolean;
  print: ListenPrint;
}

export interface ListenPrint {
  ready(facts: { queue: ListenedQueue; secret: string | null }): void;
  attempt(attempt: AttemptSeen): void;
  note(event: { type: string }, sentence: string): void;
}

interface Listening {
  /** Resolves when the first delivery is over, with `isOnce`, or after `stop`. Rejects with `Refused`. */
  readonly done: Promise<{ hasSucceeded: boolean }>;
  stop(): Promise<void>;
}

/** How often the client looks whether a heartbeat is due. */
const TICK_MS = 1000;
/**
 * After a longer pause between two ticks the process was suspended, and other clients may have what it received before.
 */
const SUSPENDED_MS = 5000;
const RECONNECT_MS = { first: 100, last: 2000 };

/** Lets deliveries of a queue come to this machine. */
export function listen(options: ListenOptions): Listening {
  const stopping = new AbortController();
  const session = new Session(options, stopping);
  const running = session.run();
  return {
    done: running.then(() => ({ hasSucceeded: session.hasSucceeded })),
    async stop() {
      stopping.abort();
      await running.catch(() => undefined);
    },
  };
}

/** A stream that is open. */
interface Open {
  tunnelId: string | null;
  /** Null for copies, which are not answered. */
  answers: Answers | null;
}

class Session {
  readonly #server: Server;
  readonly #options: ListenOptions;
  readonly #stopping: AbortController;
  #open: Open | null = null;
  /** Ends the present stream. */
  #stream = new AbortController();
  #tickAt = performance.now();
  #isReady = false;
  #isLost = false;
  #taken = 0;
  hasSucceeded = false;

  constructor(options: ListenOptions, stopping: AbortController) {
    this.#options = options;
    this.#stopping = stopping;
    this.#server = createServer(options.url, options.apiKey, stopping.signal);
  }

  async run(): Promise<void> {
    const { signal } = this.#stopping;
    const { queue: wanted, forward, hasOwnSecret, apiKey } = this.#options;
    const ticks = setInterval(() => this.#tick(), TICK_MS);
    let forwarder: Forwarder | null = null;
    try {
      const queue = await this.#untilConnected(() => this.#server.queue(wanted));
      const secret = hasOwnSecret ? secretOf(apiKey, queue.name) : null;
      const sending = createForwarder(forward, secret);
      forwarder = sending;
      while (!signal.aborted) await this.#untilConnected(() => this.#follow(queue, secret, sending));
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      clearInterval(ticks);
      const id = this.#open?.tunnelId ?? null;
      if (id !== null) await this.#server.end(id).catch(() => undefined);
      await forwarder?.close();
    }
  }

  /** Tries again until it works, or is refused for good. */
  async #untilConnected<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.#stopping;
    for (let delayMs = RECONNECT_MS.first; ; delayMs = Math.min(2 * delayMs, RECONNECT_MS.last)) {
      const before = this.#open;
      try {
        return await work();
      } catch (error) {
        if (error instanceof Refused || signal.aborted) throw error;
        if (this.#open !== before) delayMs = RECONNECT_MS.first;
        this.#lost(error instanceof Error ? error.message : String(error));
        await sleep(delayMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #follow(queue: ListenedQueue, secret: string | null, forwarder: Forwarder): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const stream = new AbortController();
    this.#stream = stream;
    const stop = () => stream.abort(this.#stopping.signal.reason);
    this.#stopping.signal.addEventListener('abort', stop, { once: true });
    let open: Open | null = null;
    try {
      for await (const { tunnelId, more, deliveries } of this.#events(queue.id, stream.signal)) {
        open ??= this.#opened(tunnelId, queue, secret);
        if (this.#wasSuspended()) break;
        if (more > 0) this.#options.print.note({ type: 'missed' }, `changed jobs that were not copied: ${more}`);
        for (const delivery of deliveries) void this.#deliver(open, queue, delivery, forwarder);
      }
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      throw error;
    } finally {
      this.#stopping.signal.removeEventListener('abort', stop);
      open?.answers?.end();
    }
    if (!this.#stopping.signal.aborted) throw new Error('the stream has ended');
  }

  /** A tap that reconnects gets no copies of what happened meanwhile. */
  #events(queueId: string, signal: AbortSignal): AsyncGenerator<WireEvent, void, undefined> {
    const { isTap, isForced } = this.#options;
    return isTap ? this.#server.tap(queueId, signal) : this.#server.tunnel(queueId, isForced, signal);
  }

  #opened(tunnelId: string | null, queue: ListenedQueue, secret: string | null): Open {
    const { print } = this.#options;
    const onRefused = (reason: string) => print.note({ type: 'refused' }, `an answer was refused: ${reason}`);
    const open = { tunnelId, answers: tunnelId === null ? null : new Answers(this.#server, tunnelId, onRefused) };
    this.#open = open;
    this.#isLost = false;
    if (this.#isReady) print.note({ type: 'connected' }, 'connected again');
    else print.ready({ queue, secret });
    this.#isReady = true;
    return open;
  }

  #lost(reason: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    const sentence = this.#isReady ? 'connection lost, reconnecting' : 'no connection yet, trying again';
    this.#options.print.note({ type: 'lost' }, `${sentence}: ${reason}`);
  }

  async #deliver({ answers }: Open, queue: ListenedQueue, delivery: WireDelivery, forwarder: Forwarder): Promise<void> {
    const { isOnce, print } = this.#options;
    this.#taken += 1;
    // The service gives back what is not answered.
    if (isOnce && this.#taken > 1) return;
    const { answer, durationMs } = await forwarder.send(delivery);
    // It ended with this process, and the service gives it back.
    if (this.#stopping.signal.aborted) return;
    const { statusCode = null, error = null, body = null } = answer;
    print.attempt({
      at: new Date(),
      accountId: '',
      jobId: delivery.jobId,
      queue: queue.name,
      attempt: delivery.attempt,
      statusCode,
      error,
      durationMs,
      answer: body,
    });
    await answers?.add(answer);
    if (!isOnce) return;
    this.hasSucceeded = statusCode !== null && statusCode >= 200 && statusCode <= 299;
    this.#stopping.abort();
  }

  #tick(): void {
    // Its tunnel may have ended meanwhile, and what it received before may have gone elsewhere.
    if (this.#wasSuspended()) this.#stream.abort(new Error('this process was suspended'));
    else this.#open?.answers?.heartbeat();
    this.#tickAt = performance.now();
  }

  #wasSuspended(): boolean {
    return performance.now() - this.#tickAt > SUSPENDED_MS;
  }
}
