import type { JsonObject } from '../../../../src/contract/verbatim-json.ts';
import { createCollector } from './collector.ts';
import type { WebhookOptions } from './options.ts';
import { createReceiver, type HandlerFunction, oneValue, type Reply } from './receive.ts';

/** The part of Node's request that the handler uses; Express, Connect and `node:http` have it. */
export interface NodeRequest {
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Whether a parser has already read from the stream. */
  readonly readableDidRead: boolean;
  /** Whether the stream has ended for good. */
  readonly destroyed: boolean;
  /** Result of an earlier parser: a Buffer from `express.raw()`, an object from `express.json()`. */
  readonly body?: unknown;
  /** Bytes of the body, which some platforms keep here when they parse it. */
  readonly rawBody?: unknown;
  /** Adds a listener of the stream. */
  on(event: string, listener: (chunk: Uint8Array) => void): unknown;
  /** Removes a listener of the stream. */
  off(event: string, listener: (chunk: Uint8Array) => void): unknown;
}

/** The part of Node's response that the handler uses. */
export interface NodeResponse {
  /** The status that is sent with the headers. */
  statusCode: number;
  /** Sets a header. */
  setHeader(name: string, value: string): unknown;
  /** Sends the body and ends the response. */
  end(body: string): unknown;
}

/**
 * Creates a webhook for Express 4 and 5, and for other servers with Node's request and response:
 *
 *     app.post('/webhook', expressHandler({ secret }, async ({ job }) => send(job.payload)));
 *
 * The handler reads the body itself, so it must come before `express.json()`. It also accepts a Buffer from
 * `express.raw()`. It answers every request and never calls `next`.
 */
export function expressHandler<Payload = JsonObject>(
  options: WebhookOptions<Payload>,
  run: HandlerFunction<Payload>,
): (req: NodeRequest, res: NodeResponse) => Promise<void> {
  const receiver = createReceiver(options, run);
  return async (req, res) => {
    const body = await bodyOf(req, receiver.maxBodyBytes);
    if (body === 'aborted') return;
    if (body === 'parsed') return send(res, receiver.refuse('parsed body'));
    if (body === 'too large') return send(res, cutShort(receiver.refuse('too large')));
    const { reply, afterwards } = await receiver.receive(body, (name) => oneValue(req.headers[name]));
    send(res, reply);
    await afterwards?.();
  };
}

/** The rest of the body is not read, so the connection cannot carry another request. */
function cutShort(reply: Reply): Reply {
  return { ...reply, headers: { ...reply.headers, connection: 'close' } };
}

type Body = Uint8Array | 'parsed' | 'too large' | 'aborted';

async function bodyOf(req: NodeRequest, maxBytes: number): Promise<Body> {
  const given = [req.rawBody, req.body].find((body) => body instanceof Uint8Array);
  if (given instanceof Uint8Array) return given.byteLength > maxBytes ? 'too large' : given;
  // A parser that does not want this content type leaves `{}` as the body, and the stream as it is.
  return req.readableDidRead || req.destroyed ? 'parsed' : readStream(req, maxBytes);
}

function readStream(req: NodeRequest, maxBytes: number): Promise<Body> {
  return new Promise((resolve) => {
    const collector = createCollector(maxBytes);
    const collect = (chunk: Uint8Array) => {
      if (collector.add(chunk)) return;
      req.off('data', collect);
      resolve('too large');
    };
    req.on('data', collect);
    req.on('end', () => resolve(collector.bytes()));
    req.on('error', () => resolve('aborted'));
    req.on('close', () => resolve('aborted'));
  });
}

function send(res: NodeResponse, { status, headers, body }: Reply): void {
  res.statusCode = status;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.end(body);
}
