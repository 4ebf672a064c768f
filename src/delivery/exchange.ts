import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import type { Dispatcher } from 'undici';
import { type DeliveryAnswer, isOwnFailure } from '../domain/outcome.ts';
import { HELD_UP_MS } from '../pacing/decide-after.ts';
import { classifyError } from './delivery-error.ts';
import type { Egress } from './egress.ts';
import type { InterimUse } from './interim-answers.ts';

/** Names are in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** How one send ended. `abandoned`: the claim was lost before the request was written. */
export type SendResult = SentResult | { abandoned: true };

interface SentResult {
  abandoned?: never;
  answer: DeliveryAnswer;
  durationMs: number;
  responseBody: string | null;
  /** Set if the client of a tunnel has sent the answer: what it lacks is not the operator's to repair. */
  isFromClient?: true;
}

/** Bytes of an answer's body that are read and stored (R9). */
export const RESPONSE_BODY_BYTES = 4096;

/** The status line decides the outcome, so a body that takes longer than this after it is cut off. */
const BODY_GRACE_MS = 500;

/** Time in which a process that was suspended or blocked reads what its sockets have received. */
const READ_SOCKETS_MS = 250;

/**
 * Bytes of a body that a receiver has most likely read if it refuses a request by the headers. The kernels of both
 * sides hold the rest, up to a megabyte, and nothing in this process shows whether the receiver reads it.
 */
const READ_WITH_HEADERS_BYTES = 4096;
/**
 * The receiver may have accepted a job whose body is larger than this without reading it. Few receivers do so, and a
 * new connection after each smaller job would cost more.
 */
const LARGE_ACCEPTED_BYTES = 256 * 1024;

/**
 * If the receiver was closing a keep-alive connection, the sender learns it within a round trip. A connection that is
 * lost later than this was lost while the receiver processed the job.
 */
const STALE_CONNECTION_MS = 1000;

/** The facts about a connection that an exchange depends on. */
export interface ConnectionUse extends InterimUse {
  /** Requests written since the socket was opened. */
  requests: number;
  /** Account of the last request that was dispatched to the connection. */
  accountId: string;
  /** Null until it is open. */
  socket: Socket | null;
}

/** Options for undici. The pool passes them on unchanged, and the chosen connection sets `connection`. */
export interface ExchangeOptions extends Dispatcher.DispatchOptions {
  accountId: string;
  connection: ConnectionUse | null;
}

interface ExchangeSetup {
  options: ExchangeOptions;
  timeoutMs: number;
  /** See `SendRequest.stillMine`. */
  stillMine: ((remainingMs: number) => boolean) | undefined;
  /** Connections that may be open already. */
  pooled: Dispatcher;
  /** A new connection for every request. */
  fresh: Dispatcher;
  egress: Egress;
  settle: (result: SendResult) => void;
  /** See `TestOptions.onHeaders`. */
  onHeaders?: ((headers: AnswerHeaders, socket: Socket | null) => void) | undefined;
}

/** The reason given to undici when a request is cut off. undici returns it as an error, which is ignored. */
const CUT_OFF = new Error('exchange ended');

