import { traceIdOf } from '../../domain/trace.ts';
import type { Logger } from '../../log.ts';
import type { SettledDelivery } from './settle-batcher.ts';

/** Writes one log line per attempt. It never contains the payload, the signing secret or credentials in the URL. */
export function logAttempt(log: Logger, { job, delivery }: SettledDelivery, applied: boolean): void {
  const { transition } = delivery.settlement;
  log.info(
    {
      jobId: job.id,
      queue: job.queueName,
      queueId: job.queueId,
      accountId: job.accountId,
      attempt: job.state.attempts,
      maxAttempts: job.state.maxAttempts,
      outcome: delivery.outcome,
      statusCode: delivery.settlement.answer?.statusCode ?? null,
      error: transition.entry?.error ?? null,
      durationMs: delivery.durationMs,
      status: transition.status,
      retryInMs: transition.status === 'pending' ? transition.waitMs : null,
      deadReason: transition.deadReason,
      probe: job.rules.isProbe,
      applied,
      // Left out of the line if it is undefined.
      traceId: traceIdOf(job.trace),
    },
    'attempt',
  );
}
