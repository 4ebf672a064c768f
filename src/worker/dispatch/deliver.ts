import type { ClaimedJob } from '../../db/delivery/claim.ts';
import type { Settlement } from '../../db/delivery/settle.ts';
import { buildEnvelope } from '../../delivery/envelope.ts';
import type { Sender, SendResult } from '../../delivery/send.ts';
import { classify, type Outcome } from '../../domain/outcome.ts';
import { type JobEvent, transition } from '../../domain/transition.ts';
import { counts } from '../../telemetry/counts/counts.ts';
import type { AttemptTrace } from '../../telemetry/tracing/attempt-trace.ts';
import { elapsedMs, type Moment } from '../moment.ts';

/** When a job was claimed, on both clocks. */
export interface ClaimTime {
  /** Database time in milliseconds. */
  now: number;
  /** Taken before the claim statement was sent, so it is never later than the claim. */
  startedAt: Moment;
  /**
   * Result of `performance.now()` when the answer of the claim statement was here,
   * so it is never earlier than the claim.
   */
  answeredAt: number;
  /** Result of `Date.now()` for traces, if `startedAt` is from before the claim began. */
  begunAt?: number | undefined;
}

interface Lease {
  /** Length of the lease in milliseconds, from the claim on. */
  leaseMs: number;
  /** Whether no other process can have taken back the claim, although the lease has not ended. */
  isHeld: () => boolean;
}

/** Additions to the request of a delivery. */
interface Additions {
  /** The spans of the attempt; null or undefined if this process makes none. */
  attempt?: AttemptTrace | null;
  /** Whether it has the headers of Standard Webhooks. */
  standardWebhooks?: boolean;
}

export interface Delivery {
  settlement: Settlement;
  /** For the log. */
  outcome: 'accepted' | 'backpressure' | 'failed' | 'unsent' | 'abandoned';
  /** For the log: why a certificate was not accepted. */
  errorCode?: string | undefined;
  durationMs: number;
}

/**
 * Time reserved between the end of a delivery and the end of its lease, to write the outcome. A delivery that could end
 * later is not started. Otherwise another process could deliver the same job at the same time.
 */
const SETTLE_MS = 1000;

/** Delivers a claimed job and decides its next state. Never throws because of the webhook's behaviour. */
export async function deliver(
  sender: Sender,
  job: ClaimedJob,
  claimed: ClaimTime,
  lease: Lease,
  additions: Additions = {},
): Promise<Delivery> {
  const result = job.missingKey === undefined ? await send(sender, job, claimed, lease, additions) : ABANDONED;
  // Not by the wall clock of this machine: a wrong clock must not end a job's lifetime. Never ahead of the database: a
  // hold until a date (Retry-After) must not end before that date, however long the claim statement took.
  const now = claimed.now + performance.now() - claimed.answeredAt;
  const delivery = decide(job, result, now, () => sender.egress.pauseMs(Math.random()));
  const { outcome, durationMs, settlement } = delivery;
  const statusCode = settlement.answer?.statusCode ?? null;
  const waitedMs = claimed.now - job.scheduledFor.getTime();
  counts.delivered(job.queueId, { outcome, statusCode, durationMs, waitedMs });
  additions.attempt?.endDelivery({ outcome, statusCode, error: settlement.transition.entry?.error ?? null });
  return delivery;
}

const ABANDONED: SendResult = { abandoned: true };

function send(
  sender: Sender,
  job: ClaimedJob,
  claimed: ClaimTime,
  { leaseMs, isHeld }: Lease,
  { attempt = null, standardWebhooks = false }: Additions,
): Promise<SendResult> {
  return sender.send({
    accountId: job.accountId,
    url: job.webhookUrl,
    secret: job.signingSecret,
    nextSecret: job.nextSigningSecret,
    body: takeEnvelope(job),
    job: {
      id: job.id,
      queue: job.queueName,
      queueId: job.queueId,
      attempt: job.state.attempts,
      ackTimeout: job.rules.mode === 'ack' ? job.rules.ackTimeout : null,
    },
    standardWebhooks,
    trace: attempt === null ? job.trace : attempt.startDelivery(job.queueName, job.webhookUrl),
    stillMine: (remainingMs) => isHeld() && elapsedMs(claimed.startedAt) + remainingMs + SETTLE_MS <= leaseMs,
  });
}

/** Builds the envelope and drops the job's payload: keeping both would double the memory of a waiting delivery. */
function takeEnvelope(job: ClaimedJob): Buffer {
  const { id, payload, state, createdAt } = job;
  const { attempts: attempt, maxAttempts } = state;
  const body = buildEnvelope({ id, queue: job.queueName, payload, attempt, maxAttempts, createdAt });
  job.payload = '';
  return body;
}

/** @param pauseMs returns milliseconds until a delivery that could not begin is tried again */
function decide(job: ClaimedJob, result: SendResult, now: number, pauseMs: () => number): Delivery {
  const moment = { now, random: Math.random() };
  const outcome = 'abandoned' in result ? null : classify(result.answer, now);
  const event = eventOf(outcome, pauseMs);
  const decided = transition(job.state, job.rules, event, moment);
  if (decided === null) throw new Error(`job ${job.id} was claimed but is ${job.state.status}`);
  const durationMs = 'abandoned' in result ? 0 : Math.round(result.durationMs);
  return {
    settlement: {
      id: job.id,
      expected: 'processing',
      token: job.token,
      transition: decided,
      answer:
        'abandoned' in result
          ? null
          : {
              statusCode: outcome?.statusCode ?? null,
              durationMs,
              body: result.responseBody,
              encryption:
                job.encryptedWith === undefined ? undefined : { queueId: job.queueId, keyId: job.encryptedWith },
            },
    },
    outcome: seenOutcome(outcome, result),
    errorCode: 'answer' in result && result.answer.kind === 'no_answer' ? result.answer.code : undefined,
    durationMs,
  };
}

/** A client of a tunnel must not choose `unsent`, which pages the operator. */
function seenOutcome(outcome: Outcome | null, result: SendResult): Delivery['outcome'] {
  if (outcome === null || 'abandoned' in result) return 'abandoned';
  return outcome.kind === 'unsent' && result.isFromClient ? 'abandoned' : outcome.kind;
}

function eventOf(outcome: Outcome | null, pauseMs: () => number): JobEvent {
  if (outcome === null) return { type: 'interrupted' };
  return outcome.kind === 'unsent'
    ? { type: 'unsent', error: outcome.error, waitMs: pauseMs() }
    : { type: 'answered', outcome };
}
