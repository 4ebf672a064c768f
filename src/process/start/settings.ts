import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Database } from '../../db/connection/database.ts';
import type { ProcessSettings } from '../../domain/release.ts';
import type { Config } from '../config.ts';
import { COMMIT } from '../version.ts';

/** A longer value is reported as its hash. */
const MAX_LENGTH = 60;

/** How this process runs, for its heartbeats. */
export function settingsOf(config: Config, { cipher }: Pick<Database, 'cipher'>): ProcessSettings {
  return {
    host: hostname(),
    pid: process.pid,
    commit: COMMIT,
    keys: cipher.keyIds,
    shared: sharedOf(config),
  };
}

function sharedOf(config: Config): ProcessSettings['shared'] {
  const ofApi = { TEMPLATES: hashOfTable(config.templates), MAX_BODY_BYTES: String(config.maxBodyBytes) };
  return {
    PLANS: hashOfTable(config.plans),
    ...(config.role === 'worker' ? {} : ofApi),
    JOB_RETENTION_SECONDS: String(config.jobRetentionMs / 1000),
    JOB_LIFETIME_SECONDS: String(config.jobLifetimeMs / 1000),
    WEBHOOK_TIMEOUT_SECONDS: String(config.webhookTimeoutMs / 1000),
    WEBHOOK_ALLOW_CIDRS: shortened([...new Set(config.webhookAllowCidrs)].sort().join(',') || 'none'),
    SIGNATURE_HEADER: shortened(config.signatureHeader),
    REPORT_URL: shortened(config.reportUrl ?? 'none'),
  };
}

function shortened(text: string): string {
  return text.length > MAX_LENGTH ? hashOf(text) : text;
}

/** The order of entries changes nothing. */
function hashOfTable(table: Readonly<Record<string, object>>): string {
  return hashOf(
    JSON.stringify(
      Object.entries(table)
        .map(([name, entry]) => [name, Object.entries(entry).sort()])
        .sort(),
    ),
  );
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
