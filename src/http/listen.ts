import { createServer, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Express } from 'express';
import { messageClassesOf } from './message-classes.ts';
import { RunningRequests } from './running-requests.ts';
import { cutStalledAnswers } from './stalled-answers.ts';

/** Milliseconds. Tests shorten them. */
const TIMEOUTS = {
  /** A client that takes longer to say what it wants is cut off, so that it cannot hold a socket for free. */
  headers: 10_000,
  request: 30_000,
  /** How often Node looks at the two above; its default of 30 s would make 10 s mean 40 s. */
  check: 2_000,
  /** Longer than the 60 s of common load balancers, which must be the ones to close an idle socket. */
  keepAlive: 65_000,
  /** An answer of which the client takes nothing for so long is given up. */
  stalled: 10_000,
  /** How long a shutdown waits for requests under way. */
  grace: 10_000,
};

export interface ListenOptions {
  host: string;
  port: number;
  timeouts?: Partial<typeof TIMEOUTS>;
}

export interface Listening {
  /** Base address, with the port that was given when 0 was asked for. */
  url: string;
  /** Stops accepting, lets requests under way finish, and ends every connection. */
  close(): Promise<void>;
}

/** Starts serving. What Node would answer by itself, empty or as text, is JSON here too (D22). */
export async function listen(app: Express, options: ListenOptions): Promise<Listening> {
  const running = new RunningRequests();
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const server = createServer({
    ...messageClassesOf(app),
    headersTimeout: timeouts.headers,
    requestTimeout: timeouts.request,
    connectionsCheckingInterval: timeouts.check,
    keepAliveTimeout: timeouts.keepAlive,
    // Node would answer 400 without a body; the check is made below instead.
    requireHostHeader: false,
  });
  server.on('request', (req, res) => {
    running.add(res);
    if (!server.listening) res.shouldKeepAlive = false;
    if (req.headers.host === undefined && req.httpVersion === '1.1') refuse(res, 400, 'the Host header is missing');
    else app(req, res);
  });
  server.once(
    'close',
    cutStalledAnswers(() => running.sockets(), timeouts),
  );
  server.on('checkExpectation', (_req, res) => refuse(res, 417, 'only Expect: 100-continue is supported'));
  server.on('connect', (_req, socket) => socket.end(rawAnswer(404, 'not found')));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    answerParserError(error, socket as Socket, running),
  );

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return { url: urlOf(server), close: () => closeGracefully(server, running, timeouts.grace) };
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/**
 * Node stops checking its timeouts once it is told to close, so a silent client could hold the server
 * open for ever: when the last request is answered, whatever is still connected goes.
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
  // A request under way has its own answer coming; one put in its place would be taken for it.
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
  const body = JSON.stringify({ error: message });
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length }).end(body);
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
