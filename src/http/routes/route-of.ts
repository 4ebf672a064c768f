import type { IncomingMessage, ServerResponse } from 'node:http';
import { localsOf } from '../locals.ts';

/**
 * Returns the route of a request as a pattern, such as `/v1/queues/:queueName/jobs`; `dashboard` for its files and
 * pages, and `other` for unknown paths. So there are few different ones, and none contains what a client has sent.
 */
export function routeOf(req: IncomingMessage, res: ServerResponse): string {
  const { route } = localsOf(res);
  if (route !== undefined) return route;
  const path = (req as { route?: { path?: unknown } }).route?.path;
  return typeof path === 'string' ? path : 'other';
}
