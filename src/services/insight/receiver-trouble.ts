import { failuresWithin, trailsOf } from '../../db/insight/past-failures.ts';
import { sinceFailures, succeededWithinSpan } from '../../db/insight/since-failures.ts';
import type { StatsRow } from '../../db/insight/statistics.ts';
import type { Account } from '../../domain/account.ts';
import {
  failuresOf,
  hasRecovered,
  isByAnswers,
  type LastFailure,
  mayRecover,
  type PastAttempts,
  pastOf,
  type QueueHealth,
  refusedOf,
} from '../../domain/health.ts';
import {
  isDecided,
  type LastingTrouble,
  lastingTroubleOf,
  outcomesOf,
  type SpanTotals,
  withTrail,
} from '../../domain/lasting-trouble.ts';
import { STATS_BUCKET_SECONDS, sumOf } from '../../domain/statistics.ts';
import type { Context } from '../context.ts';
import type { Judged } from './healths.ts';

/** A receiver with the ids of its queues. */
interface Queues {
  host: string;
  ids: readonly string[];
}

export interface ReceiverTrouble {
  /**
   * Queues that fail by the receiver's answers, or whose signature is rejected, as their own healths have it. None if
   * ten attempts to the receiver succeeded since its last failure. If it fails as a whole, a queue that failed for the
   * most part counts also with fewer attempts than a warning needs.
   */
  failing: number;
  /** Queues that would be failing, had the receiver not succeeded since: they have not been tried again. */
  untried: number;
  /**
   * The last failure of all queues, and the successes of all since;
   * null unless the receiver or one of the queues is or was in trouble.
   */
  lastFailure: LastFailure | null;
  /** The attempts of the queues that fail, if none of these fails by the last hour; null otherwise. */
  past: PastAttempts | null;
}

/** The attempts to a receiver, and its trouble by its answers, whether or not it has ended. */
interface Whole extends Queues {
  spans: readonly SpanTotals[];
  trouble: LastingTrouble | null;
  failing: readonly { totals: PastAttempts; isOfHour: boolean }[];
}

const SPAN_MS = STATS_BUCKET_SECONDS * 1000;
const NONE: ReceiverTrouble = { failing: 0, untried: 0, lastFailure: null, past: null };

/** Judges receivers by the last attempts of each queue, and of all queues together. */
export async function receiverTroubles(
  context: Pick<Context, 'db' | 'periods'>,
  account: Account,
  receivers: readonly Queues[],
  judged: Judged,
  hours: ReadonlyMap<string, StatsRow[] | undefined>,
): Promise<Map<string, ReceiverTrouble>> {
  const spansOf = await allSpans(context, account, receivers, judged, hours);
  const wholes = receivers.map((receiver): Whole => {
    const spans = outcomesOf(receiver.ids.flatMap((id) => spansOf.get(id) ?? []));
    const found = lastingTroubleOf(spans);
    const trouble = found !== null && isByAnswers(pastOf(found.totals)) ? found : null;
    const failing = receiver.ids.flatMap((id) => failingBy(judged.get(id)?.health, trouble, spansOf.get(id) ?? []));
    return { ...receiver, spans, trouble, failing };
  });
  const ill = wholes.filter(
    ({ ids, trouble }) => trouble !== null || ids.some((id) => wasInTrouble(judged.get(id)?.health)),
  );
  const failures = await lastFailures(context, account, ill, judged);
  const known = ill.map(async (whole) => {
    const at = failures.get(whole.host) ?? null;
    const lastFailure = at === null ? null : { at, succeeded: await succeededSince(context, account, whole, at) };
    return [whole.host, troubleSince(whole.failing, lastFailure)] as const;
  });
  const troubles = new Map(await Promise.all(known));
  return new Map(receivers.map(({ host }) => [host, troubles.get(host) ?? NONE]));
}

/**
 * The spans by which receivers are judged. Those of a queue that was judged by its hour alone, or never failed,
 * are read.
 */
async function allSpans(
  { db, periods }: Pick<Context, 'db' | 'periods'>,
  account: Account,
  receivers: readonly Queues[],
  judged: Judged,
  hours: ReadonlyMap<string, StatsRow[] | undefined>,
): Promise<Map<string, readonly SpanTotals[]>> {
  const spansOf = new Map([...judged].map(([id, { spans }]) => [id, spans]));
  const hourOf = (ids: readonly string[]) => outcomesOf(ids.flatMap((id) => hours.get(id) ?? []));
  const hasFailed = (id: string) => (spansOf.get(id) ?? []).some((span) => failuresOf(span) > 0);
  const partly = receivers.filter(({ ids }) => ids.length > 1 && ids.some(hasFailed) && !isDecided(hourOf(ids)));
  const ids = partly.flatMap((receiver) => receiver.ids);
  if (ids.length === 0) return spansOf;
  const trails = await trailsOf(db.reading(account.id), account.id, ids, periods.retentionMs, true);
  for (const id of ids) spansOf.set(id, withTrail(hourOf([id]), trails.get(id)));
  return spansOf;
}

