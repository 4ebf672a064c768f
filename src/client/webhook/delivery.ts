import type { DeferInput, Job, NackInput } from '../models.ts';

/** The envelope that Jobferry delivers (spec "Events"). */
export interface DeliveredJob<Payload> {
  /** For ack, nack and defer, and to tell a second delivery of the same job. */
  id: string;
  /** Name of the queue. */
  queue: string;
  /** After `JSON.parse`, and not checked to be a `Payload`. */
  payload: Payload;
  /** From 1; when it equals `maxAttempts`, this is the last one. */
  attempt: number;
  /** Attempts that may fail before the job is dead. */
  maxAttempts: number;
  /** When the job was published, ISO 8601. */
  createdAt: string;
  /** The whole envelope as it came in, for payloads with numbers that `JSON.parse` would round. */
  raw: string;
}

/**
 * What a handler function is called with. The three reports are for queues in ack mode. Each is about this attempt
 * only, and is repeated until it is known that it counted, or for as long as it can.
 */
export interface Delivery<Payload> {
  /** The delivered job. */
  job: DeliveredJob<Payload>;
  /**
   * Aborted when the `ackTimeout` of the options has passed since the delivery came in: what is done from then on is
   * for nothing. Never aborted in standard mode and without that option, since a delivery does not tell.
   */
  signal: AbortSignal;
  /** Reports success. Rejects with a `JobferryApiError` when this attempt is not `awaiting_ack` any more. */
  ack(): Promise<Job>;
  /** Reports failure: tried again after the backoff, or, with `retryable: false`, dead at once. */
  nack(input?: Omit<NackInput, 'attempt'>): Promise<Job>;
  /** Holds the queue, or with `scope: 'job'` this job only, for `retryAfter` seconds. Uses no attempt. */
  defer(input: Omit<DeferInput, 'attempt'>): Promise<Job>;
}

/**
 * Thrown or returned by a handler function: "not now, and it is not the job's fault". No attempt is used.
 * In standard mode it holds the job. In ack mode it is a defer, which holds the whole queue unless
 * `scope` is `job`.
 */
export class Backpressure extends Error {
  /** Always `Backpressure`. */
  override readonly name = 'Backpressure';
  /** Seconds until redelivery. */
  readonly retryAfterSeconds: number;
  /** Whether the whole queue is held, or this job only. Used in ack mode. */
  readonly scope: 'queue' | 'job';

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
  /** Kept in the job's history when it is a defer. */
  reason?: string;
  /** Whether the whole queue is held, or this job only, in ack mode; `queue` by default. */
  scope?: 'queue' | 'job';
}

/** By name: the ESM and the CommonJS build have a class of their own each, and both may be loaded. */
export function isBackpressure(value: unknown): value is Backpressure {
  return value instanceof Error && value.name === 'Backpressure' && 'retryAfterSeconds' in value;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Null for a body that is no envelope. */
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
