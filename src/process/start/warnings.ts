import { connectionFacts } from '../../db/insight/server-connections.ts';
import { processFacts } from '../../db/operator/facts.ts';
import { blindRole } from '../../db/operator/snapshots.ts';
import { connectionsMissing } from '../../domain/doctor-connections.ts';
import { hiddenSessions } from '../../domain/doctor-locks.ts';
import type { Periods } from '../../domain/periods.ts';
import { LIMITS } from '../../domain/queue.ts';
import { warnOfUnknownPlans } from '../../services/accounts/unknown-plans.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Config } from '../config.ts';
import type { Foundations } from './foundations.ts';

/** Hints for the operator in the log of a start. */

/** Only a hint for the operator, so an error here does not stop the start. */
export async function warnOfPlans({ config, log, database }: Foundations): Promise<void> {
  await warnOfUnknownPlans(database.db, config.plans, log).catch((error: unknown) => {
    log.warn({ err: error }, 'reading the plans of the accounts failed');
  });
}

/** Before the first heartbeat of this process, so it is counted apart. */
export async function warnOfConnections({ config: { role }, log, database: { db } }: Foundations): Promise<void> {
  try {
    const missing = connectionsMissing(await connectionFacts(db), [...(await processFacts(db)), { role }], db.isPooled);
    if (missing !== null) log.warn({ fix: missing.fix }, missing.what);
  } catch (error) {
    log.warn({ err: error }, 'reading the limits of connections failed');
  }
}

/** Without the right, `doctor` and the log cannot name a session of another role that stops a queue. */
export async function warnOfHiddenSessions({ log, database: { db } }: Foundations): Promise<void> {
  const role = await blindRole(db).catch(() => null);
  if (role === null) return;
  const { what, fix } = hiddenSessions(role);
  log.warn({ fix }, `${what}: one that locks a queue, or keeps dead rows, cannot be named`);
}

export function warnOfAllowedAddresses(
  { webhookAllowCidrs: cidrs, webhookProxyUrl: proxyUrl }: Config,
  log: Logger,
): void {
  if (cidrs.length > 0) log.warn({ cidrs }, 'webhooks may reach these addresses although they are not public');
  if (proxyUrl === undefined) return;
  // Not the rest of the URL, which may contain a password.
  const { host } = new URL(proxyUrl);
  log.warn({ proxy: host }, 'webhooks go through a proxy, which itself must refuse addresses that are not public');
}

/** With https in front there is a proxy, so all clients seem to have its address unless it is trusted. */
export function warnOfUntrustedProxy({ publicUrl, trustedProxies, role }: Config, log: Logger): void {
  if (role === 'worker' || publicUrl?.protocol !== 'https:' || trustedProxies.length > 0) return;
  log.warn(
    {},
    'PUBLIC_URL has https and TRUSTED_PROXIES is not set: all clients seem to have the same address, so 20 wrong ' +
      'texts of one client can block sign-ins of others with a key of a form of its own for a minute',
  );
}

export const SHORT_RETENTION =
  'JOB_RETENTION_SECONDS is shorter than the longest delay plus the delivery lifetime: ' +
  'a job that has not ended by then is kept until it ends, and for one delivery lifetime after that';

export function isRetentionShort({ retentionMs, lifetimeMs }: Periods): boolean {
  return retentionMs < LIMITS.publishDelay.max * 1000 + lifetimeMs;
}

export function warnOfShortRetention({ retentionMs, lifetimeMs }: Periods, log: Logger): void {
  if (!isRetentionShort({ retentionMs, lifetimeMs })) return;
  const needed = LIMITS.publishDelay.max + lifetimeMs / 1000;
  log.warn({ retentionSeconds: retentionMs / 1000, longestDelayAndLifetimeSeconds: needed }, SHORT_RETENTION);
}
