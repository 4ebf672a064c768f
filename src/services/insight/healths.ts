import type { Database } from '../../db/connection/database.ts';
import { failuresWithin, trailsOf } from '../../db/insight/past-failures.ts';
import { sinceFailures } from '../../db/insight/since-failures.ts';
import type { StatsRow } from '../../db/insight/statistics.ts';
import type { Account } from '../../domain/account.ts';
import {
  endedInTrouble,
  healthOf,
  type LastFailure,
  mayBeMended,
  type QueueHealth,
  sinceFailure,
} from '../../domain/health.ts';
import { type PastTrouble, pastTroubleOf } from '../../domain/past-trouble.ts';
import { NO_ATTEMPTS, sumOf } from '../../domain/statistics.ts';
import type { Context } from '../context.ts';

type HealthContext = Pick<Context, 'db' | 'periods' | 'server'>;

/**
 * Judges queues by the attempts of the last hour, those that failed by what has happened since, and those without a success in it by the
 * attempts before.
 * @param attempts statistics of the last hour by queue; a queue without them is left out
 */
export async function healthsOf(
  context: HealthContext,
  account: Account,
  attempts: ReadonlyMap<string, StatsRow[] | undefined>,
): Promise<Map<string, QueueHealth>> {
  const { db, periods, server } = context;
  const known = [...attempts].flatMap(([id, rows]) => (rows === undefined ? [] : [[id, rows] as const]));
  const healths = new Map(known.map(([id, rows]) => [id, healthOf(sumOf(rows), server.webhookTimeoutMs)]));
  const ill = [...healths].filter(([, health]) => mayBeMended(health)).map(([id]) => id);
  const silent = known.filter(([id, rows]) => !ill.includes(id) && rows.every(({ success }) => success === 0));
  const reading = db.reading(account.id);
  const [failures, ended] = await Promise.all([
    ill.length === 0 ? new Map<string, LastFailure>() : sinceFailures(reading, account.id, ill, periods.retentionMs),
    endedOf(context, account, new Map(silent)),
  ]);
  return new Map(
    [...healths].map(([id, health]) => {
      const past = ended.get(id);
      if (past !== undefined) return [id, endedInTrouble(health, past.trouble.health, past.lastFailure)];
      return [id, sinceFailure(health, failures.get(id) ?? null)];
    }),
  );
}

/** The queues whose attempts ended with failures, too few or too long ago for a warning of the hour, without a success since. */
async function endedOf(
  { db, periods, server }: HealthContext,
  account: Account,
  hours: ReadonlyMap<string, StatsRow[]>,
): Promise<Map<string, { trouble: PastTrouble; lastFailure: LastFailure | null }>> {
  if (hours.size === 0) return new Map();
  const reading = db.reading(account.id);
  const trails = await trailsOf(reading, account.id, [...hours.keys()], periods.retentionMs);
  const troubles = [...trails].flatMap(([queueId, trail]) => {
    const before = trail.map((span) => ({ ...NO_ATTEMPTS, ...span }));
    const hour = [...(hours.get(queueId) ?? [])].sort((a, b) => b.at - a.at);
    const trouble = pastTroubleOf([...hour, ...before], server.webhookTimeoutMs);
    if (trouble === null) return [];
    const endedMs = before[0]?.at ?? 0;
    return [{ queueId, trouble, isOver: (spanMs: number) => spanMs <= endedMs }];
  });
  if (troubles.length === 0) return new Map();
  const find = (of: (trouble: PastTrouble) => number | null) => {
    const spans = troubles.flatMap(({ queueId, trouble, isOver }) => {
      const spanMs = of(trouble);
      return spanMs === null ? [] : [{ queueId, spanMs, isOver: isOver(spanMs) }];
    });
    return lastFailuresOf(reading, account, spans, rememberedBy(db));
  };
  const failures = await find(({ spanMs }) => spanMs);
  const mixed = await find(({ mixedMs }) => mixedMs);
  return new Map(
    troubles
      .filter(({ queueId }) => (mixed.get(queueId)?.succeeded ?? 0) === 0)
      .map(({ queueId, trouble }) => [queueId, { trouble, lastFailure: failures.get(queueId) ?? null }]),
  );
}

/** A span that has ended does not change, so a queue that stays in trouble for days is read once. */
const REMEMBERED = 2000;
const memories = new WeakMap<Database, Map<string, LastFailure>>();

function rememberedBy(db: Database): Map<string, LastFailure> {
  const remembered = memories.get(db) ?? new Map<string, LastFailure>();
  memories.set(db, remembered);
  return remembered;
}

async function lastFailuresOf(
  reading: Database,
  account: Account,
  spans: readonly { queueId: string; spanMs: number; isOver: boolean }[],
  remembered: Map<string, LastFailure>,
): Promise<Map<string, LastFailure>> {
  const found = new Map<string, LastFailure>();
  const unknown = spans.filter(({ queueId, spanMs }) => {
    const known = remembered.get(`${queueId} ${spanMs}`);
    if (known !== undefined) found.set(queueId, known);
    return known === undefined;
  });
  if (unknown.length === 0) return found;
  const read = await failuresWithin(reading, account.id, unknown);
  if (remembered.size > REMEMBERED) remembered.clear();
  for (const { queueId, spanMs, isOver } of unknown) {
    const failure = read.get(queueId);
    if (failure === undefined) continue;
    found.set(queueId, failure);
    if (isOver) remembered.set(`${queueId} ${spanMs}`, failure);
  }
  return found;
}
