import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';

/** The envelope as a webhook sees it (spec "Events"). */
export interface ReceivedEnvelope {
  id: string;
  queue: string;
  payload: unknown;
  attempt: number;
  maxAttempts: number;
  createdAt: string;
}

export interface ReceivedRequest {
  method: string;
  /** Path and query. */
  path: string;
  headers: IncomingHttpHeaders;
  /** Name and value in turn, as they came in: shows duplicates. */
  rawHeaders: string[];
  /** The body's bytes, to check the signature and the verbatim payload with. */
  raw: Buffer;
  /** Number of the connection it came in on, from 1. */
  connection: number;
  /** When its headers were there, in milliseconds since the epoch on the monotonic clock. */
  arrivedAt: number;
  /** When the answer was finished; `null` while it is not, or when the sender hung up before. */
  answeredAt: number | null;
  /** Status of the answer, once it was chosen. */
  status: number | null;
  /** The body, parsed on first use. */
  json(): ReceivedEnvelope;
}

export interface Reply {
  status?: number;
  headers?: Record<string, string | number | string[]>;
  /** An object is sent as JSON. */
  body?: string | Buffer | object;
  /** Think time. */
  delayMs?: number;
}

export type ReplyHandler = (request: ReceivedRequest) => Reply | undefined | Promise<Reply | undefined>;

export interface ReceiverOptions {
  /** The first script; by default 200 with an empty body. */
  respond?: Reply | ReplyHandler;
  /** Serve https with this certificate. */
  tls?: { key: string; cert: string };
  /** How long idle connections are kept open; Node's own 5 s by default. */
  keepAliveTimeoutMs?: number;
  /** A port to listen on again after a close; any free one by default. */
  port?: number;
}

export interface Receiver {
  /** Without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** Every request whose body came in completely, in that order. */
  readonly requests: ReceivedRequest[];
  /** Requests being answered now, and the most there ever were at once. */
  readonly inFlight: number;
  readonly maxInFlight: number;
  /** Connections accepted so far. */
  readonly connections: number;
  /** Changes the script for requests that come in from now on. */
  respondWith(script: Reply | ReplyHandler): void;
  /**
   * Resolves once so many requests have come in, or once the predicate holds. It is evaluated at
   * every arrival and every finished answer. Rejects after `timeoutMs` (a minute by default).
   */
  waitFor(
    condition: number | ((requests: ReceivedRequest[]) => boolean),
    timeoutMs?: number,
  ): Promise<ReceivedRequest[]>;
  /** Cuts all connections. */
  close(): Promise<void>;
}

