import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Returns the route of a request as a pattern, such as `/v1/queues/:queueName/jobs`; `dashboard` for its files and pages, and
 * `other` for unknown paths. So there are few different ones, and none contains what a client has sent.
 */
export function routeOf(req: IncomingMessage, res: ServerResponse): string {
  const { route } = ((res as { locals?: object }).locals ?? {}) as { route?: string };
  return route ?? (req as { route?: { path?: string } }).route?.path ?? 'other';
}
