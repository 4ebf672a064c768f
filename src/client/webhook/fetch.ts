import type { JsonObject } from '../../contract/verbatim-json.ts';
import { createCollector } from './collector.ts';
import type { WebhookOptions } from './options.ts';
import { createReceiver, type HandlerFunction, type Reply, refusal, TOO_LARGE } from './receive.ts';

/** What Workers call `ctx`. */
export interface FetchContext {
  /** Keeps a serverless runtime alive until the promise is settled. */
  waitUntil?: (promise: Promise<unknown>) => void;
}

const ALREADY_READ = refusal(500, 'the body was read before the webhook handler: give it the request as it came in');

/**
 * A webhook for everything that speaks the Fetch API:
 *
 *     const handle = fetchHandler({ secret }, async ({ job }) => send(job.payload));
 *     export default { fetch: (request, env, ctx) => handle(request, ctx) };   // Workers
 *     app.post('/webhook', (c) => handle(c.req.raw));                          // Hono
 *     export const POST = (request: Request) => handle(request);               // Next.js
 *
 * In ack mode the function runs after the answer. A serverless runtime stops then unless it is told to
 * wait: pass it an object with `waitUntil`, such as the `ctx` of Workers or `{ waitUntil }` of
 * `@vercel/functions`. Servers that go on running need none. A job whose function is stopped all the same
 * is delivered again after `ackTimeout`.
 */
export function fetchHandler<Payload = JsonObject>(
  options: WebhookOptions,
  run: HandlerFunction<Payload>,
): (request: Request, context?: FetchContext) => Promise<Response> {
  const receiver = createReceiver(options, run);
  return async (request, context) => {
    if (request.bodyUsed) return toResponse(ALREADY_READ);
    const body = await readBody(request, receiver.maxBodyBytes);
    if (body === null) return toResponse(TOO_LARGE);
    const { reply, afterwards } = await receiver.receive(body, (name) => request.headers.get(name));
    if (afterwards !== undefined) {
      // A turn later, so that the function's first steps do not keep the answer waiting.
      const done = new Promise((resolve) => setTimeout(resolve)).then(afterwards);
      context?.waitUntil?.(done);
    }
    return toResponse(reply);
  };
}

/** Null when it is too large. */
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
