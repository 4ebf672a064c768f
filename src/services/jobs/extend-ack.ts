import { extendAckDeadline } from '../../db/jobs/operations.ts';
import { type Account, authorOf } from '../../domain/account.ts';
import { isPerson } from '../../domain/audit.ts';
import { invalidField, JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { LIMITS } from '../../domain/queue.ts';
import { isLongerThan, isStorableText } from '../../domain/text.ts';
import type { Context } from '../context.ts';
import type { JobBatches } from './batches.ts';
import { findReportable, notAwaitingAck } from './report.ts';

/** Gives the client that works on a job in ack mode more time (GraphQL only). */
export function createExtendAck({ db, changes }: Pick<Context, 'db' | 'changes'>, batches: JobBatches) {
  return {
    /**
     * Moves the ack deadline to at least `seconds` from now, and stores the client's progress.
     * @param progress text for people; null: none
     * @param attempt refused unless this attempt is in flight; without it, any attempt is accepted
     * @returns the new deadline
     * @throws JobferryError `not_found`, `invalid_fields`, `invalid_request` (not awaiting_ack, or another attempt is
     *   in flight), `unavailable`
     */
    async extendAck(
      account: Account,
      jobId: string,
      seconds: number,
      progress: string | null,
      attempt?: number | null,
    ): Promise<Date> {
      assertExtension(seconds, progress);
      if (!isId(jobId)) throw notFound('job');
      const job = await findReportable(batches, account, jobId, attempt ?? undefined);
      if (job.state.status !== 'awaiting_ack') throw notAwaitingAck(job.rules.mode, job.state.status);
      const extension = { ms: Math.ceil(seconds * 1000), progress };
      const by = isPerson(account.actor) ? authorOf(account) : null;
      const deadline = await db.changingTurns.run(account.id, () => extendAckDeadline(db, job, extension, by));
      if (deadline === null) {
        const message = 'the job is no longer awaiting_ack: a report or its timeout came first';
        throw new JobferryError('invalid_request', message);
      }
      changes.changed({ accountId: account.id, queueId: job.queueId, jobId });
      return deadline;
    },
  };
}

function assertExtension(seconds: number, progress: string | null): void {
  const { min, max } = LIMITS.ackExtension;
  if (!(seconds >= min && seconds <= max)) throw invalidField('seconds', `must be from ${min} to ${max}`);
  if (progress !== null && (isLongerThan(progress, LIMITS.progressLength) || !isStorableText(progress))) {
    const message = `must have at most ${LIMITS.progressLength} characters, and neither NUL nor lone surrogates`;
    throw invalidField('progress', message);
  }
}
