import { recentDatabaseTime } from '../../db/connection/clock.ts';
import { dismissCause, restoreCause } from '../../db/dismissals.ts';
import type { Dismissal } from '../../db/generated/client.ts';
import { type Account, authorOf } from '../../domain/account.ts';
import { assertDismissalEnd, isFingerprint, MAX_DISMISSALS } from '../../domain/dismissal.ts';
import { JobferryError, notFound } from '../../domain/errors.ts';
import type { Context } from '../context.ts';

/** Dismisses causes of dead letters for all people of the account. Each change is written to the audit log. */
export function createDismissals({ db }: Pick<Context, 'db'>) {
  return {
    /**
     * Dismisses the dead letters with this fingerprint that die until then; a cause that is dismissed already gets the
     * new end.
     * @param until null: now, so that the cause is back as soon as it occurs again
     * @returns the dismissal as it was stored: another person may end it at once
     * @throws JobferryError `not_found`, `invalid_request` (end, or too many), `unavailable`
     */
    async dismiss(account: Account, fingerprint: string, until: Date | null): Promise<Dismissal> {
      if (until !== null) assertDismissalEnd(until, await recentDatabaseTime(db));
      const outcome = isFingerprint(fingerprint)
        ? await dismissCause(db, authorOf(account), fingerprint, until)
        : 'unknown';
      if (outcome === 'unknown') throw notFound('error group');
      if (outcome !== 'too_many') return outcome;
      throw new JobferryError(
        'invalid_request',
        `the account has ${MAX_DISMISSALS} dismissed causes: restore one that has ended`,
      );
    },

    /** Ends the dismissal of a cause. @throws JobferryError `not_found`, `unavailable` */
    async restore(account: Account, fingerprint: string): Promise<void> {
      const isRestored = isFingerprint(fingerprint) && (await restoreCause(db, authorOf(account), fingerprint));
      if (!isRestored) throw notFound('dismissal');
    },
  };
}
