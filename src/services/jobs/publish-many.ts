import type { Account } from '../../domain/account.ts';
import { isUnavailable, JobferryError, notFound, unavailable } from '../../domain/errors.ts';
import type { JobStatus } from '../../domain/job.ts';
import { assertPublishable } from '../../domain/publish.ts';
import { LIMITS } from '../../domain/queue.ts';
import type { Publish, PublishInput } from './publish.ts';

/** Jobs of one `publishMany` that are published at once. */
const PORTION = 100;
/** Time after which no further portion begins. Until then, jobs that were certainly not stored are retried. */
const PUBLISHING_MS = 4500;

type Given = PublishInput & { queueName: string };

type PublishOutcome =
  | { outcome: 'created' | 'existing'; id: string; status: JobStatus; createdAt: Date }
  | { outcome: 'refused'; error: Error };

/** Publishing of many jobs in one call (GraphQL only). */
export function createPublishMany(publish: Publish) {
  const publishOrRefuse = async (account: Account, { queueName, ...input }: Given): Promise<PublishOutcome> => {
    try {
      assertPublishable(input);
      if (!isQueueName(queueName)) throw notFound('queue');
      const { created, job } = await publish(account, queueName, input);
      return { outcome: created ? 'created' : 'existing', ...job };
    } catch (error) {
      return { outcome: 'refused', error: error instanceof Error ? error : new Error(String(error)) };
    }
  };

  return {
    /**
     * Publishes up to 1000 jobs; each is stored or refused by itself.
     * @returns an outcome per job, in order
     * @throws JobferryError `invalid_request` for more jobs
     */
    async publishMany(account: Account, jobs: readonly Given[]): Promise<PublishOutcome[]> {
      if (jobs.length > LIMITS.publishBatch) {
        throw new JobferryError('invalid_request', `at most ${LIMITS.publishBatch} jobs at once, not ${jobs.length}`);
      }
      // A portion is half of a statement's batch. More jobs at once would wait longer than a busy batcher allows.
      const outcomes: PublishOutcome[] = [];
      const giveUpAt = performance.now() + PUBLISHING_MS;
      for (let open = [...jobs.keys()]; open.length > 0 && performance.now() < giveUpAt; ) {
        const portion = open.splice(0, PORTION);
        const published = await Promise.all(portion.map((n) => publishOrRefuse(account, jobs[n] as Given)));
        for (const [index, n] of portion.entries()) outcomes[n] = published[index] as PublishOutcome;
        // The database takes no writes at the moment, so every further portion would fail, too.
        if (published.some(isNotNow) && published.every(({ outcome }) => outcome === 'refused')) break;
        open = [...portion.filter((_, index) => isNotNow(published[index])), ...open];
      }
      const rest = unavailable('the jobs before this one took too long; it was not stored, try again', 'nothing');
      return jobs.map((_, n) => outcomes[n] ?? { outcome: 'refused', error: rest });
    },
  };
}

function isNotNow(outcome: PublishOutcome | undefined): boolean {
  return outcome?.outcome === 'refused' && isUnavailable(outcome.error) && outcome.error.stored === 'nothing';
}

/** No queue has any other name, so such a name needs no query. */
function isQueueName(text: string): boolean {
  return text.length <= LIMITS.queueNameLength && LIMITS.queueNamePattern.test(text);
}
