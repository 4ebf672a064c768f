import type { JobRow, QueueRow, Tables } from './tables.ts';

/**
 * Another claim can give something after so long without any event; null: only an event can; infinite: nothing is left.
 */
interface Claimed {
  jobs: JobRow[];
  waitMs: number | null;
  isProbe: boolean;
}

/** `jobferry_claim`. Its bound of payload bytes is left out: that bounds memory and no promise. */
export function claim(tables: Tables, [queueIds, capacities, , since, workerId, leaseMs]: unknown[]): object[] {
  const asked = (queueIds as string[]).map((queueId, n) => ({
    queueId,
    capacity: (capacities as number[])[n] as number,
    since: (since as (Date | null)[])[n]?.getTime() ?? null,
  }));
  asked.sort((a, b) => (a.queueId < b.queueId ? -1 : 1));
  return asked.flatMap((one) => {
    return claimOf(tables, one, workerId as number, leaseMs as number);
  });
}

interface Asked {
  queueId: string;
  capacity: number;
  since: number | null;
}

/** `jobferry_is_usual`, without the rotation of secrets. */
export function isUsual({ deletedAt, pausedAt, holdUntil, probeJobId, rateLimitMax }: QueueRow): boolean {
  return deletedAt === null && pausedAt === null && holdUntil === null && probeJobId === null && rateLimitMax === null;
}

function claimOf(tables: Tables, asked: Asked, workerId: number, leaseMs: number): object[] {
  const { queueId, capacity } = asked;
  const now = tables.clock();
  const queue = tables.queues.get(queueId);
  const head = { queue_id: queueId, claimed_at: new Date(now), id: null };
  if (queue === undefined || queue.deletedAt !== null) return [{ ...head, wait_ms: null, queue_deleted: true }];
  const since = isUsual(queue) ? asked.since : null;
  let taken = take(tables, queue, now, capacity, since ?? Number.NEGATIVE_INFINITY);
  if (since !== null && taken.jobs.length === 0) taken = take(tables, queue, now, capacity);
  const { jobs, waitMs, isProbe } = taken;
  if (jobs.length === 0) return [{ ...head, wait_ms: waitMs, queue_deleted: false }];
  for (const job of jobs) {
    tables.updateJob(job, claimedBy(queue, job, { token: tables.nextToken(), now, workerId, leaseMs }));
  }
  tables.usage.set(queue.accountId, (tables.usage.get(queue.accountId) ?? 0) + jobs.length);
  return jobs.map((job) => toRow(tables, queue, job, { waitMs, isProbe, now }));
}

interface ClaimOfJob {
  token: number;
  now: number;
  workerId: number;
  leaseMs: number;
}

/** The columns that a claim changes, also that of a publish. */
export function claimedBy(
  queue: QueueRow,
  job: JobRow,
  { token, now, workerId, leaseMs }: ClaimOfJob,
): Partial<JobRow> {
  return {
    status: 'processing',
    attempts: job.attempts + 1,
    token,
    workerId,
    claimedAt: now,
    deadline: now + leaseMs,
    mode: queue.mode,
    maxDefers: queue.maxDefers,
    ackTimeoutAction: queue.ackTimeoutAction,
    waitReason: null,
  };
}

