import type { JsonObject } from '../../../../src/contract/verbatim-json.ts';
import { createCollector } from './collector.ts';
import type { WebhookOptions } from './options.ts';
import { createReceiver, type HandlerFunction, type Reply } from './receive.ts';

/** The context of a serverless runtime; Workers call it `ctx`. */
export interface FetchContext {
  /** Keeps a serverless runtime alive until the promise is settled. */
  waitUntil?: (promise: Promise<unknown>) => void;
}

/**
 * Creates a webhook for runtimes and frameworks with the Fetch API:
 *
 *     const handle = fetchHandler({ secret }, async ({ job }) => send(job.payload));
 *     export default { fetch: (request, env, ctx) => handle(request, ctx) };   // Workers
 *     app.post('/webhook', (c) => handle(c.req.raw));                          // Hono
 *     export const POST = (request: Request) => handle(request);               // Next.js
 *
 * In ack mode the function runs after the answer. A serverless runtime stops at that point unless the handler has an
 * object with `waitUntil`: pass the `ctx` of Workers, or `{ waitUntil }` of `@vercel/functions`. Servers that keep
 * running need none. If the runtime stops the function nevertheless, the job is delivered again after `ackTimeout`.
 */
export function fetchHandler<Payload = JsonObject>(
  options: WebhookOptions<Payload>,
  run: HandlerFunction<Payload>,
): (request: Request, context?: FetchContext) => Promise<Response> {
  const receiver = createReceiver(options, run);
  return async (request, context) => {
    if (request.bodyUsed) return toResponse(receiver.refuse('parsed body'));
    const body = await readBody(request, receiver.maxBodyBytes);
    if (body === null) return toResponse(receiver.refuse('too large'));
    const { reply, afterwards } = await receiver.receive(body, (name) => request.headers.get(name));
    if (afterwards !== undefined) {
      // In a later turn of the event loop, so that the function's first steps do not delay the answer.
      const done = new Promise((resolve) => setTimeout(resolve)).then(afterwards);
      context?.waitUntil?.(done);
    }
    return toResponse(reply);
  };
}

/** Returns null when the body is too large. */
async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | null> {
  const collector = createCollector(maxBytes);
  const reader = request.body?.getReader();
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    if (collector.add(next.value)) continue;
    await reader?.cancel();
    return null;
  }
  return collector.bytes();
}

function toResponse({ status, headers, body }: Reply): Response {
  return new Response(body === '' ? null : body, { status, headers });
}
