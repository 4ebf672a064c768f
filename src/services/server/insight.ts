import { recentDatabaseTime } from '../../db/connection/clock.ts';
import { accountUsage } from '../../db/insight/usage.ts';
import type { Context } from '../context.ts';
import type { ServerInsight } from '../dashboard.ts';

export function createServerInsight(context: Pick<Context, 'db' | 'periods' | 'server'>): ServerInsight {
  const { db, periods, server } = context;
  return {
    async usage(account) {
      const { in_flight: inFlight, ...usage } = await accountUsage(db.reading(account.id), account.id);
      return { ...usage, inFlight };
    },

    async server() {
      return {
        version: server.version,
        environment: server.environment,
        now: new Date(await recentDatabaseTime(db)),
        retentionSeconds: periods.retentionMs / 1000,
        lifetimeSeconds: periods.lifetimeMs / 1000,
        webhookTimeoutSeconds: server.webhookTimeoutMs / 1000,
      };
    },
  };
}
