import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Config } from '../config.ts';
import type { Database } from '../db/connection/database.ts';
import type { ProcessSettings } from '../domain/release.ts';
import { COMMIT } from '../version.ts';

/** How this process runs, for its heartbeats. */
export function settingsOf({ plans }: Config, { cipher }: Database): ProcessSettings {
  const sorted = Object.entries(plans)
    .map(([name, plan]) => [name, Object.entries(plan).sort()])
    .sort();
  const hash = createHash('sha256').update(JSON.stringify(sorted));
  return {
    ...{ host: hostname(), pid: process.pid, commit: COMMIT, keys: cipher.keyIds },
    plans: hash.digest('hex').slice(0, 8),
  };
}
