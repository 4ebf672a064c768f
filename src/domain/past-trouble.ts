import { healthOf, mayBeMended, type QueueHealth } from './health.ts';
import { type AttemptTotals, STATS_BUCKET_SECONDS, sumOf } from './statistics.ts';

/** Statistics of a span of five minutes, with its start in milliseconds. */
export type SpanTotals = AttemptTotals & { at: number };

/** The failures that a queue ended with, when no attempt has succeeded since. */
export interface PastTrouble {
  /** Judgement of the attempts that the failures are part of. */
  health: QueueHealth;
  /** Start of the newest span with a failure. */
  spanMs: number;
  /** Start of the span in which attempts also succeeded, so that their order decides whether the trouble is over; null without one. */
  mixedMs: number | null;
}

const HOUR_MS = 3_600_000;
const SPAN_MS = STATS_BUCKET_SECONDS * 1000;

/**
 * Returns the trouble with which the attempts of a queue ended. A failing receiver does not work again because an hour has passed, so
 * this finds the failures that have left the hour of `healthOf`. Spans of the hour before the newest failure are judged together, as the
 * hour of the present is; earlier ones count only while none of their attempts succeeded.
 * @param spans newest first, without gaps but where no attempt ended
 * @returns null if an attempt succeeded in a span after the last failure, or if there are too few failures for a warning
 */
export function pastTroubleOf(spans: readonly SpanTotals[], webhookTimeoutMs: number): PastTrouble | null {
  const found = judgementOf(spans, webhookTimeoutMs);
  if (found === null) return null;
  const { judged, mixedMs, spanMs } = found;
  return { health: healthOf(sumOf(judged), webhookTimeoutMs), spanMs, mixedMs };
}

interface Judgement {
  judged: readonly SpanTotals[];
  spanMs: number;
  mixedMs: number | null;
}

function judgementOf(spans: readonly SpanTotals[], webhookTimeoutMs: number): Judgement | null {
  const first = spans.findIndex((span) => span.success > 0 || healthOf(span, webhookTimeoutMs).failed > 0);
  const newest = spans[first];
  if (newest === undefined || healthOf(newest, webhookTimeoutMs).failed === 0) return null;
  const isOfItsHour = ({ at }: SpanTotals) => newest.at - at <= HOUR_MS - SPAN_MS;
  const rest = spans.slice(first);
  const end = rest.findIndex((span) => span.success > 0 && !isOfItsHour(span));
  const own = end === -1 ? rest : rest.slice(0, end);
  const mixedMs = newest.success > 0 ? newest.at : null;
  for (let count = own.length; count > 0; count -= 1) {
    const judged = own.slice(0, count);
    if (mayBeMended(healthOf(sumOf(judged), webhookTimeoutMs))) return { judged, mixedMs, spanMs: newest.at };
  }
  // Failures that would be too few follow an outage that had not ended.
  const earlier = end === -1 || mixedMs !== null ? null : judgementOf(rest.slice(end), webhookTimeoutMs);
  return earlier === null ? null : { ...earlier, judged: [...own, ...earlier.judged], spanMs: newest.at };
}
