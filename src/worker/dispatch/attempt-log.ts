import { traceIdOf } from '../../domain/trace.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { SettledDelivery } from './settle-batcher.ts';

/** Outcomes of an attempt that an operator should see without asking. */
type Notable = 'dead' | 'hold' | 'resume' | 'dropped' | 'abandoned';

/** Lines at `info` for one queue and one kind in a period: a receiver that refuses everything must not fill a disk. */
const MOST = 10;
const PERIOD_MS = 10_000;
/** Above it, all counts begin again. */
const MAX_KNOWN = 5000;

interface Counted {
  since: number;
  lines: number;
}

/**
 * Writes one log line per attempt. It never contains the payload, the signing secret or credentials in the URL.
 * Attempts that succeed or are retried are at `debug`: the history of the job has them, and at thousands of jobs per
 * second they would be most of what a service writes to its disks.
 */
export class AttemptLog {
  readonly #log: Pick<Logger, 'info' | 'debug' | 'isLevelEnabled'>;
  readonly #now: () => number;
  readonly #counted = new Map<string, Counted>();

  constructor(log: Pick<Logger, 'info' | 'debug' | 'isLevelEnabled'>, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  /** @param applied whether the outcome was written */
  write(settled: SettledDelivery, applied: boolean): void {
    const kind = notableOf(settled, applied);
    const level = kind !== null && this.#isShown(settled.job.queueId, kind) ? 'info' : 'debug';
    if (this.#log.isLevelEnabled(level)) this.#log[level](fieldsOf(settled, applied), 'attempt');
  }

  #isShown(queueId: string, kind: Notable): boolean {
    const key = `${queueId} ${kind}`;
    const now = this.#now();
    let counted = this.#counted.get(key);
    if (counted === undefined || now - counted.since >= PERIOD_MS) {
      if (this.#counted.size >= MAX_KNOWN) this.#counted.clear();
      counted = { since: now, lines: 0 };
      this.#counted.set(key, counted);
    }
    counted.lines += 1;
    return counted.lines <= MOST;
  }
}

function notableOf({ delivery }: SettledDelivery, applied: boolean): Notable | null {
  const { transition } = delivery.settlement;
  if (!applied) return 'dropped';
  if (delivery.outcome === 'abandoned') return 'abandoned';
  if (transition.deadReason !== null) return 'dead';
  const effect = transition.queueEffect?.kind ?? null;
  // The other effects are ordinary: with a breaker, each answer has one.
  return effect === 'hold' || effect === 'resume' ? effect : null;
}

function fieldsOf({ job, delivery }: SettledDelivery, applied: boolean): object {
  const { transition } = delivery.settlement;
  return {
    jobId: job.id,
    queue: job.queueName,
    queueId: job.queueId,
    accountId: job.accountId,
    attempt: job.state.attempts,
    maxAttempts: job.state.maxAttempts,
    outcome: delivery.outcome,
    statusCode: delivery.settlement.answer?.statusCode ?? null,
    error: transition.entry?.error ?? null,
    // This one and `traceId` are left out of the line if they are undefined.
    errorCode: delivery.errorCode,
    durationMs: delivery.durationMs,
    status: transition.status,
    retryInMs: transition.status === 'pending' ? transition.waitMs : null,
    deadReason: transition.deadReason,
    probe: job.rules.isProbe,
    applied,
    traceId: traceIdOf(job.trace),
  };
}
