import type { Attempt } from '../../db/generated/client.ts';
import { type JobParts, type JobRows, jobRows, lastAttemptsOfJobs } from '../../db/jobs/rows.ts';
import type { Account } from '../../domain/account.ts';
import { isId } from '../../domain/id.ts';
import type { Context } from '../context.ts';
import { type ShownWaiting, shownWaiting } from '../insight/queues.ts';

export type { JobRow } from '../../db/rows.ts';

/** Jobs as rows, without payloads. */
export function createJobRowReads({ db }: Pick<Context, 'db'>) {
  return {
    /**
     * Returns jobs by their ids, with their queues, dead letters, waiting reasons and cancellations as far as they are
     * asked for, with one statement.
     * @throws JobferryError `unavailable`
     */
    async rows(
      account: Account,
      ids: readonly string[],
      parts: JobParts,
    ): Promise<Omit<JobRows, 'waiting'> & { waiting: Map<string, ShownWaiting> }> {
      const rows = await jobRows(db.reading(account.id), account.id, ids.filter(isId), parts);
      return { ...rows, waiting: new Map(rows.waiting.map((facts) => [facts.id, shownWaiting(facts)])) };
    },

    /** Returns the last attempts of jobs, as they are stored. @throws JobferryError `unavailable` */
    lastAttempts(account: Account, jobIds: readonly string[]): Promise<Attempt[]> {
      return lastAttemptsOfJobs(db.reading(account.id), account.id, jobIds.filter(isId));
    },
  };
}
