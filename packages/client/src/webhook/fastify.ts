import type { JsonObject } from '../../../../src/contract/verbatim-json.ts';
import type { WebhookOptions } from './options.ts';
import { createReceiver, type HandlerFunction, oneValue } from './receive.ts';

/** The part of Fastify's request that the handler uses. */
export interface FastifyRequestLike {
  /** Bytes of the body, from the plugin's own parser; undefined when the request has no body. */
  readonly body: unknown;
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The part of Fastify's reply that the handler uses. */
export interface FastifyReplyLike {
  /** Sets the status. */
  code(status: number): unknown;
  /** Sets headers. */
  headers(values: Record<string, string>): unknown;
  /** Sends the body. */
  send(body?: string): unknown;
}

/** Options of a content type parser of Fastify. */
export interface FastifyParsing {
  /** The parser receives the whole body as bytes. */
  parseAs: 'buffer';
  /** Fastify refuses larger bodies with 413. */
  bodyLimit: number;
}

/** The part of a Fastify instance that the plugin uses. Each plugin has its own instance. */
export interface FastifyLike {
  /** Removes the parsers that the plugin's instance has inherited. */
  removeAllContentTypeParsers(): unknown;
  /** Adds a parser for a content type. */
  addContentTypeParser(
    contentType: string,
    options: FastifyParsing,
    parser: (request: never, body: never, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown;
  /** Adds the route. */
  post(path: string, handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>): unknown;
}

const NO_BODY = new Uint8Array();

/**
 * Creates a webhook for Fastify, as a plugin that adds one POST route:
 *
 *     app.register(fastifyHandler({ secret }, async ({ job }) => send(job.payload)), { prefix: '/webhook' });
 *
 * The plugin keeps the bytes of this route's bodies, because the signature is over them. Other routes keep their
 * parsers.
 */
export function fastifyHandler<Payload = JsonObject>(
  options: WebhookOptions<Payload>,
  run: HandlerFunction<Payload>,
): (instance: FastifyLike, options: object, done: () => void) => void {
  const receiver = createReceiver(options, run);
  return (instance, _options, done) => {
    instance.removeAllContentTypeParsers();
    const parsing: FastifyParsing = { parseAs: 'buffer', bodyLimit: receiver.maxBodyBytes };
    instance.addContentTypeParser('*', parsing, (_request, body, parsed) => parsed(null, body));
    instance.post('/', async ({ body, headers }, reply) => {
      const bytes = body instanceof Uint8Array ? body : NO_BODY;
      const { reply: answer, afterwards } = await receiver.receive(bytes, (name) => oneValue(headers[name]));
      reply.code(answer.status);
      reply.headers(answer.headers);
      reply.send(answer.body);
      // In ack mode the function runs after the answer, and never rejects.
      void afterwards?.();
      return reply;
    });
    done();
  };
}
