import { beginReceiverCheck, type CheckedQueue } from '../../db/queues/check.ts';
import { type Account, authorOf } from '../../domain/account.ts';
import { invalidField, JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { type CheckOfReceiver, checkOf } from '../../domain/receiver-check.ts';
import { type ExaminationFinding, payloadProblem } from '../../domain/receiver-examination.ts';
import type { Context } from '../context.ts';

/** Checks per minute of an account over all processes, and checks at once in this process. */
const LIMITS = { perMinute: 10, atOnce: 20 };
/** Each examination is thirty requests. */
const EXAMINATIONS_PER_MINUTE = 3;

/** Sends test requests to the receivers of queues. They are no jobs: nothing counts or stores them but the audit log. */
export function createReceiverChecks({ db, sendTest, examine }: Pick<Context, 'db' | 'sendTest' | 'examine'>) {
  let running = 0;

  /** @throws JobferryError `not_found`, `conflict` (too many checks), `unavailable` */
  async function withQueue<T>(
    account: Account,
    queueId: string,
    { perMinute, action }: { perMinute: number; action: 'queue.check_receiver' | 'queue.examine_receiver' },
    work: (queue: CheckedQueue) => Promise<T>,
  ): Promise<T> {
    if (!isId(queueId)) throw notFound('queue');
    if (running >= LIMITS.atOnce) throw tooMany(`this process is checking ${LIMITS.atOnce} receivers`);
    running += 1;
    try {
      // The turn ends before the request, which may take as long as the receiver may.
      const queue = await db.changingTurns.run(account.id, () =>
        beginReceiverCheck(db, authorOf(account), queueId, perMinute, action),
      );
      if (queue === null) throw notFound('queue');
      if (queue === 'too_many')
        throw tooMany(
          `the account ${action === 'queue.check_receiver' ? 'checks' : 'examines'} at most ${perMinute} receivers a minute`,
        );
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
      return withQueue(
        account,
        queueId,
        { perMinute: LIMITS.perMinute, action: 'queue.check_receiver' },
        async (queue) => checkOf(queue.now, await sendTest({ ...queue, accountId: account.id })),
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
      const limit = { perMinute: EXAMINATIONS_PER_MINUTE, action: 'queue.examine_receiver' } as const;
      return withQueue(account, queueId, limit, ({ mode, ackTimeout, ...queue }) =>
        examine({ ...queue, payload, accountId: account.id, ackTimeout: mode === 'ack' ? ackTimeout : null }),
      );
    },
  };
}

function tooMany(why: string): JobferryError {
  return new JobferryError('conflict', `${why}: try again in a moment`);
}
