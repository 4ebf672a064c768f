import { setTimeout as sleep } from 'node:timers/promises';
import type { AttemptSeen } from '../dev/attempts.ts';
import { createForwarder, type Forwarder, secretOf } from './forward.ts';
import {
  createServer,
  type ListenedQueue,
  Refused,
  type Server,
  type WireAnswer,
  type WireDelivery,
} from './server.ts';

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

export interface Listening {
  /** Resolves when the first delivery is over, with `isOnce`. @throws Refused */
  readonly done: Promise<{ hasSucceeded: boolean }>;
  stop(): Promise<void>;
}

/** A client shows at least this often that it is there. */
const SIGN_MS = 3500;
const RECONNECT_MS = { first: 100, last: 2000 };

/** Lets deliveries of a queue come to this machine. */
export function listen(options: ListenOptions): Listening {
  const { url, apiKey, forward, hasOwnSecret } = options;
  const server = createServer(url, apiKey);
  const stopping = new AbortController();
  const secret = hasOwnSecret ? secretOf(apiKey, options.queue) : null;
  const forwarder = createForwarder(forward, secret);
  const session = new Session(server, forwarder, options, stopping);
  const running = session.run(secret).finally(() => forwarder.close());
  return {
    done: running.then(() => ({ hasSucceeded: session.hasSucceeded })),
    async stop() {
      stopping.abort();
      await running.catch(() => undefined);
    },
  };
}

class Session {
  readonly #server: Server;
  readonly #forwarder: Forwarder;
  readonly #options: ListenOptions;
  readonly #stopping: AbortController;
  #tunnelId: string | null = null;
  /** Answers that are not sent yet. */
  #answers: WireAnswer[] = [];
  #isSending = false;
  #signedAt = 0;
  #isReady = false;
  /** How often a stream was opened. */
  #opens = 0;
  #isLost = false;
  #taken = 0;
  hasSucceeded = false;

  constructor(server: Server, forwarder: Forwarder, options: ListenOptions, stopping: AbortController) {
    this.#server = server;
    this.#forwarder = forwarder;
    this.#options = options;
    this.#stopping = stopping;
  }

  async run(secret: string | null): Promise<void> {
    const { signal } = this.#stopping;
    const signs = setInterval(() => this.#sign(), SIGN_MS / 2);
    try {
      const queue = await this.#untilConnected(() => this.#server.queue(this.#options.queue));
      while (!signal.aborted) await this.#untilConnected(() => this.#follow(queue, secret));
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      clearInterval(signs);
      const id = this.#tunnelId;
      if (id !== null) await this.#server.end(id).catch(() => undefined);
    }
  }

  /** Tries again until it works, or is refused for good. */
  async #untilConnected<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.#stopping;
    for (let delayMs = RECONNECT_MS.first; ; delayMs = Math.min(2 * delayMs, RECONNECT_MS.last)) {
      const opens = this.#opens;
      try {
        return await work();
      } catch (error) {
        if (error instanceof Refused || signal.aborted) throw error;
        if (this.#opens > opens) delayMs = RECONNECT_MS.first;
        this.#lost(error instanceof Error ? error.message : String(error));
        await sleep(delayMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #follow(queue: ListenedQueue, secret: string | null): Promise<void> {
    const { isTap, isForced } = this.#options;
    const { signal } = this.#stopping;
    // A tap that reconnects gets no copies of what happened meanwhile.
    const events = isTap ? this.#server.tap(queue.id, signal) : this.#server.tunnel(queue.id, isForced, signal);
    try {
      let isOpen = false;
      for await (const { tunnelId, more, deliveries } of events) {
        if (!isOpen) this.#opened(tunnelId, queue, secret);
        isOpen = true;
        if (more > 0) this.#options.print.note({ type: 'missed' }, `${more} further jobs changed, too many for copies`);
        for (const delivery of deliveries) void this.#deliver(tunnelId, queue, delivery);
      }
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    if (!signal.aborted) throw new Error('the service ended the stream');
  }

  #opened(tunnelId: string | null, queue: ListenedQueue, secret: string | null): void {
    this.#tunnelId = tunnelId;
    this.#opens += 1;
    this.#isLost = false;
    // The service has given back what was in flight.
    this.#answers = [];
    this.#signedAt = performance.now();
    if (this.#isReady) this.#options.print.note({ type: 'connected' }, 'connected again');
    else this.#options.print.ready({ queue, secret });
    this.#isReady = true;
  }

  #lost(reason: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    const sentence = this.#isReady ? 'the connection is lost, and is tried again' : 'no connection yet';
    this.#options.print.note({ type: 'lost' }, `${sentence}: ${reason}`);
  }

  async #deliver(tunnelId: string | null, queue: ListenedQueue, delivery: WireDelivery): Promise<void> {
    const { isOnce, isTap, print } = this.#options;
    this.#taken += 1;
    // The service gives back what is not answered.
    if (isOnce && this.#taken > 1) return;
    const { answer, durationMs } = await this.#forwarder.send(delivery);
    const { statusCode = null, error = null, body = null } = answer;
    print.attempt({
      ...{ at: new Date(), accountId: '', jobId: delivery.jobId, queue: queue.name, attempt: delivery.attempt },
      ...{ statusCode, error, durationMs, answer: body },
    });
    if (!isTap && this.#tunnelId === tunnelId) {
      this.#answers.push(answer);
      await this.#sendAnswers();
    }
    if (!isOnce) return;
    this.hasSucceeded = statusCode !== null && statusCode >= 200 && statusCode <= 299;
    this.#stopping.abort();
  }

  /** All answers that are here when the last call has returned go together. */
  async #sendAnswers(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      while (this.#answers.length > 0) {
        // In one turn with all that arrived together.
        await new Promise((resolve) => setImmediate(resolve));
        await this.#post(this.#answers.splice(0, 500));
      }
    } finally {
      this.#isSending = false;
    }
  }

  async #post(answers: WireAnswer[]): Promise<void> {
    const tunnelId = this.#tunnelId;
    if (tunnelId === null) return;
    this.#signedAt = performance.now();
    try {
      await this.#server.answer(tunnelId, answers);
    } catch (error) {
      // The service waits for them until the time limit of the delivery. A repeated answer changes nothing.
      if (this.#tunnelId !== tunnelId || this.#stopping.signal.aborted) return;
      if (error instanceof Refused)
        this.#options.print.note({ type: 'refused' }, `answers were refused: ${error.message}`);
      else {
        await sleep(RECONNECT_MS.first);
        if (this.#tunnelId === tunnelId) this.#answers.unshift(...answers);
      }
    }
  }

  #sign(): void {
    if (this.#isSending || performance.now() - this.#signedAt < SIGN_MS) return;
    void this.#post([]);
  }
}
