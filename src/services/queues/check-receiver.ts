import { beginReceiverCheck, type CheckedQueue } from '../../db/queues/check.ts';
import { type Account, authorOf } from '../../domain/account.ts';
import { invalidField, JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { type CheckOfReceiver, checkOf } from '../../domain/receiver-check.ts';
import { type ExaminationFinding, payloadProblem } from '../../domain/receiver-examination.ts';
import type { Context } from '../context.ts';

/** Checks and examinations at once in this process. */
const AT_ONCE = 20;
/** Per minute of an account over all processes. Each examination is thirty requests. */
const CHECKS = { action: 'queue.check_receiver', verb: 'checks', perMinute: 10 } as const;
const EXAMINATIONS = { action: 'queue.examine_receiver', verb: 'examines', perMinute: 3 } as const;

/** Sends test requests to the receivers of queues. They are no jobs: nothing counts or stores them but the audit log. */
export function createReceiverChecks({ db, sendTest, examine }: Pick<Context, 'db' | 'sendTest' | 'examine'>) {
  let running = 0;

  /** @throws JobferryError `not_found`, `conflict` (too many checks), `unavailable` */
  async function withQueue<T>(
    account: Account,
    queueId: string,
    limit: typeof CHECKS | typeof EXAMINATIONS,
    work: (queue: CheckedQueue) => Promise<T>,
  ): Promise<T> {
    if (!isId(queueId)) throw notFound('queue');
    if (running >= AT_ONCE) throw tooMany(`this process is checking ${AT_ONCE} receivers`);
    running += 1;
    try {
      // The turn ends before the request, which may take as long as the receiver may.
      const queue = await db.changingTurns.run(account.id, () =>
        beginReceiverCheck(db, authorOf(account), queueId, limit),
      );
      if (queue === null) throw notFound('queue');
      if (queue === 'too_many')
        throw tooMany(`the account ${limit.verb} at most ${limit.perMinute} receivers a minute`);
      return await work(queue);
    } finally {
      running -= 1;
    }
  }

  return {
    /**
     * Sends one signed request to the webhook of a queue, and returns its answer.
     * @throws JobferryError `not_found`, `conflict` (too many checks), `unavailable`
     */
    checkReceiver(account: Account, queueId: string): Promise<CheckOfReceiver> {
      return withQueue(account, queueId, CHECKS, async (queue) =>
        checkOf(queue.now, await sendTest({ ...queue, accountId: account.id })),
      );
    },

    /**
     * Sends up to thirty test requests to the webhook of a queue, and judges the answers.
     * @param payload JSON source text of an object
     * @throws JobferryError `invalid_fields`, `not_found`, `conflict` (too many checks), `unavailable`
     */
    async examineReceiver(account: Account, queueId: string, payload: string): Promise<ExaminationFinding[]> {
      const problem = payloadProblem(payload);
      if (problem !== null) throw invalidField('payload', problem);
      return withQueue(account, queueId, EXAMINATIONS, (queue) =>
        examine({ ...queue, payload, accountId: account.id }),
      );
    },
  };
}

function tooMany(why: string): JobferryError {
  return new JobferryError('conflict', `${why}: try again in a moment`);
}
