import { z } from 'zod';
import { isSocketPath } from '../../domain/listening-address.ts';

/** Where metrics are served, and to whom. */
export interface MetricsConfig {
  /** The address of `port`. */
  readonly host: string;
  /** A port of their own; null for that of the API. */
  readonly port: number | null;
  /** Needed to read them; null for none. */
  readonly token: string | null;
  /** Queues with series of their own. */
  readonly maxQueues: number;
}

const integer = (max: number) =>
  z.coerce.number({ invalid_type_error: 'must be a whole number' }).int().min(0).max(max);

export const METRICS_VARIABLES = {
  METRICS_PORT: integer(65_535).optional(),
  METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,255}$/, 'must be 16 to 255 printable characters without spaces')
    .optional(),
  METRICS_MAX_QUEUES: integer(1000).default(100),
};

interface Parsed {
  METRICS_PORT?: number | undefined;
  METRICS_TOKEN?: string | undefined;
  METRICS_MAX_QUEUES: number;
}

/** @param host address of the API, or the path of its unix socket */
export function metricsConfig(parsed: Parsed, host: string): MetricsConfig {
  const { METRICS_PORT: port = null, METRICS_TOKEN: token = null, METRICS_MAX_QUEUES: maxQueues } = parsed;
  // On the port of the API, everyone can read metrics that need no token, and names of queues belong to the accounts.
  const isPublic = port === null && token === null;
  return Object.freeze({
    // Prometheus cannot read a unix socket. An operator who uses one wants no port that other machines reach.
    host: isSocketPath(host) ? '127.0.0.1' : host,
    port,
    token,
    maxQueues: isPublic ? 0 : maxQueues,
  });
}
