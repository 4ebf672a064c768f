import type { ShownAttempt, ShownJob } from '../../db/operator/jobs.ts';

/** The life of a job as events in the order of their time. */
interface LifeEvent {
  at: Date;
  what: string;
}

export function lifeOf({ job, deadLetter, cancelledBy, attempts }: Omit<ShownJob, 'queue' | 'waiting'>): LifeEvent[] {
  const replay = job.replayOf === null ? '' : `, as a replay of job ${job.replayOf}`;
  const events: (LifeEvent | null)[] = [
    event(job.createdAt, `published${replay}`),
    ...attempts.flatMap((attempt) => [
      event(attempt.startedAt, `delivery ${attempt.attempt} of ${job.maxAttempts} started`),
      event(attempt.timestamp, endOf(attempt)),
    ]),
    job.status === 'processing'
      ? event(job.claimedAt, `delivery ${job.attempts} started by worker ${job.workerId}`)
      : null,
    job.status === 'awaiting_ack'
      ? event(job.claimedAt, `delivery ${job.attempts} started; the webhook answered ${job.answerStatusCode ?? '-'}`)
      : null,
    job.progress === null ? null : event(job.progressAt, `progress: ${job.progress}`),
    event(job.completedAt, 'completed'),
    event(
      job.deadAt,
      `dead: ${(job.deadReason ?? '-').replaceAll('_', ' ')}${cancelledBy === null ? '' : `, cancelled by ${cancelledBy}`}`,
    ),
    deadLetter === null ? null : event(deadLetter.deadAt, `dead letter ${deadLetter.id}`),
    deadLetter === null ? null : event(deadLetter.replayedAt, `replayed as job ${deadLetter.replayedJobId ?? '-'}`),
  ];
  // The sort is stable: of equal times, the order above counts.
  return events.filter((one) => one !== null).sort((a, b) => a.at.getTime() - b.at.getTime());
}

function event(at: Date | null, what: string): LifeEvent | null {
  return at === null ? null : { at, what };
}

function endOf({ attempt, status, error, webhookStatusCode, durationMs, nextAt }: ShownAttempt): string {
  const details = [
    webhookStatusCode === null ? null : `status ${webhookStatusCode}`,
    durationMs === null ? null : `${durationMs} ms`,
    error,
    nextAt === null ? null : `next delivery at ${nextAt.toISOString()} at the earliest`,
  ].filter((detail) => detail !== null);
  const end = `delivery ${attempt} ended: ${status}`;
  return details.length === 0 ? end : `${end} (${details.join(', ')})`;
}
