import { healthOf, LEAST_SINCE, type QueueWarning, withoutTrouble } from './health.ts';
import { lastingTroubleOf, outcomesOf, type SpanTotals } from './lasting-trouble.ts';
import { STATS_BUCKET_SECONDS, sumOf } from './statistics.ts';

/**
 * When each present warning began. A warning that is missing has lasted for longer than the statistics that were read.
 */
export type WarningStarts = ReadonlyMap<QueueWarning, Date>;

const SPAN_MS = STATS_BUCKET_SECONDS * 1000;
const HOUR_MS = 3_600_000;
/** How far back the start of a warning is searched. */
const MAX_WARNING_MS = 24 * HOUR_MS;

const startOf = (ms: number) => Math.floor(ms / SPAN_MS) * SPAN_MS;

/** The statistics that `warningStarts` needs. */
export function warningRange(nowMs: number): { from: Date; to: Date } {
  return { from: new Date(startOf(nowMs) - MAX_WARNING_MS - HOUR_MS), to: new Date(nowMs + HOUR_MS) };
}

/**
 * Returns the start of the five minutes in which each present warning began. It walks back in steps of five minutes,
 * and computes at each which warnings there were then, until the warning is not there.
 * @param rows statistics of spans of five minutes, with their start in milliseconds
 */
export function warningStarts(rows: readonly SpanTotals[], nowMs: number, webhookTimeoutMs: number): WarningStarts {
  const outcomes = outcomesOf(rows);
  const warningsAt = (from: number, to: number) => {
    const hour = healthOf(sumOf(rows.filter(({ at }) => at >= from && at < to)), webhookTimeoutMs);
    const before = outcomes.findIndex(({ at }) => at < to);
    const trouble = before === -1 ? null : lastingTroubleOf(outcomes.slice(before));
    const lasting = trouble === null || trouble.succeeded >= LEAST_SINCE ? [] : trouble.warnings;
    return new Set([...lasting, ...withoutTrouble(hour, null).warnings.map(({ warning }) => warning)]);
  };
  const lasting = warningsAt(startOf(nowMs - HOUR_MS), Number.POSITIVE_INFINITY);
  const starts = new Map<QueueWarning, Date>();
  const newest = startOf(nowMs);
  for (let at = newest; at > newest - MAX_WARNING_MS && lasting.size > 0; at -= SPAN_MS) {
    const then = warningsAt(at - HOUR_MS, at);
    for (const warning of lasting) {
      if (then.has(warning)) continue;
      starts.set(warning, new Date(at));
      lasting.delete(warning);
    }
  }
  return starts;
}
