import {
  createServer,
  IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Express } from 'express';
import { boundUrl } from '../../domain/listening-address.ts';
import { arrivals } from '../../pacing/arrivals.ts';
import { counted } from '../guards/counted.ts';
import type { RequestWatch } from './access-log.ts';
import { listenOn, urlOf } from './address.ts';
import { OpenConnections } from './open-connections.ts';
import { Overdue } from './overdue.ts';
import { giveRequestId } from './request-id.ts';
import { RunningRequests } from './running-requests.ts';
import { cutStalledAnswers, type SLOWEST } from './stalled-answers.ts';
import { Starting } from './starting.ts';

/** Milliseconds. Tests shorten them. */
const TIMEOUTS = {
  /** A client that sends its request more slowly is cut off, so that it cannot hold a socket without cost. */
  headers: 10_000,
  request: 30_000,
  /** How often Node checks the two above. With its default of 30 s, 10 s could become 40 s. */
  check: 2_000,
  /** How long after one of them a request may still be found to have arrived (`Overdue`). */
  late: 500,
  /** Longer than the 60 s of common load balancers: the load balancer must be the side that closes an idle socket. */
  keepAlive: 65_000,
  /** An answer of which the client reads nothing for this long is cut off. */
  stalled: 10_000,
  /** How long a shutdown waits for running requests. */
  grace: 10_000,
  /** How long a request waits for the end of the start. */
  start: 10_000,
};

export interface ListenOptions {
  /** An address, a host name, or the path of a unix socket. */
  host: string;
  port: number;
  /** The variable that names the port, for messages; `PORT` if undefined. */
  variable?: string;
  /** Begins the names of the variables. */
  prefix?: string;
  watch?: RequestWatch;
  timeouts?: Partial<typeof TIMEOUTS>;
  slowest?: typeof SLOWEST;
  /** Whether the address is bound by `open` only. */
  isOpenedLater?: boolean;
  /** Most connections at once. Tests set a smaller number. */
  connections?: number;
}

interface Listening {
  /** Base address. If port 0 was requested, it has the port that the system assigned. */
  url: string;
  /**
   * Stops accepting connections, waits for running requests, and ends every connection.
   * @param lingerMs how long an idle connection may still bring a last request. A proxy may be sending one just now,
   *   and does not repeat it if the connection ends. It uses no new connection, because the port is closed.
   */
  close(lingerMs?: number): Promise<void>;
}

/**
 * A bound address. Until `serve` is called, requests wait, and the health paths answer that the service is starting.
 */
export interface Bound extends Listening {
  /** Passes the requests that wait, and all further ones, to the app. */
  serve(app: Express): void;
  /** Binds the address, if that was left for later. @throws Error with a message for the operator */
  open(): Promise<void>;
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
  const starting = new Starting(timeouts.start, refuseAtStart);
  let answer: RequestListener = answerWhileStarting(starting);
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
  const overdue = new Overdue(running);
  server.on('connection', (socket) => {
    arrivals.note();
    open.add(socket);
  });
  const begin: RequestListener = (req, res) => {
    running.add(res);
    giveRequestId(req, res);
    options.watch?.(req, res);
  };
  server.on('request', (req, res) => {
    begin(req, res);
    overdue.note(req);
    if (!server.listening) res.shouldKeepAlive = false;
    const hosts = hostLines(req);
    if (hosts > 1) refuse(res, 400, 'the Host header is given twice');
    else if (hosts === 0 && req.httpVersion === '1.1') refuse(res, 400, 'the Host header is missing');
    else {
      arrivals.run(() => {
        // The client may have left meanwhile, and `close` was emitted.
        if (!res.destroyed) answer(req, res);
      });
    }
  });
  server.once(
    'close',
    cutStalledAnswers(() => running.sockets(), timeouts, options.slowest),
  );
  server.on('checkExpectation', (req, res) => {
    begin(req, res);
    refuse(res, 417, 'only Expect: 100-continue is supported');
  });
  server.on('connect', ({ socket }, stream) => {
    // Node has removed its own listener, and without one a reset by the client ends the process.
    stream.on('error', () => undefined);
    refuseConnection(socket, running, [404, 'not found']);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket;
    const refuseIt = () => refuseConnection(socket, running, answerOf(error.code));
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') overdue.add(socket, timeouts.late, refuseIt);
    else refuseIt();
  });

