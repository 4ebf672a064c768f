import type { DeferInput, Job, NackInput } from '../models.ts';

/** The job after a report. A report by a report URL returns `id`, `queue`, `status`, `attempts` and `history` only. */
export type ReportedJob = Pick<Job, 'id' | 'queue' | 'status' | 'attempts' | 'history'> & Partial<Job>;

/** The envelope that Jobferry delivers (spec "Events"). */
export interface DeliveredJob<Payload> {
  /** Id of the job, for ack, nack and defer. A repeated delivery of the job has the same id. */
  id: string;
  /** Name of the queue. */
  queue: string;
  /** Payload, parsed by `JSON.parse`. Only with the option `schema` it is checked to be a `Payload`. */
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
 * Argument of a handler function. The reports and `extend` are for queues in ack mode, and apply to this attempt only.
 * Each report is repeated until it is known whether it counted, for at most five minutes.
 */
export interface Delivery<Payload> {
  /** The delivered job. */
  job: DeliveredJob<Payload>;
  /**
   * Aborted when the attempt is over, because Jobferry then ignores the result. The handler reads the job when the ack
   * deadline that it knows has passed, and again every few seconds: an attempt that was extended elsewhere is not
   * aborted, and no error of a proxy ends the attempt. If no read returns the job for five minutes, the attempt counts
   * as over. Never aborted in standard mode, or before a deadline is known: by the delivery's header
   * `x-jobferry-ack-timeout`, the option `ackTimeout` or `extend`.
   */
  signal: AbortSignal;
  /** Reports success. Rejects with a `JobferryApiError` when this attempt is no longer `awaiting_ack`. */
  ack(): Promise<ReportedJob>;
  /** Reports failure. The job is retried after the back-off; with `retryable: false` it is dead at once. */
  nack(input?: Omit<NackInput, 'attempt'>): Promise<ReportedJob>;
  /** Holds the queue, or with `scope: 'job'` only this job, for `retryAfter` seconds. Uses no attempt. */
  defer(input: Omit<DeferInput, 'attempt'>): Promise<ReportedJob>;
  /**
   * Moves the ack deadline to `seconds` from now, unless it is later already, and `signal` with it. A request that
   * fails for the moment is sent again, at most three times.
   * @param seconds 0.001 to 86 400
   * @param progress text of at most 1000 characters, which the dashboard shows with the job
   * @returns the time of the new deadline, by the service's clock
   * @throws JobferryApiError when this attempt is no longer `awaiting_ack`, or when the key lacks one of the scopes
   *   `report` and `read`
   */
  extend(seconds: number, progress?: string): Promise<Date>;
}

/** Returns null for a body that is not an envelope. */
export function parseEnvelope<Payload>(bytes: Uint8Array): DeliveredJob<Payload> | null {
  try {
    const raw = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
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
