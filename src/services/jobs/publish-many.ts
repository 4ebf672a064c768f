import type { Account } from '../../domain/account.ts';
import { isPerson } from '../../domain/audit.ts';
import { isUnavailable, JobferryError, notFound, unavailable } from '../../domain/errors.ts';
import type { JobStatus } from '../../domain/job.ts';
import { assertPublishable } from '../../domain/publish.ts';
import { LIMITS } from '../../domain/queue.ts';
import { counts } from '../../telemetry/counts/counts.ts';
import type { Given, Published, Publishing } from './publish.ts';

/** Jobs of one `publishMany` that are published at once. */
const PORTION = 100;
/** Characters of payloads that a person's jobs may have in one statement, and so in one entry of the audit log. */
const MAX_TOGETHER = 8 * 1024 * 1024;
/** Time after which no further portion begins. Until then, jobs that were certainly not stored are retried. */
const PUBLISHING_MS = 4500;

type PublishOutcome =
  | { outcome: 'created' | 'existing'; id: string; status: JobStatus; createdAt: Date; payloadDiffers: boolean }
  | { outcome: 'refused'; error: Error };

/** Publishing of many jobs in one call (GraphQL only). */
export function createPublishMany({ publish, publishAudited }: Publishing) {
  const publishOrRefuse = async (account: Account, { queueName, ...input }: Given): Promise<PublishOutcome> => {
    try {
      assertValid({ queueName, ...input });
      return toOutcome(await publish(account, queueName, input));
    } catch (error) {
      return refused(error);
    }
  };

  /** Publishes jobs of a person in one commit with their entry in the audit log. */
  const publishTogether = async (account: Account, jobs: readonly Given[]): Promise<PublishOutcome[]> => {
    const outcomes = jobs.map((job) => {
      try {
        assertValid(job);
        return null;
      } catch (error) {
        return refused(error);
      }
    });
    const valid = jobs.filter((_, n) => outcomes[n] === null);
    const results =
      valid.length === 0
        ? []
        : await publishAudited(account, valid).then(
            (published) => published.map(toOutcome),
            (error: unknown) => valid.map(() => refused(error)),
          );
    return outcomes.map((outcome) => outcome ?? (results.shift() as PublishOutcome));
  };

  return {
    /**
     * Publishes up to 1000 jobs; each is stored or refused by itself.
     * @returns an outcome per job, in order
     * @throws JobferryError `invalid_request` for more jobs
     */
    async publishMany(account: Account, jobs: readonly Given[]): Promise<PublishOutcome[]> {
      if (jobs.length > LIMITS.publishBatch) {
        counts.refusedPublishes.add('invalid', jobs.length);
        throw new JobferryError('invalid_request', `at most ${LIMITS.publishBatch} jobs at once, not ${jobs.length}`);
      }
      // A portion is half of a statement's batch. More jobs at once would wait longer than a busy batcher allows.
      const outcomes: PublishOutcome[] = [];
      const giveUpAt = performance.now() + PUBLISHING_MS;
      for (let open = [...jobs.keys()]; open.length > 0 && performance.now() < giveUpAt; ) {
        const isAudited = isPerson(account.actor);
        const portion = open.splice(0, isAudited ? countTogether(open, jobs) : PORTION);
        const given = portion.map((n) => jobs[n] as Given);
        const published = isAudited
          ? await publishTogether(account, given)
          : await Promise.all(given.map((job) => publishOrRefuse(account, job)));
        for (const [index, n] of portion.entries()) outcomes[n] = published[index] as PublishOutcome;
        // The database takes no writes at the moment, so every further portion would fail, too.
        if (published.some(isNotNow) && published.every(({ outcome }) => outcome === 'refused')) break;
        open = [...portion.filter((_, index) => isNotNow(published[index])), ...open];
      }
      const rest = unavailable('the jobs before this one took too long; it was not stored, try again', 'nothing');
      const all = jobs.map((_, n) => outcomes[n] ?? { outcome: 'refused' as const, error: rest });
      for (const one of all) if (one.outcome === 'refused') counts.refused(one.error);
      return all;
    },
  };
}

/** The number of the first jobs that one statement can have; at least 1. */
function countTogether(open: readonly number[], jobs: readonly Given[]): number {
  let left = MAX_TOGETHER;
  const count = open.findIndex((n) => {
    left -= jobs[n]?.payload.length ?? 0;
    return left < 0;
  });
  return count === -1 ? open.length : Math.max(count, 1);
}

/** @throws JobferryError `invalid_fields`, `not_found` */
function assertValid({ queueName, ...input }: Given): void {
  assertPublishable(input);
  if (!isQueueName(queueName)) throw notFound('queue');
}

function toOutcome(result: Published | Error): PublishOutcome {
  if (result instanceof Error) return refused(result);
  const { created, payloadDiffers, job } = result;
  return { outcome: created ? 'created' : 'existing', payloadDiffers, ...job };
}

function refused(error: unknown): PublishOutcome {
  return { outcome: 'refused', error: error instanceof Error ? error : new Error(String(error)) };
}

function isNotNow(outcome: PublishOutcome | undefined): boolean {
  return outcome?.outcome === 'refused' && isUnavailable(outcome.error) && outcome.error.stored === 'nothing';
}

/** No queue has any other name, so such a name needs no query. */
function isQueueName(text: string): boolean {
  return text.length <= LIMITS.queueNameLength && LIMITS.queueNamePattern.test(text);
}
