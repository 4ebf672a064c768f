import { failuresOf, LEAST_ATTEMPTS, LEAST_SINCE, type QueueHealth, troubleWarnings } from './health.ts';
import { type AttemptTotals, NO_ATTEMPTS, STATS_BUCKET_SECONDS, sumOf } from './statistics.ts';

/**
 * Trouble of a queue, or of a receiver with the attempts of all its queues: it fails, or it rejects the signature.
 *
 * The rule. Attempts are counted in spans of five minutes; those of spans in which none succeeded or failed do not
 * count.
 * 1. Trouble is there after a span if most of at least ten attempts failed, or a twentieth of the answers were 401
 *    (three at least), in the hour that ends with that span; or if ten attempts have failed since the last span with a
 *    success.
 * 2. After a span in which all attempts failed, trouble of before it is still there.
 * 3. Ten successes in a row since the last failure end it, as does a success after which 1 does not hold.
 *
 * So only a success ends trouble: the rule knows the times of attempts, and not the present. It forgets what the
 * statistics forget, after retention.
 */
export interface LastingTrouble {
  warnings: readonly Warning[];
  /** Sum of the attempts that they are about. */
  totals: AttemptTotals;
  /** Start of the first span of these. */
  fromMs: number;
  /**
   * Start of the newest span with a failure, and how many attempts succeeded in later ones: ten have ended the trouble.
   */
  failedMs: number;
  succeeded: number;
  /**
   * Start of a span with successes before it, whose order decides whether the trouble had ended then; null without one.
   */
  mixedMs: number | null;
}

type Warning = QueueHealth['warnings'][number]['warning'];

/** Statistics of a span of five minutes, with its start in milliseconds. */
export type SpanTotals = AttemptTotals & { at: number };

const HOUR_MS = 3_600_000;
const SPAN_MS = STATS_BUCKET_SECONDS * 1000;

/** So many spans decide: fewer than ten with failures alone, and the hour that ends with the one before them. */
export const DECISIVE_SPANS = LEAST_ATTEMPTS - 1 + HOUR_MS / SPAN_MS + 1;

/** @returns the spans in which attempts succeeded or failed, newest first; several of one time are one */
export function outcomesOf(spans: readonly SpanTotals[]): SpanTotals[] {
  const byStart = new Map<number, SpanTotals[]>();
  for (const span of spans) byStart.set(span.at, [...(byStart.get(span.at) ?? []), span]);
  return [...byStart]
    .map(([at, ofSpan]) => ({ ...sumOf(ofSpan), at }))
    .filter((span) => span.success > 0 || failuresOf(span) > 0)
    .sort((a, b) => b.at - a.at);
}

/** @returns the spans of the hour and those before it. One that left the hour between the two queries is in both. */
export function withTrail(
  hour: readonly SpanTotals[],
  trail: readonly Omit<SpanTotals, 'durations' | 'waits'>[] = [],
): SpanTotals[] {
  const first = hour.at(-1)?.at ?? Number.POSITIVE_INFINITY;
  return [...hour, ...outcomesOf(trail.filter(({ at }) => at < first).map((span) => ({ ...NO_ATTEMPTS, ...span })))];
}

/** @param spans those with outcomes, newest first; the `DECISIVE_SPANS` first are used */
export function lastingTroubleOf(spans: readonly SpanTotals[]): LastingTrouble | null {
  const known = spans.slice(0, DECISIVE_SPANS);
  const firstSuccess = known.findIndex(({ success }) => success > 0);
  const failed = known.slice(0, firstSuccess === -1 ? known.length : firstSuccess);
  const found = judgementOf(known, failed.length) ?? outageOf(failed);
  const newest = known.findIndex((span) => failuresOf(span) > 0);
  const [judged, warnings, isOfSuccess] = found ?? [[], []];
  const first = judged.at(-1);
  const [failure, success] = [known[newest], known[firstSuccess]];
  if (first === undefined || failure === undefined) return null;
  const isMixed = isOfSuccess === true && success !== undefined && success !== failure && failuresOf(success) > 0;
  return {
    warnings,
    totals: sumOf(judged),
    fromMs: first.at,
    failedMs: failure.at,
    succeeded: sumOf(known.slice(0, newest)).success,
    mixedMs: isMixed && success.success >= LEAST_SINCE ? success.at : null,
  };
}

type Judgement = [judged: readonly SpanTotals[], warnings: readonly Warning[], isOfSuccess?: boolean];

/** Looks after each span that only failed, and after the one with the last success before them. */
function judgementOf(spans: readonly SpanTotals[], failures: number): Judgement | null {
  for (let n = 0; n <= failures && n < spans.length; n += 1) {
    const end = (spans[n] as SpanTotals).at;
    const hour = spans.slice(n).filter(({ at }) => end - at <= HOUR_MS);
    const warnings = troubleWarnings(sumOf(hour)).map(({ warning }) => warning);
    const isEnded = n === failures && n > 0 && succeededAtEnd(hour) >= LEAST_SINCE;
    if (warnings.length > 0 && !isEnded) return [spans.slice(0, n + hour.length), warnings, n === failures];
  }
  return null;
}

/** Successes in the newest spans that have no failure. */
function succeededAtEnd(spans: readonly SpanTotals[]): number {
  const newest = spans.findIndex((span) => failuresOf(span) > 0);
  return sumOf(newest === -1 ? spans : spans.slice(0, newest)).success;
}

function outageOf(failed: readonly SpanTotals[]): Judgement | null {
  return failuresOf(sumOf(failed)) < LEAST_ATTEMPTS ? null : [failed, ['failing']];
}

/**
 * The attempts of the newest spans in which none succeeded, too few for a warning;
 * null if an attempt succeeded in the newest one.
 */
export function lastFailuresOf(spans: readonly SpanTotals[]): { totals: AttemptTotals; fromMs: number } | null {
  const firstSuccess = spans.findIndex(({ success }) => success > 0);
  const failed = firstSuccess === -1 ? spans : spans.slice(0, firstSuccess);
  const first = failed.at(-1);
  return first === undefined ? null : { totals: sumOf(failed), fromMs: first.at };
}

/** Whether these spans decide, of the last ones that are known, without those before them. */
export function isDecided(spans: readonly SpanTotals[]): boolean {
  if (succeededAtEnd(spans) >= LEAST_SINCE) return true;
  const firstSuccess = spans.findIndex(({ success }) => success > 0);
  const success = spans[firstSuccess];
  if (success === undefined) return false;
  if (failuresOf(sumOf(spans.slice(0, firstSuccess))) >= LEAST_ATTEMPTS) return true;
  return success.at - (spans.at(-1) as SpanTotals).at >= HOUR_MS;
}
