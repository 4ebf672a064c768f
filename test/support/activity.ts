import type { ClaimedJob } from '../../src/db/delivery/claim.ts';
import { settle } from '../../src/db/delivery/settle.ts';
import type { JobStatus } from '../../src/domain/job.ts';
import type { JobEvent } from '../../src/domain/transition.ts';
import { backpressure, DELIVERED, FAILED, INTERRUPTED, settlementOf, type TestQueue } from './database-fixture.ts';
import type { Insight } from './insight.ts';

type Chance = () => number;

/** A death that an attempt caused. */
export interface Death {
  queueId: string;
  at: number;
}

const UNAUTHORIZED: JobEvent = { type: 'answered', outcome: { kind: 'failed', statusCode: 401, error: 'HTTP 401' } };
const SILENT: JobEvent = { type: 'answered', outcome: { kind: 'failed', statusCode: null, error: 'timeout' } };
const MOVED: JobEvent = { type: 'answered', outcome: { kind: 'failed', statusCode: 302, error: 'HTTP 302' } };
const UNKNOWN: JobEvent = { type: 'answered', outcome: { kind: 'failed', statusCode: 404, error: 'HTTP 404' } };
const ANSWERS = [DELIVERED, DELIVERED, DELIVERED, FAILED, UNAUTHORIZED, SILENT, MOVED, UNKNOWN, INTERRUPTED];
const REPORTS: JobEvent[] = [
  { type: 'acked' },
  { type: 'acked' },
  { type: 'nacked', retryable: true, reason: 'not now' },
  { type: 'nacked', retryable: false, reason: 'never' },
  { type: 'deferred', retryAfterMs: 60_000, scope: 'job', reason: 'later' },
  { type: 'ack_timed_out' },
  { type: 'cancelled' },
];

/** Claims due jobs and draws their outcomes; some jobs stay in flight. Returns the jobs that died. */
export async function deliverSome(insight: Insight, queue: TestQueue, now: number, chance: Chance): Promise<Death[]> {
  const deaths: Death[] = [];
  const { jobs } = await insight.claim(queue, 40);
  const pick = <T>(list: readonly T[]): T => {
    const picked = list[Math.floor(chance() * list.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  };
  for (const job of jobs) {
    if (chance() < 0.05) continue;
    const event = chance() < 0.15 ? backpressure(chance() * 600_000) : pick(ANSWERS);
    const durationMs = Math.floor(Math.exp(chance() * 9));
    let status = await settleAs(insight, job, event, now, durationMs);
    let isWish = false;
    if (status === 'awaiting_ack' && chance() < 0.9) {
      const report = pick(REPORTS);
      isWish = report.type === 'cancelled';
      status = await settleAs(insight, awaiting(job), report, now, null);
    }
    if (status === 'dead' && !isWish) deaths.push({ queueId: queue.id, at: now });
  }
  return deaths;
}

/** The claimed job as it is when its webhook has confirmed receipt. */
export function awaiting(job: ClaimedJob): ClaimedJob {
  return { ...job, state: { ...job.state, status: 'awaiting_ack', webhookStatusCode: 200 } };
}

/**
 * Settles a job by an event; returns its new status.
 * @param durationMs null for what is not a delivery
 */
export async function settleAs(
  { db }: Pick<Insight, 'db'>,
  job: ClaimedJob,
  event: JobEvent,
  now: number,
  durationMs: number | null,
): Promise<JobStatus> {
  const isAnswer = event.type === 'answered';
  const statusCode = isAnswer ? event.outcome.statusCode : null;
  const answer = isAnswer && durationMs !== null ? { statusCode, durationMs, body: null } : null;
  const settlement = { ...settlementOf(job, event, now), answer };
  const applied = await settle(db, [settlement]);
  if (!applied.has(job.id)) throw new Error(`${event.type} was not applied`);
  return settlement.transition.status;
}
