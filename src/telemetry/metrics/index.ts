import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { PoolUse } from '../../db/connection/connections.ts';
import type { Database } from '../../db/connection/database.ts';
import type { Listener } from '../../db/connection/notifications.ts';
import { counts } from '../counts/counts.ts';
import type { Logger } from '../log.ts';
import { formatFor } from './accept.ts';
import { DatabaseFacts } from './database-facts.ts';
import { Pages } from './page.ts';
import type { ProcessFacts } from './process-metrics.ts';

/** Accounts whose requests have series of their own. */
const MAX_ACCOUNTS = 20;

interface MetricsOptions {
  db: Database;
  listener: Listener;
  log: Logger;
  retentionMs: number;
  /** Queues with series of their own. */
  maxQueues: number;
  token: string | null;
  process: ProcessFacts;
  poolUse: () => readonly PoolUse[];
}

/** Serves the metrics of this process. Until the first request they cost nothing but the counts themselves. */
export function openMetrics(options: MetricsOptions): { answer: RequestListener; stop(): void } {
  const { db, listener, log, retentionMs, maxQueues, token, process, poolUse } = options;
  const facts = new DatabaseFacts({ db, listener, retentionMs, maxQueues });
  const maxAccounts = Math.min(maxQueues, MAX_ACCOUNTS);
  const pages = new Pages({ counts, process, facts, poolUse, maxAccounts });
  return { answer: metricsEndpoint(pages, token, log), stop: () => facts.stop() };
}

/** @param token needed to read the pages, as a bearer; null for none */
function metricsEndpoint(pages: Pick<Pages, 'get'>, token: string | null, log: Logger): RequestListener {
  const expected = token === null ? null : digest(token);
  return (req, res) => {
    if (expected !== null && !isBearerOf(expected, req)) {
      res.setHeader('www-authenticate', 'Bearer');
      answer(res, 401, 'text/plain; charset=utf-8', 'the token of METRICS_TOKEN is missing or wrong\n');
      return;
    }
    res.setHeader('vary', 'accept');
    pages.get(formatFor(req.headers.accept)).then(
      ({ contentType, text }) => answer(res, 200, contentType, text),
      (error: unknown) => {
        log.error({ err: error }, 'the metrics could not be rendered');
        answer(res, 500, 'text/plain; charset=utf-8', 'internal error\n');
      },
    );
  };
}

function answer(res: ServerResponse, status: number, contentType: string, text: string): void {
  res.statusCode = status;
  res.setHeader('content-type', contentType);
  res.setHeader('content-length', Buffer.byteLength(text));
  res.end(text);
}

function isBearerOf(expected: Buffer, { headers }: IncomingMessage): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
  return given !== undefined && timingSafeEqual(digest(given), expected);
}

/** Equal lengths for a comparison whose time does not depend on the texts. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
