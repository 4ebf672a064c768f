/** Errors that a handler function throws or returns to decide what becomes of the job. */

/**
 * A handler function throws or returns it when it cannot take the job now. It uses no attempt. In standard mode it
 * holds the job. In ack mode it is a defer, which holds the whole queue unless `scope` is `job`.
 */
export class Backpressure extends Error {
  /** Always `Backpressure`. */
  override readonly name = 'Backpressure';
  /** Seconds until the next delivery. */
  readonly retryAfterSeconds: number;
  /** Whether the whole queue is held, or only this job. Used in ack mode only. */
  readonly scope: 'queue' | 'job';

  /** @param retryAfterSeconds until the next delivery */
  constructor(retryAfterSeconds: number, { reason = 'backpressure', scope = 'queue' }: BackpressureOptions = {}) {
    super(reason);
    if (!Number.isFinite(retryAfterSeconds) || retryAfterSeconds < 0) {
      throw new RangeError(`retryAfterSeconds must be a number of seconds, not ${retryAfterSeconds}`);
    }
    this.retryAfterSeconds = retryAfterSeconds;
    this.scope = scope;
  }
}

/** The second argument of `Backpressure`. */
export interface BackpressureOptions {
  /** Text for the job's history. Used in ack mode only; `backpressure` by default. */
  reason?: string | undefined;
  /** Whether the whole queue is held, or only this job. Used in ack mode only; `queue` by default. */
  scope?: 'queue' | 'job' | undefined;
}

/** Compares the name: the ESM and the CommonJS build each have their own class, and both may be loaded. */
export function isBackpressure(value: unknown): value is Backpressure {
  return value instanceof Error && value.name === 'Backpressure' && 'retryAfterSeconds' in value;
}

/**
 * A handler function throws or returns it when the job must not be tried again: the address does not exist, the
 * customer has left. The job is dead at once, and leaves a dead letter if its queue keeps them.
 */
export class Permanent extends Error {
  /** Always `Permanent`. */
  override readonly name = 'Permanent';
  /** Tells it from an error of another library with that name. */
  readonly isPermanent = true;
}

/** Compares the name, as `isBackpressure`. */
export function isPermanent(value: unknown): value is Permanent {
  return value instanceof Error && value.name === 'Permanent' && 'isPermanent' in value;
}
