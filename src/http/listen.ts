import { createServer, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Express } from 'express';
import { createMessageClasses, giveMessagesTo } from './message-classes.ts';
import { OpenConnections } from './open-connections.ts';
import { RunningRequests } from './running-requests.ts';
import { cutStalledAnswers, type SLOWEST } from './stalled-answers.ts';

/** Milliseconds. Tests shorten them. */
const TIMEOUTS = {
  /** A client that sends its request more slowly is cut off, so that it cannot hold a socket without cost. */
  headers: 10_000,
  request: 30_000,
  /** How often Node checks the two above. With its default of 30 s, 10 s could become 40 s. */
  check: 2_000,
  /** Longer than the 60 s of common load balancers: the load balancer must be the side that closes an idle socket. */
  keepAlive: 65_000,
  /** An answer of which the client reads nothing for this long is cut off. */
  stalled: 10_000,
  /** How long a shutdown waits for running requests. */
  grace: 10_000,
};

export interface ListenOptions {
  host: string;
  port: number;
  /** The variable that names the port, for messages; `PORT` if undefined. */
  variable?: string;
  timeouts?: Partial<typeof TIMEOUTS>;
  slowest?: typeof SLOWEST;
  /** Most connections at once. Tests set a smaller number. */
  connections?: number;
}

interface Listening {
  /** Base address. If port 0 was requested, it has the port that the system assigned. */
  url: string;
  /** Stops accepting connections, waits for running requests, and ends every connection. */
  close(): Promise<void>;
}

/** A bound address. Until `serve` is called, it answers that the service is starting. */
export interface Bound extends Listening {
  /** Passes all further requests to the app. */
  serve(app: Express): void;
}

/** Starts serving. Answers that Node sends by itself, empty or as text, are JSON here too (D22). */
export async function listen(app: Express, options: ListenOptions): Promise<Listening> {
  const bound = await bind(options);
  bound.serve(app);
  return bound;
}

/**
 * Binds the address. To be called first: if the address is in use, no other part has to be stopped again.
 * @throws Error with a message for the operator if the address cannot be bound
 */
export async function bind(options: ListenOptions): Promise<Bound> {
  const running = new RunningRequests();
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const messages = createMessageClasses();
  let answer: RequestListener = answerWhileStarting;
  const server = createServer({
    ...messages,
    headersTimeout: timeouts.headers,
    requestTimeout: timeouts.request,
    connectionsCheckingInterval: timeouts.check,
    keepAliveTimeout: timeouts.keepAlive,
    // Node would answer 400 without a body, so the header is checked below instead.
    requireHostHeader: false,
  });
  const open = new OpenConnections(running, options.connections);
  server.on('connection', (socket) => open.add(socket));
  server.on('request', (req, res) => {
    running.add(res);
    if (!server.listening) res.shouldKeepAlive = false;
    if (req.headers.host === undefined && req.httpVersion === '1.1') refuse(res, 400, 'the Host header is missing');
    else answer(req, res);
  });
  server.once(
    'close',
    cutStalledAnswers(() => running.sockets(), timeouts, options.slowest),
  );
  server.on('checkExpectation', (_req, res) => refuse(res, 417, 'only Expect: 100-continue is supported'));
  server.on('connect', (_req, socket) => socket.end(rawAnswer(404, 'not found')));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    answerParserError(error, socket as Socket, running),
  );

  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error) => reject(cannotListen(error, options));
    server.once('error', fail);
    server.listen(options.port, options.host, () => {
      server.off('error', fail);
      resolve();
    });
  });
  return {
    url: urlOf(server),
    serve: (app) => {
      giveMessagesTo(app, messages);
      answer = app;
    },
    close: () => closeGracefully(server, running, timeouts.grace),
  };
}

/** Answers until `serve` is called: the process is alive but not ready. */
const answerWhileStarting: RequestListener = (req, res) => {
  if (req.url === '/healthz') answerJson(res, 200, { status: 'ok' });
  else if (req.url === '/readyz') answerJson(res, 503, { status: 'not ready', checks: { start: 'under way' } });
  else {
    res.setHeader('retry-after', '1');
    refuse(res, 503, 'the service is starting, nothing was done: try again');
  }
};

function cannotListen(error: NodeJS.ErrnoException, { host, port, variable = 'PORT' }: ListenOptions): Error {
  const because = (message: string) => new Error(message, { cause: error });
  switch (error.code) {
    case 'EADDRINUSE':
      return because(`port ${port} of ${host} is in use: stop the program that listens there, or set ${variable}`);
    case 'EACCES':
      return because(`this user may not listen on port ${port} of ${host}: set ${variable} to 1024 or above`);
    case 'EADDRNOTAVAIL':
      return because(`${host} is not an address of this machine: set HOST`);
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return because(`the host name ${host} has no address: set HOST`);
    default:
      return because(`cannot listen on port ${port} of ${host}: ${error.message}`);
  }
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/**
 * Node stops checking its time-outs when the server closes, so a silent client could keep the server open for
 * ever. Therefore all connections are closed when the last request is answered.
 */
function closeGracefully(server: Server, running: RunningRequests, graceMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    const closeWhenQuiet = () => {
      if (running.count === 0) server.closeAllConnections();
    };
    server.on('request', (_req, res) => res.once('close', () => setImmediate(closeWhenQuiet)));
    server.close((error) => {
      clearTimeout(timer);
      if (error === undefined) resolve();
      else reject(error);
    });
    for (const res of running.all()) {
      res.shouldKeepAlive = false;
      res.once('close', () => setImmediate(closeWhenQuiet));
    }
    closeWhenQuiet();
  });
}

function answerParserError(error: NodeJS.ErrnoException, socket: Socket, running: RunningRequests): void {
  // A running request will send its own answer; the client would take this one for it.
  const busy = running.of(socket).some((res) => res.req.complete);
  if (busy || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = answerOf(error.code);
  socket.write(rawAnswer(status, message));
  socket.destroySoon();
}

function answerOf(code: string | undefined): [status: number, message: string] {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return [431, 'the path and headers are too large'];
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return [413, 'the chunk extensions are too large'];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [408, 'the request took too long to arrive'];
    default:
      return [400, 'malformed HTTP request'];
  }
}

function refuse(res: ServerResponse, status: number, message: string): void {
  res.shouldKeepAlive = false;
  answerJson(res, status, { error: message });
}

function answerJson(res: ServerResponse, status: number, answer: object): void {
  const body = JSON.stringify(answer);
  const length = Buffer.byteLength(body);
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': length }).end(body);
}

function rawAnswer(status: number, message: string): string {
  const body = JSON.stringify({ error: message });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
}