/**
 * The attempts by which a queue fails: by its own health, or, where the receiver fails as a whole,
 * by most of its attempts.
 */
function failingBy(
  health: QueueHealth | undefined,
  trouble: LastingTrouble | null,
  spans: readonly SpanTotals[],
): Whole['failing'] {
  if (health === undefined || hasRecovered(health.lastFailure)) return [];
  const own = health.past ?? health;
  if (mayRecover(health) && isByAnswers(own)) return [{ totals: own, isOfHour: health.past === null }];
  if (trouble === null) return [];
  const isFailed = (totals: PastAttempts) => refusedOf(totals) > totals.attempts / 2;
  if (isFailed(health)) return [{ totals: health, isOfHour: true }];
  const totals = pastOf(sumOf(spans.filter(({ at }) => at >= trouble.fromMs)));
  return isFailed(totals) ? [{ totals, isOfHour: false }] : [];
}

/** Whether a queue is in trouble by the receiver's answers, or was until it succeeded. */
function wasInTrouble(health: QueueHealth | undefined): boolean {
  if (health === undefined || (health.lastFailure === null && !mayRecover(health))) return false;
  return isByAnswers(health.past ?? health);
}

/** When an attempt to each of the receivers failed last. */
async function lastFailures(
  { db, periods }: Pick<Context, 'db' | 'periods'>,
  account: Account,
  receivers: readonly Whole[],
  judged: Judged,
): Promise<Map<string, Date | null>> {
  const reading = db.reading(account.id);
  const healthOf = (id: string) => judged.get(id)?.health;
  const inHour = receivers.flatMap(({ ids }) => ids.filter((id) => (healthOf(id)?.failed ?? 0) > 0));
  const before = receivers.flatMap(({ ids, spans }) => {
    const failed = spans.find((span) => failuresOf(span) > 0);
    const isOfHour = ids.some((id) => inHour.includes(id));
    return failed === undefined || isOfHour ? [] : ids.map((queueId) => ({ queueId, spanMs: failed.at }));
  });
  const [ofHour, ofPast] = await Promise.all([
    inHour.length === 0 ? new Map() : sinceFailures(reading, account.id, inHour, periods.retentionMs),
    before.length === 0 ? new Map() : failuresWithin(reading, account.id, before),
  ]);
  return new Map(
    receivers.map(({ host, ids }) => {
      const times = ids.flatMap((id) => [ofHour.get(id)?.at, ofPast.get(id)?.at, healthOf(id)?.lastFailure?.at]);
      return [host, latest(times)];
    }),
  );
}

/**
 * How many attempts to a receiver have succeeded since a moment. Only those of its five minutes are read one by one.
 */
async function succeededSince(
  { db }: Pick<Context, 'db'>,
  account: Account,
  { ids, spans }: Whole,
  at: Date,
): Promise<number> {
  const start = Math.floor(at.getTime() / SPAN_MS) * SPAN_MS;
  const isMixed = spans.some((span) => span.at === start && span.success > 0);
  const first = isMixed ? await succeededWithinSpan(db.reading(account.id), account.id, ids, at) : 0;
  return spans.filter((span) => span.at > start).reduce((sum, { success }) => sum + success, first);
}

function troubleSince(failing: Whole['failing'], lastFailure: LastFailure | null): ReceiverTrouble {
  const isOver = hasRecovered(lastFailure);
  const isPast = failing.length > 0 && failing.every(({ isOfHour }) => !isOfHour);
  return {
    failing: isOver ? 0 : failing.length,
    untried: isOver ? failing.length : 0,
    lastFailure,
    past: isPast ? failing.map(({ totals }) => totals).reduce(sumOfPast) : null,
  };
}

function sumOfPast(one: PastAttempts, other: PastAttempts): PastAttempts {
  const sum = { ...other };
  for (const member of Object.keys(sum) as (keyof PastAttempts)[]) sum[member] += one[member];
  return sum;
}

function latest(times: readonly (Date | undefined)[]): Date | null {
  return times.reduce<Date | null>((last, at) => (at !== undefined && (last === null || at > last) ? at : last), null);
}
