import type { IncomingMessage, ServerResponse } from 'node:http';
import { traceIdOf, traceOf } from '../../domain/trace.ts';
import type { Logger } from '../../telemetry/log.ts';
import { localsOf } from '../locals.ts';
import { routeOf } from '../routes/route-of.ts';
import { clientAddress, type TrustedProxies } from './client-address.ts';
import { requestIdOf } from './request-id.ts';

interface AccessLogOptions {
  log: Logger;
  /** Level of the lines. A level that is not logged costs one comparison for each request. */
  level: 'info' | 'debug';
  trustedProxies: TrustedProxies;
}

/** Called with each request before any other work. */
export type RequestWatch = (req: IncomingMessage, res: ServerResponse) => void;

/**
 * Writes a line for each request when its answer has been sent, or its connection was closed before. The line has the
 * route and not the path, and of the headers only the request id and the trace id, so it contains neither payloads nor
 * keys.
 */
export function createAccessLog({ log, level, trustedProxies }: AccessLogOptions): RequestWatch {
  return (req, res) => {
    if (!log.isLevelEnabled(level)) return;
    const startedAt = performance.now();
    // The connection may have no address any more when the answer is complete.
    const client = clientAddress(req, trustedProxies);
    res.on('close', () => {
      const fields = {
        method: req.method,
        route: routeOf(req, res),
        status: res.headersSent ? res.statusCode : null,
        ms: Math.round((performance.now() - startedAt) * 10) / 10,
        accountId: localsOf(res).account?.id ?? null,
        requestId: requestIdOf(res),
        // Left out of the line if it is undefined.
        traceId: traceIdOf(traceOf(req.headers)),
        client,
      };
      // A client that disconnects early, or an answer that was cut off.
      log[level](res.writableFinished ? fields : { ...fields, cutOff: true }, 'request');
    });
  };
}
