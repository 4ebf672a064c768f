import { type Percentiles, percentilesOf } from './histogram.ts';
import type { AttemptTotals } from './statistics.ts';

export const QUEUE_WARNINGS = ['signature_rejected', 'slow_receiver', 'failing', 'backpressure'] as const;
export type QueueWarning = (typeof QUEUE_WARNINGS)[number];

type CountedAnswer =
  | 'answered2xx'
  | 'answered3xx'
  | 'answered4xx'
  | 'answered5xx'
  | 'unauthorized'
  | 'backpressure'
  | 'unanswered';

/** The attempts of the last hour, counted by the receiver's answer. */
export interface QueueHealth extends Pick<AttemptTotals, CountedAnswer> {
  attempts: number;
  /**
   * Failed attempts: also those that the worker nacked, whatever the receiver had answered, and failed probes of an
   * open breaker.
   */
  failed: number;
  /**
   * Attempts that the receiver's answer or the worker deferred, without failed probes, which the receiver refused or
   * did not answer.
   */
  deferred: number;
  duration: Percentiles;
  warnings: readonly { warning: QueueWarning; message: string }[];
  /**
   * The last failure, and how many attempts have succeeded since; null unless most of the hour failed or was rejected.
   */
  lastFailure: LastFailure | null;
  /**
   * The failed attempts that the queue ended with, if the last hour does not show them; null otherwise. A warning is
   * about these attempts, unless they are too few.
   */
  past: PastAttempts | null;
}

export type PastAttempts = Pick<AttemptTotals, CountedAnswer> & { attempts: number; failed: number };

export interface LastFailure {
  at: Date;
  succeeded: number;
  /** Error code and answer of the attempt; null if they are not known, or if a worker gave a reason of its own. */
  error?: string | null;
  webhookStatusCode?: number | null;
}

/** Warnings that a receiver takes back by accepting deliveries again, long before the failures are an hour old. */
const RECOVERABLE: readonly QueueWarning[] = ['signature_rejected', 'failing'];
/** So many successes in a row say more than the share of an hour. */
export const LEAST_SINCE = 10;

/** Whether the health of a queue needs its last failure to be judged. */
export function mayRecover({ warnings }: QueueHealth): boolean {
  return warnings.some(({ warning }) => RECOVERABLE.includes(warning));
}

/** @returns the attempts that the receiver answered with something else than 2xx and backpressure, or not at all */
export function refusedOf({
  answered3xx,
  answered4xx,
  answered5xx,
  unauthorized,
  unanswered,
}: Pick<AttemptTotals, CountedAnswer>): number {
  return answered3xx + answered4xx + answered5xx + unauthorized + unanswered;
}

/**
 * Whether the answers of the receiver are the reason of failures, and not the reports of its worker, which has a 2xx
 * answer behind it.
 */
export function isByAnswers(health: Pick<QueueHealth, CountedAnswer | 'attempts'>): boolean {
  return health.unauthorized >= LEAST_BAD_ANSWERS || refusedOf(health) > health.attempts / 2;
}

/**
 * @param usesAttempts whether jobs of the queue are delivered now: a paused queue and an open breaker use up no attempt
 * @returns the message of a warning, with the advice that is true for the queue as it is
 */
export function adviceOf({ warning, message }: QueueHealth['warnings'][number], usesAttempts: boolean): string {
  return warning === 'failing' && usesAttempts
    ? `${message} Pause the queue so that jobs do not use up their attempts meanwhile.`
    : message;
}

/** Whether what happened since the last failure outweighs the hour. */
export function hasRecovered(lastFailure: LastFailure | null): boolean {
  return lastFailure !== null && lastFailure.succeeded >= LEAST_SINCE;
}

/** @returns the health of a queue without trouble, whatever the attempts of the hour are */
export function withoutTrouble(health: QueueHealth, lastFailure: LastFailure | null): QueueHealth {
  return { ...health, warnings: health.warnings.filter(({ warning }) => !RECOVERABLE.includes(warning)), lastFailure };
}

/**
 * @param warned the warnings of its trouble
 * @param totals the attempts that they are about
 * @returns the health of a queue in trouble, which the attempts of the hour may not show
 */
export function inTrouble(
  health: QueueHealth,
  warned: readonly QueueWarning[],
  totals: AttemptTotals,
  lastFailure: LastFailure | null,
): QueueHealth {
  const ofHour = health.warnings.filter(({ warning }) => RECOVERABLE.includes(warning));
  const others = health.warnings.filter(({ warning }) => !RECOVERABLE.includes(warning));
  const isOfHour = warned.every((one) => ofHour.some(({ warning }) => warning === one));
  if (isOfHour) {
    const warnings = ofHour.filter(({ warning }) => warned.includes(warning));
    return { ...health, warnings: [...warnings, ...others], lastFailure };
  }
  const past = pastOf(totals);
  const until =
    lastFailure === null ? 'The last attempts failed' : `Attempts failed until ${lastFailure.at.toISOString()}`;
  const since = lastFailure?.succeeded ?? 0;
  const succeeded = since === 0 ? 'none has' : since === 1 ? 'one has' : `${since} have`;
  const warnings = warned.map((warning) => ({
    warning,
    message: `${until} (${past.failed} of ${past.attempts}), and ${succeeded} succeeded since. ${PAST_ADVICE[warning] ?? ''}`,
  }));
  return { ...health, warnings: [...warnings, ...others], lastFailure, past };
}

