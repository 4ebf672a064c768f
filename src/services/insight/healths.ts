import type { Database } from '../../db/connection/database.ts';
import { failuresWithin, type Trail, trailsOf } from '../../db/insight/past-failures.ts';
import { sinceFailures } from '../../db/insight/since-failures.ts';
import type { StatsRow } from '../../db/insight/statistics.ts';
import type { Account } from '../../domain/account.ts';
import {
  hasRecovered,
  healthOf,
  inTrouble,
  type LastFailure,
  LEAST_SINCE,
  mayRecover,
  pastOf,
  type QueueHealth,
  withoutTrouble,
} from '../../domain/health.ts';
import {
  isDecided,
  type LastingTrouble,
  lastFailuresOf,
  lastingTroubleOf,
  outcomesOf,
  type SpanTotals,
  withTrail,
} from '../../domain/lasting-trouble.ts';
import { sumOf } from '../../domain/statistics.ts';
import type { Context } from '../context.ts';

type HealthContext = Pick<Context, 'db' | 'periods' | 'server'>;

/** Queues with their health, and the spans of attempts by which they were judged, newest first. */
export type Judged = Map<string, { health: QueueHealth; spans: readonly SpanTotals[] }>;

/**
 * Counts the attempts of the last hour of queues, and judges them by their last attempts (`domain/lasting-trouble`).
 * @param attempts statistics of the last hour by queue; a queue without them is left out
 */
export async function judgedQueues(
  context: HealthContext,
  account: Account,
  attempts: ReadonlyMap<string, StatsRow[] | undefined>,
): Promise<Judged> {
  const { db, periods, server } = context;
  const reading = db.reading(account.id);
  const known = [...attempts].flatMap(([id, rows]) => (rows === undefined ? [] : [{ id, rows }]));
  const hours = known.map(({ id, rows }) => ({ id, rows, hour: outcomesOf(rows) }));
  const undecided = hours.filter(({ hour }) => !isDecided(hour)).map(({ id }) => id);
  const trails =
    undecided.length === 0
      ? new Map<string, Trail>()
      : await trailsOf(reading, account.id, undecided, periods.retentionMs);
  const judged = hours.map(({ id, rows, hour }) => {
    const spans = withTrail(hour, trails.get(id));
    const health = healthOf(sumOf(rows), server.webhookTimeoutMs);
    return { id, hour, spans, health, trouble: lastingTroubleOf(spans) };
  });
  const failures = await failuresOf(context, account, judged);
  return new Map(
    judged.map(({ id, hour, spans, health, trouble }) => {
      const lastFailure = failures.last.get(id) ?? null;
      const isOver = trouble === null || hasSucceeded(trouble) || hasRecovered(lastFailure) || failures.ended.has(id);
      const own = isOver
        ? withoutTrouble(health, lastFailure)
        : inTrouble(health, trouble.warnings, trouble.totals, lastFailure);
      return [id, { health: trouble === null ? withLastFailures(own, hour, spans) : own, spans }];
    }),
  );
}

/** The healths alone. */
export async function healthsOf(...input: Parameters<typeof judgedQueues>): Promise<Map<string, QueueHealth>> {
  const judged = await judgedQueues(...input);
  return new Map([...judged].map(([id, { health }]) => [id, health]));
}

const hasSucceeded = ({ succeeded }: LastingTrouble) => succeeded >= LEAST_SINCE;

/** Failures that are too few for a warning are not forgotten with the hour either. */
function withLastFailures(health: QueueHealth, hour: readonly SpanTotals[], spans: readonly SpanTotals[]): QueueHealth {
  const last = lastFailuresOf(spans);
  const first = hour.at(-1)?.at ?? Number.POSITIVE_INFINITY;
  return last === null || last.fromMs >= first ? health : { ...health, past: pastOf(last.totals) };
}

interface Candidate {
  id: string;
  hour: readonly SpanTotals[];
  health: QueueHealth;
  trouble: LastingTrouble | null;
}

/**
 * The last failures of queues that are or were in trouble, and the queues whose trouble had ended before their last
 * failures.
 */
async function failuresOf(
  { db, periods }: HealthContext,
  account: Account,
  judged: readonly Candidate[],
): Promise<{ last: Map<string, LastFailure>; ended: Set<string> }> {
  const reading = db.reading(account.id);
  const troubles = judged.flatMap(({ id, hour, trouble }) => {
    if (trouble === null) return [];
    const isWithin = (spanMs: number) => hour.some(({ at }) => at === spanMs);
    return [{ queueId: id, trouble, isWithin, isOfHour: isWithin(trouble.failedMs) }];
  });
  const before = troubles.filter(({ isOfHour }) => !isOfHour);
  const inHour = [
    ...judged.filter(({ health, trouble }) => trouble === null && mayRecover(health)).map(({ id }) => id),
    ...troubles.filter(({ isOfHour }) => isOfHour).map(({ queueId }) => queueId),
  ];
  const mixed = troubles.flatMap(({ queueId, trouble: { mixedMs }, isWithin }) =>
    mixedMs === null ? [] : [{ queueId, spanMs: mixedMs, isOfHour: isWithin(mixedMs) }],
  );
  const [ofHour, ofPast, ofMixed] = await Promise.all([
    inHour.length === 0
      ? new Map<string, LastFailure>()
      : sinceFailures(reading, account.id, inHour, periods.retentionMs),
    failuresInSpans(
      db,
      account,
      before.map(({ queueId, trouble, isOfHour }) => ({ queueId, spanMs: trouble.failedMs, isOfHour })),
    ),
    failuresInSpans(db, account, mixed),
  ]);
  const last = new Map(ofHour);
  for (const { queueId, trouble } of before) {
    const failure = ofPast.get(queueId);
    if (failure !== undefined) last.set(queueId, { ...failure, succeeded: failure.succeeded + trouble.succeeded });
  }
  const ended = mixed.filter(({ queueId }) => (ofMixed.get(queueId)?.succeeded ?? 0) >= LEAST_SINCE);
  return { last, ended: new Set(ended.map(({ queueId }) => queueId)) };
}

/** A span that has ended does not change, so a queue that stays in trouble for days is read once. */
const REMEMBERED = 2000;
const memories = new WeakMap<Database, Map<string, LastFailure>>();

/** The last failures of queues within spans, with the successes after them in the same spans. */
async function failuresInSpans(
  db: Database,
  account: Account,
  spans: readonly { queueId: string; spanMs: number; isOfHour: boolean }[],
): Promise<Map<string, LastFailure>> {
  const remembered = memories.get(db) ?? new Map<string, LastFailure>();
  memories.set(db, remembered);
  const found = new Map<string, LastFailure>();
  const unknown = spans.filter(({ queueId, spanMs }) => {
    const known = remembered.get(`${queueId} ${spanMs}`);
    if (known !== undefined) found.set(queueId, known);
    return known === undefined;
  });
  if (unknown.length === 0) return found;
  const read = await failuresWithin(db.reading(account.id), account.id, unknown);
  if (remembered.size > REMEMBERED) remembered.clear();
  for (const { queueId, spanMs, isOfHour } of unknown) {
    const failure = read.get(queueId);
    if (failure === undefined) continue;
    found.set(queueId, failure);
    if (!isOfHour) remembered.set(`${queueId} ${spanMs}`, failure);
  }
  return found;
}
