import type { NewClaim } from '../../db/delivery/claim-new.ts';
import { publish, publishAndClaim } from '../../db/delivery/publish.ts';
import type { PublishAnswer, PublishItem } from '../../db/delivery/publish-items.ts';
import { JobferryError } from '../../domain/errors.ts';
import type { Context, NewJobClaims, NewJobsOfQueue, Reservation } from '../context.ts';

/** Limit of the remembered ids of queues. */
const MAX_QUEUES = 10_000;
/** Queues whose new jobs one statement claims; each takes the statement some hundred microseconds. */
const MAX_CLAIMED_QUEUES = 16;

/** Stores batches of jobs, and claims them for the worker of this process where it has room. */
export class ClaimingPublish {
  readonly #context: Context;
  /**
   * Ids of queues by account and name, from earlier answers. A wrong one costs nothing:
   * then the statement claims nothing.
   */
  readonly #queueIds = new Map<string, string>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** @returns results in the order of the items */
  async publish(items: PublishItem[]): Promise<PublishAnswer[]> {
    const { db, periods, newJobs = null } = this.#context;
    if (newJobs === null) return publish(db, items, periods);
    const reservation = newJobs.reserve(this.#claimable(items));
    const answers =
      reservation === null
        ? await publish(db, items, periods)
        : await this.#publishAndClaim(newJobs, items, reservation);
    this.#remember(items, answers);
    return answers;
  }

  /**
   * Claims nothing if the worker may not claim when the statement is sent:
   * it may have waited for a connection for seconds.
   */
  async #publishAndClaim(
    newJobs: NewJobClaims,
    items: PublishItem[],
    reservation: Reservation,
  ): Promise<PublishAnswer[]> {
    const { db, periods } = this.#context;
    const reserved = new Set(reservation.queues.map(({ queueId }) => queueId));
    for (const item of items) item.claimable = isDue(item) && reserved.has(this.#idOf(item) ?? '') ? true : undefined;
    let mayClaim = true;
    const claiming = db.onlyWhile(() => {
      mayClaim = newJobs.mayClaim(reservation);
      return mayClaim;
    }, 'the worker may not claim');
    let claim: NewClaim | null = null;
    let isUnsure = false;
    try {
      const result = await publishAndClaim(claiming, items, periods, reservation);
      claim = result.claim;
      return result.answers;
    } catch (error) {
      isUnsure = mayClaim && !(error instanceof JobferryError && error.stored === 'nothing');
      if (mayClaim) throw error;
      return await publish(db, items, periods);
    } finally {
      newJobs.end(reservation, claim, isUnsure);
    }
  }

  #claimable(items: readonly PublishItem[]): NewJobsOfQueue[] {
    // A publish of a key waits for another one of the same key, for seconds if that hangs. It must not keep queues of
    // other accounts locked meanwhile.
    const [first] = items;
    const isMixed = items.some(({ accountId }) => accountId !== first?.accountId);
    if (isMixed && items.some(({ key }) => key !== null)) return [];
    const queues = new Map<string, NewJobsOfQueue>();
    for (const item of items) {
      const queueId = this.#idOf(item);
      if (queueId === undefined || !isDue(item)) continue;
      const known = queues.get(queueId);
      if (known === undefined) {
        queues.set(queueId, { queueId, accountId: item.accountId, jobs: 1, bytes: item.payload.length });
      } else {
        known.jobs += 1;
        known.bytes += item.payload.length;
      }
    }
    return [...queues.values()].slice(0, MAX_CLAIMED_QUEUES);
  }

  #idOf({ accountId, queue }: PublishItem): string | undefined {
    return this.#queueIds.get(`${accountId}/${queue}`);
  }

  #remember(items: readonly PublishItem[], answers: readonly PublishAnswer[]): void {
    for (const [index, item] of items.entries()) {
      const answer = answers[index];
      if (answer?.outcome !== 'created' || this.#idOf(item) === answer.queueId) continue;
      if (this.#queueIds.size >= MAX_QUEUES) this.#queueIds.clear();
      this.#queueIds.set(`${item.accountId}/${item.queue}`, answer.queueId);
    }
  }
}

function isDue({ delayMs }: PublishItem): boolean {
  return delayMs === 0;
}
