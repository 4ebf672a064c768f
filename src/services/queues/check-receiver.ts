import { beginReceiverCheck, type CheckedQueue } from '../../db/queues/check.ts';
import { type Account, authorOf } from '../../domain/account.ts';
import { invalidField, JobferryError, notFound } from '../../domain/errors.ts';
import { allowance } from '../../domain/fair-share.ts';
import { isId } from '../../domain/id.ts';
import { type CheckOfReceiver, checkOf } from '../../domain/receiver-check.ts';
import { type ExaminationFinding, payloadProblem } from '../../domain/receiver-examination.ts';
import type { Context } from '../context.ts';

/** Checks and examinations at once in this process, of all accounts and of one. */
const AT_ONCE = 20;
const AT_ONCE_OF_ACCOUNT = 5;
/**
 * An account takes a place only while it has fewer than this for each free one,
 * so four greedy accounts leave four to the others.
 */
const APPETITE = 0.5;
/** Per minute of an account over all processes. Each examination is thirty requests. */
const CHECKS = { action: 'queue.check_receiver', verb: 'checks', perMinute: 10 } as const;
const EXAMINATIONS = { action: 'queue.examine_receiver', verb: 'examines', perMinute: 3 } as const;

/**
 * Sends test requests to the receivers of queues. They are no jobs: nothing counts or stores them but the audit log.
 */
export function createReceiverChecks({ db, sendTest, examine }: Pick<Context, 'db' | 'sendTest' | 'examine'>) {
  let running = 0;
  const runningOf = new Map<string, number>();

  /** @throws JobferryError `conflict` */
  function take(accountId: string): () => void {
    const ofAccount = runningOf.get(accountId) ?? 0;
    if (ofAccount >= AT_ONCE_OF_ACCOUNT) throw tooMany(`the account is checking ${AT_ONCE_OF_ACCOUNT} receivers`);
    if (allowance(AT_ONCE - running, ofAccount, APPETITE) <= 0)
      throw tooMany(`this process is checking ${running} of ${AT_ONCE} receivers, ${ofAccount} of the account`);
    running += 1;
    runningOf.set(accountId, ofAccount + 1);
    return () => {
      running -= 1;
      const left = (runningOf.get(accountId) ?? 1) - 1;
      if (left === 0) runningOf.delete(accountId);
      else runningOf.set(accountId, left);
    };
  }

  /** @throws JobferryError `not_found`, `conflict` (too many checks), `unavailable` */
  async function withQueue<T>(
    account: Account,
    queueId: string,
    limit: typeof CHECKS | typeof EXAMINATIONS,
    work: (queue: CheckedQueue) => Promise<T>,
  ): Promise<T> {
    if (!isId(queueId)) throw notFound('queue');
    const giveBack = take(account.id);
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
      giveBack();
    }
  }

  return {
    /**
     * Sends one signed request to the webhook of a queue, and returns its answer.
     * @param signal aborts when the client has left: then the request ends
     * @throws JobferryError `not_found`, `conflict` (too many checks), `unavailable`
     */
    checkReceiver(account: Account, queueId: string, signal: AbortSignal): Promise<CheckOfReceiver> {
      return withQueue(account, queueId, CHECKS, async (queue) =>
        checkOf(queue.now, await sendTest({ ...queue, accountId: account.id }, signal)),
      );
    },

    /**
     * Sends up to thirty test requests to the webhook of a queue, and judges the answers.
     * @param payload JSON source text of an object
     * @param signal aborts when the client has left: then no further request is sent
     * @throws JobferryError `invalid_fields`, `not_found`, `conflict` (too many checks), `unavailable`
     */
    async examineReceiver(
      account: Account,
      queueId: string,
      payload: string,
      signal: AbortSignal,
    ): Promise<ExaminationFinding[]> {
      const problem = payloadProblem(payload);
      if (problem !== null) throw invalidField('payload', problem);
      return withQueue(account, queueId, EXAMINATIONS, (queue) =>
        examine({ ...queue, payload, accountId: account.id }, signal),
      );
    },
  };
}

function tooMany(why: string): JobferryError {
  return new JobferryError('conflict', `${why}: try again in a moment`);
}
