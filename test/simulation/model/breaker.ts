import type { QueueRow } from './tables.ts';

/** The breaker of a queue: its settings and its state. Times are milliseconds of the database's clock. */
export interface BreakerRow {
  failures: number | null;
  seconds: number | null;
  failed: number;
  failedSince: number | null;
  openedAt: number | null;
  until: number | null;
  probes: number;
  closedAt: number | null;
}

export function breakerOf({ failures = null, seconds = null }: Partial<BreakerRow> = {}): BreakerRow {
  const nothing = { failed: 0, failedSince: null, openedAt: null, until: null, probes: 0, closedAt: null };
  return { failures, seconds, ...nothing };
}

const pauseMs = (probes: number) => Math.min(10 * 2 ** probes, 300) * 1000;

interface Told {
  jobIds: readonly string[];
  now: number;
}

/** `jobferry_breaker_failing` */
export function failing(
  queue: QueueRow,
  { jobIds, now }: Told,
  { isInRow, holdMs }: { isInRow: boolean; holdMs: number | null },
): void {
  const { breaker } = queue;
  const endsProbe = queue.probeJobId !== null && jobIds.includes(queue.probeJobId);
  const wasOpen = breaker.openedAt !== null && queue.holdUntil !== null;
  if (isInRow && hasBreaker(breaker)) {
    breaker.failed += jobIds.length;
    breaker.failedSince ??= now;
  }
  const opens = isInRow && !wasOpen && queue.deletedAt === null && isDue(breaker, now);
  let holds: number | null = null;
  if (opens) {
    breaker.openedAt = now;
    breaker.probes = breaker.closedAt !== null && now - breaker.closedAt <= 600_000 ? breaker.probes + 1 : 0;
  } else if (wasOpen && endsProbe) {
    breaker.probes += 1;
  }
  if (opens || (wasOpen && endsProbe)) {
    breaker.until = now + Math.max(pauseMs(breaker.probes), Math.min(holdMs ?? 0, 300_000));
    holds = breaker.until;
  } else if (holdMs !== null) {
    holds = now + holdMs;
  }
  if (holds !== null) queue.holdUntil = Math.max(queue.holdUntil ?? 0, holds);
  else if (endsProbe && !wasOpen && queue.holdUntil !== null && queue.holdUntil <= now) queue.holdUntil = null;
  if (endsProbe) queue.probeJobId = null;
}

function isDue({ failures, seconds, failed, failedSince }: BreakerRow, now: number): boolean {
  if (failures !== null && failed >= failures) return true;
  return seconds !== null && failed >= 2 && failedSince !== null && now - failedSince >= seconds * 1000;
}

/** `jobferry_breaker_alive` */
export function alive(queue: QueueRow, { jobIds, now }: Told, hasEnded: boolean): void {
  const { breaker } = queue;
  const wasOpen = breaker.openedAt !== null;
  const isProbe = queue.probeJobId !== null && jobIds.includes(queue.probeJobId);
  if (wasOpen && queue.holdUntil !== null && queue.holdUntil === breaker.until) {
    queue.holdUntil = null;
    queue.probeJobId = null;
  } else if (isProbe && (hasEnded || wasOpen)) {
    queue.probeJobId = null;
    if (queue.holdUntil !== null && queue.holdUntil <= now) queue.holdUntil = null;
  }
  if (wasOpen) breaker.closedAt = now;
  Object.assign(breaker, { failed: 0, failedSince: null, openedAt: null, until: null });
}

/** `renew-breaker` */
export function renew(queue: QueueRow, now: number): void {
  const { breaker } = queue;
  const isOpen = breaker.openedAt !== null;
  if (isOpen && queue.holdUntil !== null && (queue.holdUntil === breaker.until || queue.holdUntil <= now)) {
    breaker.until = Math.min(breaker.until ?? now, now);
    queue.holdUntil = Math.min(queue.holdUntil, now);
    queue.probeJobId = null;
  }
  Object.assign(breaker, isOpen ? {} : { failed: 0, failedSince: null }, { probes: 0, closedAt: null });
}

export function hasBreaker(breaker: BreakerRow | undefined): boolean {
  return breaker !== undefined && (breaker.failures !== null || breaker.seconds !== null);
}