export function pastOf(totals: AttemptTotals): PastAttempts {
  const { answered2xx, answered3xx, answered4xx, answered5xx, unauthorized, backpressure, unanswered } = totals;
  const answers = { answered2xx, answered3xx, answered4xx, answered5xx, unauthorized, backpressure, unanswered };
  return { ...answers, attempts: attemptsOf(totals), failed: failuresOf(totals) };
}

const PAST_ADVICE: Partial<Record<QueueWarning, string>> = {
  signature_rejected:
    'Check that the receiver verifies the signature over the raw body with this queue’s signing secret.',
  failing: 'Check the receiver, then run or replay a job.',
};

/** Fewer than these cause no warning: a single bad answer means nothing. */
export const LEAST_BAD_ANSWERS = 3;
export const LEAST_ATTEMPTS = 10;

export function healthOf(totals: AttemptTotals, webhookTimeoutMs: number): QueueHealth {
  const { answered2xx, answered3xx, answered4xx, answered5xx, unauthorized, backpressure, unanswered } = totals;
  const duration = percentilesOf(totals.durations);
  return {
    answered2xx,
    answered3xx,
    answered4xx,
    answered5xx,
    unauthorized,
    backpressure,
    unanswered,
    attempts: attemptsOf(totals),
    failed: failuresOf(totals),
    deferred: putOffOf(totals),
    duration,
    lastFailure: null,
    past: null,
    warnings: [
      ...signatureRejected(totals),
      ...slowReceiver(totals, duration, webhookTimeoutMs),
      ...failing(totals),
      ...underPressure(totals),
    ],
  };
}

/** The warnings that only successes take back, of these attempts. */
export function troubleWarnings(totals: AttemptTotals): QueueHealth['warnings'] {
  return [...signatureRejected(totals), ...failing(totals)];
}

type Warnings = { warning: QueueWarning; message: string }[];

function signatureRejected({ unauthorized, ...totals }: AttemptTotals): Warnings {
  const { answered2xx, answered3xx, answered4xx, answered5xx, backpressure } = totals;
  const answers = answered2xx + answered3xx + answered4xx + answered5xx + backpressure + unauthorized;
  if (unauthorized < LEAST_BAD_ANSWERS || unauthorized < answers * 0.05) return [];
  const message = `${unauthorized} of ${answers} answers of the last hour were 401. Check that the receiver verifies the signature over the raw body with this queue’s signing secret; after a rotation, that it knows the new one.`;
  return [{ warning: 'signature_rejected', message }];
}

/** With fewer attempts, one in twenty would be less than one. */
const TWENTY = 20;

function slowReceiver(totals: AttemptTotals, { p95 }: Percentiles, webhookTimeoutMs: number): Warnings {
  if (p95 === null || p95 <= webhookTimeoutMs / 2) return [];
  const which =
    attemptsOf(totals) < TWENTY
      ? `The slowest delivery of the last hour took about ${seconds(p95)}`
      : `One delivery in twenty of the last hour took about ${seconds(p95)} or longer`;
  const message = `${which}, and at ${seconds(webhookTimeoutMs)} deliveries fail. Let the receiver confirm receipt at once and work afterwards: that is what ack mode is for.`;
  return [{ warning: 'slow_receiver', message }];
}

function failing(totals: AttemptTotals): Warnings {
  const attempts = attemptsOf(totals);
  const failures = failuresOf(totals);
  if (attempts < LEAST_ATTEMPTS || failures <= attempts / 2) return [];
  const place =
    totals.answered2xx > 0 && refusedOf(totals) < failures / 2
      ? 'The receiver accepted most of these: look at the log of the worker that reports on them.'
      : totals.dead === 0 && failedProbesOf(totals) > 0
        ? 'Look at the last attempts of its jobs and at the receiver’s log.'
        : 'Look at the causes in Dead letters and at the receiver’s log.';
  const message = `${failures} of ${attempts} attempts of the last hour failed. ${place}`;
  return [{ warning: 'failing', message }];
}

/** Counts backpressure answers as well as defers that the receiver requested through the API. */
function underPressure(totals: AttemptTotals): Warnings {
  const attempts = attemptsOf(totals);
  const putOff = putOffOf(totals);
  if (putOff < LEAST_BAD_ANSWERS || putOff <= attempts * 0.2) return [];
  const message = `${putOff} of ${attempts} attempts of the last hour were deferred by the receiver. Lower the queue’s concurrency or rate limit to what the receiver can take, or give it more capacity.`;
  return [{ warning: 'backpressure', message }];
}

/**
 * Returns how many attempts were failed probes of an open breaker (`domain/breaker`). They put their job off, so they
 * count as deferred, but the receiver refused them or did not answer, which else only failed attempts have behind them.
 * The statements of alerts and of the order by trouble count in the same way (`db/insight/failed-probes.ts`). If
 * workers failed to report on jobs of the same queue, there may have been more.
 */
function failedProbesOf(totals: AttemptTotals): number {
  return Math.min(totals.deferred, Math.max(refusedOf(totals) - totals.failed, 0));
}

export const failuresOf = (totals: AttemptTotals) => totals.failed + totals.nacked + failedProbesOf(totals);

const putOffOf = (totals: AttemptTotals) => totals.deferred - failedProbesOf(totals);

function attemptsOf({ success, failed, nacked, deferred }: AttemptTotals): number {
  return success + failed + nacked + deferred;
}

function seconds(ms: number): string {
  return `${Number((ms / 1000).toPrecision(2))} s`;
}
