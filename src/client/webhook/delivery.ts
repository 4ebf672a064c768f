import type { DeferInput, Job, NackInput } from '../models.ts';

/** The envelope that Jobferry delivers (spec "Events"). */
export interface DeliveredJob<Payload> {
  /** Id of the job, for ack, nack and defer. A repeated delivery of the job has the same id. */
  id: string;
  /** Name of the queue. */
  queue: string;
  /** Payload, parsed by `JSON.parse`. It is not checked to be a `Payload`. */
  payload: Payload;
  /** Number of this attempt, from 1. If it equals `maxAttempts`, this is the last one. */
  attempt: number;
  /** Number of failed attempts after which the job is dead. */
  maxAttempts: number;
  /** Time of the publish, in ISO 8601. */
  createdAt: string;
  /** Source text of the whole envelope, for payloads with numbers that `JSON.parse` would round. */
  raw: string;
}

/**
 * Argument of a handler function. The three reports are for queues in ack mode. Each applies to this attempt only, and
 * is repeated until it is known whether it counted, for at most five minutes.
 */
export interface Delivery<Payload> {
  /** The delivered job. */
  job: DeliveredJob<Payload>;
  /**
   * Aborted when the attempt is over, because Jobferry then ignores the result. The handler reads the job when the
   * `ackTimeout` of the options has passed since the delivery arrived, and again every few seconds: an attempt whose
   * ack deadline was extended is not aborted. If the service returns no job for five minutes, the attempt counts as
   * over. Never aborted in standard mode, or without that option: the delivery does not contain the queue's value.
   */
  signal: AbortSignal;
  /** Reports success. Rejects with a `JobferryApiError` when this attempt is no longer `awaiting_ack`. */
  ack(): Promise<Job>;
  /** Reports failure. The job is retried after the back-off; with `retryable: false` it is dead at once. */
  nack(input?: Omit<NackInput, 'attempt'>): Promise<Job>;
  /** Holds the queue, or with `scope: 'job'` only this job, for `retryAfter` seconds. Uses no attempt. */
  defer(input: Omit<DeferInput, 'attempt'>): Promise<Job>;
}

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
  reason?: string;
  /** Whether the whole queue is held, or only this job. Used in ack mode only; `queue` by default. */
  scope?: 'queue' | 'job';
}

/** Compares the name: the ESM and the CommonJS build each have their own class, and both may be loaded. */
export function isBackpressure(value: unknown): value is Backpressure {
  return value instanceof Error && value.name === 'Backpressure' && 'retryAfterSeconds' in value;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns null for a body that is not an envelope. */
export function parseEnvelope<Payload>(bytes: Uint8Array): DeliveredJob<Payload> | null {
  try {
    const raw = decoder.decode(bytes);
    const parsed: unknown = JSON.parse(raw);
    return isEnvelope<Payload>(parsed) ? { ...parsed, raw } : null;
  } catch {
    return null;
  }
}

function isEnvelope<Payload>(value: unknown): value is Omit<DeliveredJob<Payload>, 'raw'> {
  if (typeof value !== 'object' || value === null) return false;
  const { id, queue, payload, attempt, maxAttempts, createdAt } = value as Record<string, unknown>;
  return (
    typeof payload === 'object' &&
    payload !== null &&
    [id, queue, createdAt].every((field) => typeof field === 'string') &&
    [attempt, maxAttempts].every((field) => typeof field === 'number')
  );
}