/** A real HTTP server as the webhook: it records everything and answers as the script defines. */
export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const server = options.tls === undefined ? createServer() : createTlsServer(options.tls);
  if (options.keepAliveTimeoutMs !== undefined) server.keepAliveTimeout = options.keepAliveTimeoutMs;
  const requests: ReceivedRequest[] = [];
  const waiters = createWaiters(requests);
  const thinkTimes = createThinkTimes();
  const connectionNumbers = new WeakMap<Socket, number>();
  let script: Reply | ReplyHandler = options.respond ?? {};
  let connections = 0;
  let inFlight = 0;
  let maxInFlight = 0;

  async function handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const arrivedAt = monotonicNow();
    inFlight += 1;
    maxInFlight = Math.max(maxInFlight, inFlight);
    response.once('close', () => {
      inFlight -= 1;
      waiters.check();
    });
    const raw = await readBody(message);
    if (raw === null) return;
    const request = toReceived(message, raw, { arrivedAt, connection: connectionNumbers.get(message.socket) ?? 0 });
    requests.push(request);
    response.once('finish', () => {
      request.answeredAt = monotonicNow();
    });
    waiters.check();
    const reply = (typeof script === 'function' ? await script(request) : script) ?? {};
    if (reply.delayMs !== undefined && reply.delayMs > 0) await thinkTimes.wait(reply.delayMs);
    request.status = reply.status ?? 200;
    answer(response, reply);
  }

  // Plain and TLS sockets alike: both events carry the socket that requests name.
  server.on(options.tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    connections += 1;
    connectionNumbers.set(socket, connections);
  });
  server.on('request', (message, response) => {
    handle(message, response).catch((error: unknown) => {
      // A script that throws must be seen by the test, and not be taken for a failing webhook.
      waiters.fail(error instanceof Error ? error : new Error(String(error)));
      response.destroy();
    });
  });
  const port = await listen(server, options.port ?? 0);

  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    requests,
    get inFlight() {
      return inFlight;
    },
    get maxInFlight() {
      return maxInFlight;
    },
    get connections() {
      return connections;
    },
    respondWith(next) {
      script = next;
    },
    waitFor: waiters.waitFor,
    async close() {
      thinkTimes.cancel();
      waiters.fail(new Error('receiver closed'));
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

/** Scripted delays, which must not outlive the receiver. */
function createThinkTimes() {
  const timers = new Set<NodeJS.Timeout>();
  return {
    wait(delayMs: number): Promise<void> {
      return new Promise((resolve) => {
        const timer = setTimeout(() => {
          timers.delete(timer);
          resolve();
        }, delayMs);
        timers.add(timer);
      });
    },
    cancel(): void {
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** Whether a delivery's signature header is right; compares in constant time (spec "Authentication", 3). */
export function verifySignature(raw: Buffer, header: string | string[] | undefined, secret: string): boolean {
  if (typeof header !== 'string') return false;
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`);
  const given = Buffer.from(header);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Monotonic, and comparable between the processes of one test. */
export function monotonicNow(): number {
  return performance.timeOrigin + performance.now();
}

/** `null` when the sender hung up before the end. */
function readBody(message: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
    message.once('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    message.once('close', () => resolve(null));
    message.once('error', () => resolve(null));
  });
}

function toReceived(
  message: IncomingMessage,
  raw: Buffer,
  { arrivedAt, connection }: { arrivedAt: number; connection: number },
): ReceivedRequest {
  let parsed: ReceivedEnvelope | undefined;
  return {
    method: message.method ?? '',
    path: message.url ?? '',
    headers: message.headers,
    rawHeaders: message.rawHeaders,
    raw,
    connection,
    arrivedAt,
    answeredAt: null,
    status: null,
    json() {
      parsed ??= JSON.parse(raw.toString('utf8')) as ReceivedEnvelope;
      return parsed;
    },
  };
}

function answer(response: ServerResponse, reply: Reply): void {
  if (response.destroyed) return;
  const { body = '' } = reply;
  const isJson = typeof body === 'object' && !Buffer.isBuffer(body);
  const bytes = isJson ? JSON.stringify(body) : body;
  response.writeHead(reply.status ?? 200, {
    'content-length': Buffer.byteLength(bytes),
    ...(isJson ? { 'content-type': 'application/json' } : {}),
    ...reply.headers,
  });
  response.end(bytes);
}

interface Waiter {
  condition: number | ((requests: ReceivedRequest[]) => boolean);
  resolve: (requests: ReceivedRequest[]) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
}

function createWaiters(requests: ReceivedRequest[]) {
  const waiters = new Set<Waiter>();
  let failure: Error | null = null;

  function isMet({ condition }: Pick<Waiter, 'condition'>): boolean {
    return typeof condition === 'number' ? requests.length >= condition : condition(requests);
  }
  function leave(waiter: Waiter): void {
    clearTimeout(waiter.timer);
    waiters.delete(waiter);
  }
  return {
    check(): void {
      for (const waiter of waiters) {
        try {
          if (!isMet(waiter)) continue;
          leave(waiter);
          waiter.resolve(requests);
        } catch (error) {
          leave(waiter);
          waiter.reject(error as Error);
        }
      }
    },
    fail(error: Error): void {
      failure ??= error;
      for (const waiter of waiters) {
        leave(waiter);
        waiter.reject(error);
      }
    },
    waitFor(condition: Waiter['condition'], timeoutMs = 60_000): Promise<ReceivedRequest[]> {
      // The stack of the caller is what names the condition that was never met.
      const timedOut = new Error();
      return new Promise((resolve, reject) => {
        if (isMet({ condition })) return resolve(requests);
        if (failure !== null) return reject(failure);
        const timer = setTimeout(() => {
          leave(waiter);
          const wanted = typeof condition === 'number' ? `${condition} requests` : `${condition}`;
          timedOut.message = `waited ${timeoutMs} ms for ${wanted}; ${requests.length} requests came in`;
          reject(timedOut);
        }, timeoutMs);
        const waiter: Waiter = { condition, resolve, reject, timer };
        waiters.add(waiter);
      });
    },
  };
}
