import type { RequestListener } from 'node:http';
import type { PoolUse } from '../../db/connection/connections.ts';
import type { Database } from '../../db/connection/database.ts';
import type { Listener } from '../../db/connection/notifications.ts';
import { counts } from '../counts/counts.ts';
import type { Logger } from '../log.ts';
import { DatabaseFacts } from './database-facts.ts';
import { metricsEndpoint } from './endpoint.ts';
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