/**
 * One request and its answer. One deadline covers connect, headers and body, because undici's timers restart with
 * every byte. The status line decides the outcome (F-12 to F-14). After it, a body that is slow,
 * endless or incomplete changes nothing: it is read only to be shown and to keep the connection reusable.
 *
 * If a request fails on a *reused* connection, at once and without one byte of an answer, the receiver was most likely
 * just closing that connection. Whether it read the request is unknown. Delivery is at least once, so the request is
 * sent once more, on a new connection and within the same deadline, instead of counting as a failed attempt.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #setup: ExchangeSetup;
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout;
  /** When the timer is due, on the clock of `performance.now()`. */
  #dueAt: number;
  #controller: Dispatcher.DispatchController | null = null;
  #isSettled = false;
  #isRetry = false;
  /** 0 until the request is written. */
  #writtenAt = 0;
  #wasHeldUp = false;
  #isReused = false;
  #statusCode: number | null = null;
  #retryAfter: string | null = null;
  #isPermanent = false;
  #chunks: Buffer[] = [];
  #bodyBytes = 0;
  #hasEnded = false;
  /**
   * Whether the receiver may have answered before it read the request: then the next one would wait behind the rest.
   */
  #isUnread = false;

  constructor(setup: ExchangeSetup) {
    this.#setup = setup;
    this.#dueAt = this.#startedAt + setup.timeoutMs;
    this.#timer = setTimeout(expireInTime, setup.timeoutMs, this);
  }

  start(): void {
    if (this.#isMine()) this.#setup.pooled.dispatch(this.#setup.options, this);
    else this.#settle({ abandoned: true });
  }

  /**
   * undici calls this directly before it writes, which is the last moment to check the claim. However long connecting
   * took, the deadline ends a request that is written now in time; only a process that was suspended can be too late.
   */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (!this.#isMine()) this.#settle({ abandoned: true });
    else if (this.#remainingMs() <= 0) this.#settleHeldUp();
    if (this.#isSettled) {
      controller.abort(CUT_OFF);
      return;
    }
    const { connection } = this.#setup.options;
    if (connection !== null) {
      this.#isReused = connection.requests > 0;
      connection.requests += 1;
      connection.awaitsAnswer = true;
      connection.interimBytes = 0;
      connection.hasAnswerByte = false;
    }
    this.#writtenAt = performance.now();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: AnswerHeaders): void {
    if (statusCode < 200 || this.#isSettled) return;
    this.#statusCode = statusCode;
    this.#isUnread = this.#mayBeUnread(statusCode);
    this.#setup.onHeaders?.(headers, this.#setup.options.connection?.socket ?? null);
    this.#retryAfter = lastOf(headers['retry-after']);
    this.#isPermanent = lastOf(headers['x-jobferry-outcome'])?.trim().toLowerCase() === 'permanent';
    clearTimeout(this.#timer);
    this.#expireAfter(Math.max(1, Math.min(BODY_GRACE_MS, this.#remainingMs())));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    const missing = RESPONSE_BODY_BYTES - this.#bodyBytes;
    // A copy, because a subarray would keep the whole chunk in memory.
    if (missing > 0) this.#chunks.push(chunk.length > missing ? Buffer.from(chunk.subarray(0, missing)) : chunk);
    this.#bodyBytes += chunk.length;
    // Deferred: if the end of the body has also arrived, the connection stays reusable.
    if (missing > 0 && chunk.length >= missing) queueMicrotask(() => this.#hasEnded || this.expire());
  }

  onResponseEnd(): void {
    if (this.#isSettled) return;
    this.#hasEnded = true;
    // undici frees the connection in an immediate that it sets directly after this call. Settling after that lets a
    // caller that sends again at once reuse this connection instead of opening another.
    const durationMs = performance.now() - this.#startedAt;
    const { connection } = this.#setup.options;
    // Once undici's parser has returned.
    if (this.#isUnread) queueMicrotask(() => connection?.socket?.destroy());
    queueMicrotask(() => setImmediate(() => this.#settleAnswered(durationMs)));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isSettled) return;
    if (this.#statusCode !== null) this.#settleAnswered();
    else if (this.#isStaleConnection(error)) this.#retry();
    else this.fail(error);
  }

  /**
   * Ends the exchange when its time is over. A timer that fires late shows that the process was suspended or its event
   * loop was blocked. Timers then run before the sockets are read, so the answer may have arrived in time: it gets the
   * time to be read. The lease lasts for some seconds longer than the time limit.
   */
  expireInTime(): void {
    if (!this.#wasHeldUp && performance.now() - this.#dueAt > HELD_UP_MS) {
      this.#wasHeldUp = true;
      this.#expireAfter(READ_SOCKETS_MS);
    } else this.expire();
  }

  #expireAfter(ms: number): void {
    this.#dueAt = performance.now() + ms;
    this.#timer = setTimeout(expireInTime, ms, this);
  }

  /** Ends the exchange: its time is over, or enough of the body has arrived. */
  expire(): void {
    if (this.#isSettled) return;
    if (this.#statusCode !== null) this.#settleAnswered();
    else if (this.#writtenAt > 0) this.#settleUnanswered({ kind: 'no_answer', error: 'timeout' });
    // Nothing was written, and not because of the receiver.
    else if (this.#wasHeldUp) this.#settleHeldUp();
    else {
      const { hostname } = new URL(String(this.#setup.options.origin));
      this.#settleUnanswered({ kind: 'no_answer', error: this.#setup.egress.keepsFrom(hostname) ?? 'timeout' });
    }
    this.#controller?.abort(CUT_OFF);
  }

  /** Without a claim, as for a test request, there is nothing to give back. */
  #settleHeldUp(): void {
    if (this.#setup.stillMine === undefined) this.#settleUnanswered({ kind: 'no_answer', error: 'timeout' });
    else this.#settle({ abandoned: true });
  }

  fail(error: unknown): void {
    const failure = classifyError(error);
    // The receiver may have read the request that was written to the connection before: then the delivery has begun.
    const name = isOwnFailure(failure) && this.#isRetry ? 'reset' : failure;
    // The time limit of the connect has passed in the same suspension.
    if (name === 'timeout' && this.#wasHeldUp && this.#writtenAt === 0) {
      this.#settleHeldUp();
      return;
    }
    if (isOwnFailure(failure)) this.#setup.egress.failed(failure);
    const code = name === 'tls_error' ? (error as NodeJS.ErrnoException).code : undefined;
    this.#settleUnanswered({ kind: 'no_answer', error: name, ...(code === undefined ? {} : { code }) });
  }

  /** A receiver that refuses a request by its headers, or confirms a large one unread, may never read the rest. */
  #mayBeUnread(statusCode: number): boolean {
    const { body, connection } = this.#setup.options;
    if ((connection?.socket?.writableLength ?? 0) > 0) return true;
    const bytes = Buffer.isBuffer(body) ? body.length : 0;
    if (bytes <= READ_WITH_HEADERS_BYTES) return false;
    return statusCode > 299 || bytes > LARGE_ACCEPTED_BYTES;
  }

  #isMine(): boolean {
    return this.#setup.stillMine?.(this.#remainingMs()) !== false;
  }

  #remainingMs(): number {
    return this.#setup.timeoutMs - (performance.now() - this.#startedAt);
  }

  #isStaleConnection(error: Error): boolean {
    return (
      this.#isReused &&
      !this.#isRetry &&
      this.#setup.options.connection?.hasAnswerByte !== true &&
      performance.now() - this.#writtenAt < STALE_CONNECTION_MS &&
      classifyError(error) === 'reset'
    );
  }

  #retry(): void {
    this.#isRetry = true;
    this.#controller = null;
    this.#setup.fresh.dispatch(this.#setup.options, this);
  }

  #settleAnswered(durationMs = performance.now() - this.#startedAt): void {
    const statusCode = this.#statusCode as number;
    const answer = { kind: 'answered' as const, statusCode, retryAfter: this.#retryAfter };
    this.#settle({
      answer: this.#isPermanent ? { ...answer, isPermanent: true } : answer,
      durationMs,
      responseBody: decodeBody(this.#chunks, this.#bodyBytes > RESPONSE_BODY_BYTES),
    });
  }

  #settleUnanswered(answer: DeliveryAnswer): void {
    this.#settle({ answer, durationMs: performance.now() - this.#startedAt, responseBody: null });
  }

  #settle(result: SendResult): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.#chunks = [];
    this.#setup.settle(result);
  }
}

function expireInTime(exchange: Exchange): void {
  exchange.expireInTime();
}

/** The last of several headers wins (D6). */
function lastOf(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header.at(-1) : header) ?? null;
}

/**
 * Decodes the body as UTF-8. NUL is replaced, because PostgreSQL cannot store it;
 * a character that the cut split is dropped.
 */
export function decodeBody(chunks: readonly Buffer[], isCut: boolean): string {
  const [first] = chunks;
  if (first === undefined) return '';
  const bytes = chunks.length === 1 ? first : Buffer.concat(chunks);
  const text = isCut ? new StringDecoder('utf8').write(bytes) : bytes.toString('utf8');
  return text.replaceAll('\0', '\ufffd');
}
