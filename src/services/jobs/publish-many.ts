import type { Account } from '../../domain/account.ts';
import { isUnavailable, JobferryError, notFound, unavailable } from '../../domain/errors.ts';
import type { JobStatus } from '../../domain/job.ts';
import { assertPublishable } from '../../domain/publish.ts';
import { LIMITS } from '../../domain/queue.ts';
import type { Publish, PublishInput } from './publish.ts';

/** Jobs of one `publishMany` that are under way at once. */
const PORTION = 100;
/** After so long no further portion is begun; jobs that were surely not stored are tried again until then. */
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
      // A portion is what half of a statement takes: more at once would wait for longer than a busy batcher lets it.
      const outcomes: PublishOutcome[] = [];
      const giveUpAt = performance.now() + PUBLISHING_MS;
      for (let open = [...jobs.keys()]; open.length > 0 && performance.now() < giveUpAt; ) {
        const portion = open.splice(0, PORTION);
        const published = await Promise.all(portion.map((n) => publishOrRefuse(account, jobs[n] as Given)));
        for (const [index, n] of portion.entries()) outcomes[n] = published[index] as PublishOutcome;
        // The database cannot be written to at the moment, so the rest would only fail one portion after the other.
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

/** Any other name names no queue, and need not be looked up. */
function isQueueName(text: string): boolean {
  return text.length <= LIMITS.queueNameLength && LIMITS.queueNamePattern.test(text);
}
