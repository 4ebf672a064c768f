import { sinceFailures } from '../../db/insight/since-failures.ts';
import type { StatsRow } from '../../db/insight/statistics.ts';
import type { Account } from '../../domain/account.ts';
import { healthOf, mayBeMended, type QueueHealth, sinceFailure } from '../../domain/health.ts';
import { sumOf } from '../../domain/statistics.ts';
import type { Context } from '../context.ts';

/**
 * Judges queues by the attempts of the last hour, and those that failed by what has happened since.
 * @param attempts statistics of the last hour by queue; a queue without them is left out
 */
export async function healthsOf(
  { db, periods, server }: Pick<Context, 'db' | 'periods' | 'server'>,
  account: Account,
  attempts: ReadonlyMap<string, StatsRow[] | undefined>,
): Promise<Map<string, QueueHealth>> {
  const healths = new Map(
    [...attempts].flatMap(([id, rows]) =>
      rows === undefined ? [] : [[id, healthOf(sumOf(rows), server.webhookTimeoutMs)] as const],
    ),
  );
  const ill = [...healths].filter(([, health]) => mayBeMended(health)).map(([id]) => id);
  if (ill.length === 0) return healths;
  const failures = await sinceFailures(db.reading(account.id), account.id, ill, periods.retentionMs);
  return new Map([...healths].map(([id, health]) => [id, sinceFailure(health, failures.get(id) ?? null)]));
}
