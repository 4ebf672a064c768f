import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { counts } from '../../telemetry/counts/counts.ts';
import { localsOf } from '../locals.ts';
import { routeOf } from '../routes/route-of.ts';

/** Methods that have series of their own: clients could invent others. */
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);

/** Counts the requests that `answer` gets, by the route that it finds for them. */
export function counted(answer: RequestListener): RequestListener {
  return (req, res) => {
    const since = performance.now();
    res.on('close', () => count(req, res, since));
    answer(req, res);
  };
}

function count(req: IncomingMessage, res: ServerResponse, since: number): void {
  const method = METHODS.has(req.method ?? '') ? (req.method as string) : 'other';
  const code = res.writableFinished ? String(res.statusCode) : 'aborted';
  // A stream of events lasts until its client leaves.
  const isStream = String(res.getHeader('content-type')).startsWith('text/event-stream');
  const durationMs = isStream ? null : performance.now() - since;
  counts.answered(method, routeOf(req, res), code, durationMs, localsOf(res).account?.id ?? null);
}
