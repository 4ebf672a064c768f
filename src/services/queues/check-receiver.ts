import { beginReceiverCheck } from '../../db/queues/check.ts';
import { type Account, authorOf } from '../../domain/account.ts';
import { JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { type CheckOfReceiver, checkOf } from '../../domain/receiver-check.ts';
import type { Context } from '../context.ts';

/** Checks per minute of an account over all processes, and checks at once in this process. */
const LIMITS = { perMinute: 10, atOnce: 20 };

/** Sends test requests to the receivers of queues. They are no jobs: nothing counts or stores them but the audit log. */
export function createReceiverChecks({ db, sendTest }: Pick<Context, 'db' | 'sendTest'>) {
  let running = 0;
  return {
    /**
     * Sends one signed request to the webhook of a queue, and returns its answer.
     * @throws JobferryError `not_found`, `conflict` (too many checks), `unavailable`
     */
    async checkReceiver(account: Account, queueId: string): Promise<CheckOfReceiver> {
      if (!isId(queueId)) throw notFound('queue');
      if (running >= LIMITS.atOnce) throw tooMany(`this process is checking ${LIMITS.atOnce} receivers`);
      running += 1;
      try {
        // The turn ends before the request, which may take as long as the receiver may.
        const queue = await db.changingTurns.run(account.id, () =>
          beginReceiverCheck(db, authorOf(account), queueId, LIMITS.perMinute),
        );
        if (queue === null) throw notFound('queue');
        if (queue === 'too_many') throw tooMany(`the account checks at most ${LIMITS.perMinute} receivers a minute`);
        const sentAt = queue.now;
        return checkOf(sentAt, await sendTest({ ...queue, accountId: account.id }));
      } finally {
        running -= 1;
      }
    },
  };
}

function tooMany(why: string): JobferryError {
  return new JobferryError('conflict', `${why}: try again in a moment`);
}
