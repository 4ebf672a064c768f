import type { ClaimedJob } from '../db/claim.ts';
import type { Settlement } from '../db/settle.ts';
import { buildEnvelope } from '../delivery/envelope.ts';
import type { Sender, SendResult } from '../delivery/send.ts';
import { judge } from '../domain/outcome.ts';
import { transition } from '../domain/transition.ts';
import { elapsedMs, type Moment } from './moment.ts';

/** When a job was claimed, on both clocks. */
export interface ClaimTime {
  /** Database time in milliseconds. */
  now: number;
  /** Before the claim was asked for: never later than the claim. */
  asked: Moment;
}

export interface Delivery {
  settlement: Settlement;
  /** What the log says of the attempt. */
  outcome: 'accepted' | 'backpressure' | 'failed' | 'abandoned';
  durationMs: number;
}

/**
 * Delivers a claimed job and decides what becomes of it. Never throws for what a webhook does.
 * @param startWithinMs a delivery that would start later could still run when the lease ends, and
 *   the job would be delivered twice at once; so it is not started
 */
export async function deliver(
  sender: Sender,
  job: ClaimedJob,
  claimed: ClaimTime,
  startWithinMs: number,
): Promise<Delivery> {
  const { id, payload, state, createdAt } = job;
  const { attempts: attempt, maxAttempts } = state;
  const body = buildEnvelope({ id, queue: job.queueName, payload, attempt, maxAttempts, createdAt });
  const elapsed = () => elapsedMs(claimed.asked);
  const result = await sender.send({
    url: job.webhookUrl,
    secret: job.signingSecret,
    nextSecret: job.nextSigningSecret,
    body,
    stillMine: () => elapsed() < startWithinMs,
  });
  return decide(job, result, claimed.now + elapsed());
}

function decide(job: ClaimedJob, result: SendResult, now: number): Delivery {
  const moment = { now, random: Math.random() };
  const outcome = 'abandoned' in result ? null : judge(result.answer, now);
  const event = outcome === null ? ({ type: 'interrupted' } as const) : ({ type: 'answered', outcome } as const);
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
    outcome: outcome?.kind ?? 'abandoned',
    durationMs,
  };
}
