import type { RequestListener } from 'node:http';

/** Paths that pages of other origins may use. Signing in to the dashboard is for its own pages only. */
const SHARED = /^\/(?:v1\/|graphql(?:\?|$)|openapi\.json(?:\?|$))/;

const ANSWER_HEADERS = 'x-request-id, retry-after, x-jobferry-ignored, x-jobferry-payload, x-jobferry-warning';
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, POST, PUT, DELETE',
  // Not that of the dashboard's sessions: sessions are for pages of this server.
  'access-control-allow-headers':
    'authorization, content-type, x-request-id, traceparent, tracestate, jobferry-read-from',
  'access-control-max-age': '600',
};

/**
 * Lets pages of these origins call the API with a key. Cookies are not allowed, so a page can do nothing in the name of
 * the person who looks at it. Other origins get no permission, and their browsers refuse the call.
 */
export function withCors(origins: readonly string[]): (answer: RequestListener) => RequestListener {
  return (answer) => (req, res) => {
    if (!SHARED.test(req.url ?? '')) {
      answer(req, res);
      return;
    }
    res.setHeader('vary', 'origin');
    const { origin } = req.headers;
    if (origin === undefined || !origins.includes(origin)) {
      answer(req, res);
      return;
    }
    res.setHeader('access-control-allow-origin', origin);
    if (req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined) {
      res.writeHead(204, PREFLIGHT).end();
      return;
    }
    res.setHeader('access-control-expose-headers', ANSWER_HEADERS);
    answer(req, res);
  };
}
