import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const HEADER = 'x-request-id';

/** The id of a client or proxy is copied to the answer and to logs, so it must be short and harmless there. */
const WELL_FORMED = /^[\w.:/+=@-]{1,128}$/;

/** Gives the request an id, that of the client if it is well-formed, and sends it with the answer. */
export function giveRequestId(req: IncomingMessage, res: ServerResponse): void {
  const given = req.headers[HEADER];
  res.setHeader(HEADER, typeof given === 'string' && WELL_FORMED.test(given) ? given : randomUUID());
}

/** Returns the id of the request that is answered. The answer's header has it, so it is stored nowhere else. */
export function requestIdOf(res: ServerResponse): string {
  return String(res.getHeader(HEADER) ?? '');
}