  if (options.isOpenedLater !== true) await listenOn(server, options);
  return {
    get url() {
      return server.listening ? urlOf(server) : boundUrl(options.host, options.port);
    },
    open: async () => {
      if (!server.listening) await listenOn(server, options);
    },
    serve: (app) => {
      giveMessagesTo(app, messages);
      answer = app;
      starting.passOn(app);
    },
    close: (lingerMs = 0) => {
      starting.refuseAll();
      if (!server.listening) return Promise.resolve();
      return closeGracefully(server, running, { graceMs: timeouts.grace, lingerMs });
    },
  };
}

/**
 * Node takes the first of several lines, a proxy perhaps another one, and both compare it with the browser's `Origin`.
 */
function hostLines({ rawHeaders }: IncomingMessage): number {
  let lines = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') lines += 1;
  }
  return lines;
}

/** The process is alive but not ready. */
function answerWhileStarting(starting: Starting): RequestListener {
  return (req, res) => {
    if (req.url === '/healthz') answerProbe(req, res, 200, { status: 'ok' });
    else if (req.url === '/readyz') answerProbe(req, res, 503, { status: 'not ready', checks: { start: 'under way' } });
    else starting.add(req, res);
  };
}

/** The app, which finds routes and counts requests, is not there yet. */
function answerProbe(req: IncomingMessage, res: ServerResponse, status: number, body: object): void {
  Object.assign(res, { locals: { route: req.url } });
  counted(() => answerJson(res, status, body))(req, res);
}

function refuseAtStart(res: ServerResponse): void {
  counted(() => {
    res.setHeader('retry-after', '1');
    refuse(res, 503, 'the service is starting, nothing was done: try again');
  })(res.req, res);
}

/**
 * Closes the port. An answer that is sent from now on ends its connection; what is idle is ended after `lingerMs`, and
 * all connections when no request is running any more. Node's own `close` would end idle connections at once, and stop
 * checking its time-outs, so that a silent client could keep the server open for ever.
 */
function closeGracefully(
  server: Server,
  running: RunningRequests,
  { graceMs, lingerMs }: { graceMs: number; lingerMs: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    let isLingering = true;
    const closeWhenQuiet = () => {
      if (!isLingering && running.count === 0) server.closeAllConnections();
    };
    const endLingering = () => {
      isLingering = false;
      server.closeIdleConnections();
      closeWhenQuiet();
    };
    const timers = [setTimeout(() => server.closeAllConnections(), lingerMs + graceMs)];
    running.onNone = () => setImmediate(closeWhenQuiet);
    NetServer.prototype.close.call(server, (error) => {
      for (const timer of timers) clearTimeout(timer);
      if (error === undefined) resolve();
      else reject(error);
    });
    for (const res of running.all()) res.shouldKeepAlive = false;
    if (lingerMs > 0) timers.push(setTimeout(endLingering, lingerMs));
    else endLingering();
  });
}

/** Sends a last answer to a connection of which Node reads no further requests, and closes it. */
function refuseConnection(socket: Socket, running: RunningRequests, [status, message]: [number, string]): void {
  // A running request will send its own answer; the client would take this one for it.
  const busy = running.of(socket).some((res) => res.req.complete);
  if (busy || !socket.writable) {
    socket.destroy();
    return;
  }
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

interface MessageClasses {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse<IncomingMessage>;
}

/**
 * Express replaces the prototype of every request and response, which makes V8 discard its optimisations for them:
 * Express alone then serves a quarter of the requests that Node does. With classes that have the right prototype from
 * the start, the replacement changes nothing; this was measured to nearly triple the requests of Express alone. Pass
 * the classes to `createServer`. They behave as Node's own until `giveMessagesTo` connects them to an app.
 */
function createMessageClasses(): MessageClasses {
  return {
    IncomingMessage: class AppRequest extends IncomingMessage {},
    ServerResponse: class AppResponse extends ServerResponse {},
  };
}

/** Gives the classes the app's request and response methods. */
function giveMessagesTo(app: Express, classes: MessageClasses): void {
  const [request, response] = [classes.IncomingMessage.prototype, classes.ServerResponse.prototype];
  Object.setPrototypeOf(request, app.request);
  Object.setPrototypeOf(response, app.response);
  app.request = request as Express['request'];
  app.response = response as unknown as Express['response'];
}
