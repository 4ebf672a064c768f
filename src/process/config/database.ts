import { z } from 'zod';
import { parseDatabaseUrl, withExplicitTls } from '../../domain/database-url.ts';

const databaseUrl = (maxHosts = Number.POSITIVE_INFINITY) =>
  z
    .string()
    .superRefine((url, context) => {
      const parsed = parseDatabaseUrl(url);
      if (typeof parsed === 'string') context.addIssue({ code: 'custom', message: parsed });
      else if (parsed.servers.length > maxHosts) context.addIssue({ code: 'custom', message: 'must have one host' });
    })
    .transform(withExplicitTls)
    .optional();

export const DATABASE_VARIABLES = {
  DATABASE_URL: databaseUrl(),
  DIRECT_DATABASE_URL: databaseUrl(),
  DATABASE_REPLICA_URL: databaseUrl(1),
  REPLICA_MAX_LAG_SECONDS: z.coerce
    .number({ invalid_type_error: 'must be a number of seconds' })
    .min(1)
    .max(3600)
    .default(5)
    .transform((seconds) => Math.round(seconds * 1000)),
};

/** A standby for GraphQL's reads. */
export interface ReplicaConfig {
  readonly url: string;
  /** If the standby is further behind, the primary is read. */
  readonly maxLagMs: number;
}

interface Parsed {
  DATABASE_URL?: string | undefined;
  DIRECT_DATABASE_URL?: string | undefined;
  DATABASE_REPLICA_URL?: string | undefined;
  REPLICA_MAX_LAG_SECONDS: number;
}

/** @returns the settings, or a message about those that do not fit together */
export function databaseConfig(parsed: Parsed) {
  const { DATABASE_URL: databaseUrl, DIRECT_DATABASE_URL: directDatabaseUrl, DATABASE_REPLICA_URL: url } = parsed;
  if (databaseUrl === undefined && directDatabaseUrl !== undefined) {
    return 'DIRECT_DATABASE_URL: needs DATABASE_URL, the address of the pooler';
  }
  if (databaseUrl === undefined && url !== undefined) {
    return 'DATABASE_REPLICA_URL: needs DATABASE_URL, the address of the primary';
  }
  const replica = url === undefined ? null : Object.freeze({ url, maxLagMs: parsed.REPLICA_MAX_LAG_SECONDS });
  return { databaseUrl, directDatabaseUrl, replica };
}