function take(
  tables: Tables,
  queue: QueueRow,
  now: number,
  capacity: number,
  since = Number.NEGATIVE_INFINITY,
): Claimed {
  const slots = queue.concurrency - tables.inFlight(queue.id);
  let room = Math.min(slots, capacity);
  let waitsForEvent = slots <= 0;
  let notBefore: number | null = null;
  let isProbe = false;
  if (queue.pausedAt !== null) {
    room = 0;
    waitsForEvent = true;
  }

  if (queue.probeJobId !== null) {
    const probe = tables.jobs.get(queue.probeJobId);
    if (probe?.status === 'processing' || probe?.status === 'awaiting_ack') {
      room = 0;
      waitsForEvent = true;
    } else {
      queue.probeJobId = null;
      const isOver = queue.holdUntil !== null && queue.holdUntil <= now && queue.breaker.openedAt === null;
      if (isOver) queue.holdUntil = null;
    }
  }
  if (queue.probeJobId === null && queue.holdUntil !== null) {
    if (queue.holdUntil > now) {
      room = 0;
      notBefore = queue.holdUntil;
    } else {
      room = Math.min(room, 1);
      isProbe = true;
    }
  }

  const window = windowAt(queue, now);
  if (window !== null) room = Math.min(room, window.max - window.used);

  const pending = tables.line(queue.id).filter(({ scheduledFor }) => scheduledFor >= since);
  const line = pending.filter((job) => tables.deliverBy(job) > now);
  const jobs = room <= 0 ? [] : line.filter((job) => job.scheduledFor <= now).slice(0, room);
  if (jobs.length > 0) {
    if (window !== null) window.used += jobs.length;
    if (isProbe) {
      queue.probeJobId = jobs[0]?.id ?? null;
      waitsForEvent = true;
    }
    if (window !== null) {
      queue.windowStart = window.start;
      queue.windowUsed = window.used;
    }
    waitsForEvent ||= jobs.length >= slots;
  }
  if (waitsForEvent) return { jobs, isProbe, waitMs: null };

  if (window !== null && window.used >= window.max) notBefore = Math.max(notBefore ?? 0, window.end);
  if (since === Number.NEGATIVE_INFINITY && line.length < pending.length) {
    if (notBefore !== null && notBefore - now >= 2000) tables.wake('deliver', queue.id, notBefore);
    return { jobs, isProbe, waitMs: Math.max(jobs.length > 0 ? 0 : 250, (notBefore ?? 0) - now) };
  }
  const next = pending.find((job) => !jobs.includes(job));
  if (next === undefined) return { jobs, isProbe, waitMs: Number.POSITIVE_INFINITY };
  if (notBefore !== null && notBefore > next.scheduledFor && notBefore - now >= 2000) {
    tables.wake('deliver', queue.id, notBefore);
  }
  return { jobs, isProbe, waitMs: Math.max(0, Math.max(next.scheduledFor, notBefore ?? 0) - now) };
}

function windowAt(queue: QueueRow, now: number): { max: number; start: number; end: number; used: number } | null {
  if (queue.rateLimitMax === null) return null;
  const length = Math.round(queue.rateLimitWindow * 1000);
  const start = Math.floor(now / length) * length;
  const used = queue.windowStart === start ? queue.windowUsed : 0;
  return { max: queue.rateLimitMax, start, end: start + length, used };
}

function toRow(
  tables: Tables,
  queue: QueueRow,
  job: JobRow,
  { waitMs, isProbe, now }: { waitMs: number | null; isProbe: boolean; now: number },
): object {
  return {
    queue_id: queue.id,
    claimed_at: new Date(now),
    wait_ms: waitMs,
    queue_deleted: false,
    id: job.id,
    claim_token: job.token,
    account_id: job.accountId,
    queue_name: queue.name,
    webhook_url: queue.webhookUrl,
    signing_secret: 'secret',
    next_signing_secret: null,
    trace_context: null,
    payload: job.payload,
    created_at: new Date(job.createdAt),
    scheduled_for: new Date(job.scheduledFor),
    deliver_by: new Date(tables.deliverBy(job)),
    last_error: job.lastError,
    attempts: job.attempts,
    max_attempts: job.maxAttempts,
    defer_count: job.deferCount,
    short_holds: job.shortHolds,
    interruptions: job.interruptions,
    backoff_type: job.backoffType,
    backoff_delay: job.backoffDelay,
    mode: job.mode,
    max_defers: job.maxDefers,
    ack_timeout: queue.ackTimeout,
    ack_timeout_action: job.ackTimeoutAction,
    is_probe: isProbe,
  };
}
