import type { JobStatus } from '../../src/domain/job.ts';
import type { HistoryRow, JobRow } from './model/tables.ts';
import type { Answer } from './receiver.ts';

const IN_FLIGHT: readonly JobStatus[] = ['processing', 'awaiting_ack'];

/** The checker's own record of a job: its commits, and the requests and answers of the webhook. */
export class JobShadow {
  /** Episodes that have ended, by status and token: none may end again. */
  readonly ended = new Set<string>();
  /** Number of the last attempt that arrived. */
  lastAttempt = 0;
  /** Sends that were not abandoned. */
  sends = 0;
  /** Requests that the webhook saw, and claims of the job: each gives one request at most. */
  arrivals = 0;
  claims = 0;
  /** Whether the database's clock was moved since the last claim. */
  clockHasJumped = false;
  readonly answers: { attempt: number; answer: Answer }[] = [];
  readonly #check: (holds: boolean, invariant: string, detail: string) => void;
  #history: readonly HistoryRow[];
  /** Probes of a breaker that failed: they used up nothing. */
  #spared = 0;

  constructor(job: JobRow, check: (holds: boolean, invariant: string, detail: string) => void) {
    this.#history = job.history;
    this.#check = check;
  }

  /**
   * One entry per ended attempt, none for an attempt given back after an interruption.
   * @param isProbe the job was the probe of a queue with a breaker
   */
  historyGrows(where: string, job: JobRow, before: JobRow, isProbe: boolean): void {
    const { history } = job;
    const isKept = this.#history.every((entry, n) => history[n] === entry);
    this.#check(isKept && history.length - this.#history.length <= 1, 'I-22 History', `${where}: not one entry more`);
    const isBack = job.status === 'pending' || job.deadReason === 'queue_deleted';
    const isTakenBack = isBack && job.interruptions === before.interruptions + 1;
    const hasEnded = IN_FLIGHT.includes(before.status) && !IN_FLIGHT.includes(job.status);
    const grows = history.length > this.#history.length;
    this.#check(grows === (hasEnded && !isTakenBack), 'I-22 History', `${where}: ${grows ? 'an' : 'no'} entry`);
    const isSpared =
      grows &&
      history.at(-1)?.status === 'deferred' &&
      before.status === 'processing' &&
      isBack &&
      job.deferCount === before.deferCount;
    if (isSpared) {
      this.#check(isProbe, 'I-54 Breaker', `${where}: no probe of a breaker, and spared`);
      this.#spared += 1;
    }
    if (grows && before.status === 'processing') this.#isTrue(where, job, history.at(-1) as HistoryRow, isSpared);
    if (grows && history.at(-1)?.status === 'deferred') {
      this.#check(job.attempts === before.attempts - 1, 'I-8 BackpressureFree', `${where}: ${job.attempts} attempts`);
    }
    this.#history = history;
    const deferred = history.filter((entry) => entry.status === 'deferred').length;
    const counted = history.length - deferred + (IN_FLIGHT.includes(job.status) ? 1 : 0);
    this.#check(
      job.attempts === counted,
      'I-23 Counts',
      `${where}: ${job.attempts} attempts, ${counted} in the history`,
    );
    const killing = job.status === 'dead' && history.at(-1)?.status === 'deferred' && grows && isDefer(job) ? 1 : 0;
    this.#check(
      job.deferCount === deferred - killing - this.#spared,
      'I-23 Counts',
      `${where}: deferCount ${job.deferCount}`,
    );
  }

  /** The entry has the webhook's answer, and the wait is as long as its `Retry-After`. */
  #isTrue(where: string, job: JobRow, entry: HistoryRow, isSpared: boolean): void {
    const statusCode = entry.webhookStatusCode;
    if (statusCode === null) return;
    const told = this.answers.filter(
      ({ attempt, answer }) => attempt === entry.attempt && answer.statusCode === statusCode,
    );
    this.#check(told.length > 0, 'I-22 History', `${where}: the webhook did not answer ${statusCode}`);
    const pushesBack = statusCode === 429 || statusCode === 503 || statusCode === 529;
    const accepts = statusCode >= 200 && statusCode <= 299;
    const expected = accepts ? 'success' : pushesBack || isSpared ? 'deferred' : 'failed';
    this.#check(entry.status === expected, 'I-22 History', `${where}: ${statusCode} became ${entry.status}`);
    if (pushesBack && job.status === 'pending') {
      const least = Math.min(...told.map(({ answer }) => answer.retryAfterMs ?? 0));
      // A date is a point in time, and the wait counts from the receipt of the answer.
      const wait = least > 1e12 ? 0 : least;
      // The job of a probe that fails does not die of a wait that would outlast it. What would is decided by the clock
      // that its process knows.
      const outlives = entry.timestamp + wait >= job.deliverBy && job.scheduledFor < job.deliverBy;
      const mayBeShorter = isSpared && (outlives || this.clockHasJumped);
      this.#check(
        mayBeShorter || job.scheduledFor >= entry.timestamp + wait,
        'I-10 NotEarly',
        `${where}: held for less than ${least} ms`,
      );
    }
  }
}

function isDefer({ deadReason }: JobRow): boolean {
  return deadReason === 'defer_cap_exhausted' || deadReason === 'retry_after_exceeds_lifetime';
}
