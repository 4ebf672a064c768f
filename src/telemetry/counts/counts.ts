import { isUnavailable, JobferryError } from '../../domain/errors.ts';
import { isOwnError } from '../../domain/outcome.ts';
import type { Transition, TransitionEntry } from '../../domain/transition.ts';
import { AccountCounts } from './account-counts.ts';
import { Distribution, Distributions, SECONDS, SIZES, WAIT_SECONDS } from './distribution.ts';
import { IgnoredNames } from './ignored-names.ts';
import { QueueCounts } from './queue-counts.ts';
import { keyOf, Tally } from './tally.ts';

/** `empty`: a claim that found no job. */
type BatchResult = 'ok' | 'empty' | 'error';

/** Statements that write or claim many jobs at once. */
class Batches {
  readonly results: Tally;
  readonly seconds = new Distribution(SECONDS);
  readonly jobs = new Distribution(SIZES);

  constructor(results: readonly BatchResult[]) {
    this.results = new Tally(results);
  }

  /** @param startedAt `performance.now()` at which the statement was sent */
  done(result: BatchResult, startedAt: number, jobs: number): void {
    this.results.add(result);
    this.seconds.observe((performance.now() - startedAt) / 1000);
    if (result !== 'error') this.jobs.observe(jobs);
  }
}

/** A delivery that has ended. */
interface EndedDelivery {
  outcome: string;
  statusCode: number | null;
  durationMs: number;
  /** Time from the moment at which the job was due to its claim. */
  waitedMs: number;
}

/**
 * Counts of a process since its start. Everything here is an addition to a number in memory, and nothing is computed
 * before a page of metrics is made (docs/decisions/0031).
 */
export class Counts {
  readonly queues = new QueueCounts();
  readonly accounts = new AccountCounts();
  readonly ignored = new IgnoredNames();
  readonly refusedPublishes = new Tally([
    ...['unavailable', 'disk_full', 'unknown', 'busy', 'over_share', 'error'],
    ...['limit_reached', 'forbidden', 'not_found', 'invalid', 'unauthorized', 'too_many_requests'],
  ]);
  /** Statements that the database refused because its disk is full. */
  diskFull = 0;
  readonly publishes = new Batches(['ok', 'error']);
  /** Jobs that this process claimed in the statement that stored them. */
  claimedAtPublish = 0;
  readonly claims = new Batches(['ok', 'empty', 'error']);
  readonly settles = new Batches(['ok', 'error']);
  /** Outcomes that were not written, because another process had settled or taken back the job. */
  droppedOutcomes = 0;
  readonly deliverySeconds = new Distributions(SECONDS);
  readonly waitSeconds = new Distribution(WAIT_SECONDS);
  readonly takebacks = new Tally(['dead_worker', 'expired_lease']);
  readonly removed = new Tally();
  readonly requests = new Tally();
  readonly requestSeconds = new Distributions(SECONDS);
  readonly operations = new Tally();
  /** Evaluations of alert rules, one for each rule; one for the account if its rules could not be read. */
  readonly alertEvaluations = new Tally(['ok', 'failed']);
  /** Attempts to send notifications of alerts. */
  readonly alertNotifications = new Tally(['sent', 'failed', 'given_up']);

  /** A publish that was stored, or that matched a job with the same idempotency key. */
  published(queueId: string, result: 'created' | 'existing'): void {
    this.queues.add(queueId, 'publishes', result);
  }

  /**
   * A publish that was refused by `error`. The shells call it, once for each job, because they refuse some themselves.
   */
  refused(error: unknown): void {
    this.refusedPublishes.add(refusalOf(error));
  }

  delivered(queueId: string, { outcome, statusCode, durationMs, waitedMs }: EndedDelivery): void {
    this.queues.add(queueId, 'deliveries', keyOf(outcome, classOf(statusCode)));
    // Nothing was sent, so there is no duration.
    if (outcome !== 'abandoned') this.deliverySeconds.observe(outcome, durationMs / 1000);
    this.waitSeconds.observe(Math.max(0, waitedMs) / 1000);
  }

  /** A transition that was committed. */
  settled(queueId: string, { status, deadReason, entry }: Pick<Transition, 'status' | 'deadReason' | 'entry'>): void {
    if (status === 'completed') this.queues.add(queueId, 'completed', '');
    else if (deadReason !== null) this.queues.add(queueId, 'dead', deadReason);
    else if (status === 'pending' && entry !== null) {
      this.queues.add(queueId, entry.status === 'deferred' ? 'holds' : 'retries', reasonOf(entry));
    }
  }

  /**
   * An answer to a client of REST, GraphQL or the pages.
   * @param durationMs null for a stream
   * @param accountId null if unknown
   */
  answered(method: string, route: string, code: string, durationMs: number | null, accountId: string | null): void {
    this.requests.add(keyOf(method, route, code));
    this.accounts.add(accountId, code);
    if (durationMs !== null) this.requestSeconds.observe(route, durationMs / 1000);
  }
}

/** The counts of this process. One object for all parts, like the process itself (docs/decisions/0031). */
export const counts = new Counts();

function classOf(statusCode: number | null): string {
  return statusCode === null ? 'none' : `${Math.floor(statusCode / 100)}xx`;
}

/** One of a few words: texts that clients send with a nack or defer count by its kind. */
function reasonOf({ status, error }: TransitionEntry): string {
  if (error === null || !isOwnError(error)) return status;
  return error.startsWith('HTTP ') ? `http_${error[5]}xx` : error;
}

function refusalOf(error: unknown): string {
  // disk_full of PostgreSQL
  if (isUnavailable(error) && (error.cause as { code?: unknown } | undefined)?.code === '53100') return 'disk_full';
  if (isUnavailable(error)) return error.stored === 'nothing' ? 'unavailable' : 'unknown';
  if (!(error instanceof JobferryError)) return 'error';
  return error.kind.startsWith('invalid') ? 'invalid' : error.kind;
}
