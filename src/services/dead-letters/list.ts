import { databaseTime } from '../../db/connection/clock.ts';
import { STATEMENT_TIMEOUT_MS } from '../../db/connection/connections.ts';
import type { Database } from '../../db/connection/database.ts';
import { listDeadLetterDocuments } from '../../db/dead-letters.ts';
import type { Account } from '../../domain/account.ts';
import type { DeadLetterDocument } from '../../domain/job.ts';
import type { Context } from '../context.ts';
import { offsetOf, type Page, type PageInput, windowOf } from '../pages.ts';
import { assertDeadLettersExist } from './exists.ts';

interface ListDeadLettersInput extends PageInput {
  /** Whether to list dead letters that were replayed; true when left out. */
  includeReplayed?: boolean | undefined;
}

/** The dead letters of a queue, as REST lists them. */
export function createDeadLetterList(context: Context) {
  const { db, periods } = context;
  return {
    /**
     * Returns a page of the dead letters of a queue, most recently dead first, within the plan's window.
     * @param isGone whether the client has disconnected: later statements are then not run
     * @throws JobferryError `not_found` (queue), `gone` (deleted queue), `unavailable`
     */
    async list(
      account: Account,
      queueId: string,
      input: ListDeadLettersInput,
      isGone?: () => boolean,
    ): Promise<Page<DeadLetterDocument>> {
      const reading = db.reading(account.id, { isGone, maxMs: STATEMENT_TIMEOUT_MS });
      await assertDeadLettersExist(reading, account, queueId);
      const filter = {
        queueId,
        from: await clampedFrom(context, reading, account, input),
        to: input.to,
        includeReplayed: input.includeReplayed ?? true,
        periods,
      };
      const found = await listDeadLetterDocuments(reading, filter, offsetOf(input));
      return { ...found, page: input.page, limit: input.limit };
    },
  };
}

/** The lower bound actually used: `from`, but not before the plan's window (spec "Job list"). */
async function clampedFrom(context: Context, reading: Database, account: Account, input: PageInput): Promise<Date> {
  const earliest = (await databaseTime(reading)) - windowOf(context, account);
  return new Date(Math.max(input.from?.getTime() ?? earliest, earliest));
}
